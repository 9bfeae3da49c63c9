"""Products, quotients and powers of NumPy's complex scalars, as NumPy rounds them; Python's: `complex_numbers`.

python::complex128_div(%x, %y)    →    Smith's method, which multiplies by the inverse of the divisor
python::complex64_mul(%x, %y)     →    the same in floats of 32 bits
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.complex_arithmetic import Pair as Parts
from flambeau.codegen.complex_arithmetic import divide, multiply, reciprocal
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lowering_tables import lowers_on_complex
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.numbers.complex_numbers import MOST_MULTIPLIED, Arithmetic, Pair, known_exponent
from flambeau.codegen.graph.numbers.scalars import Operand
from flambeau.codegen.llvm.lanes import PREFIX
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType

_BOTH: Final = "{ double, double }"
_ARGUMENTS: Final = "double, double, double, double"


def _lowering(dtype: DType, compute: Callable[[Arithmetic, Parts, Parts], Parts]) -> Callable[..., None]:
    def lower(fn: EmittedFunction, node: Node) -> None:
        a = Arithmetic(fn, node)
        x, y = (_parts(a, a.number(v), dtype) for v in node.operands)
        _give(a, compute(a, x, y))

    return lower


def _parts(a: Arithmetic, x: Pair, dtype: DType) -> Parts:
    """A number in the parts that scalars of a dtype have."""
    part = dtype.to_real()
    return Parts(a.s.cast(x.re, part), a.s.cast(x.im, part))


def _wide(a: Arithmetic, result: Parts) -> Pair:
    return Pair(a, a.s.cast(result.re, dtypes.float64), a.s.cast(result.im, dtypes.float64))


def _give(a: Arithmetic, result: Parts) -> None:
    a.give(_wide(a, result))


def _power(dtype: DType) -> Callable[[EmittedFunction, Node], None]:
    def lower(fn: EmittedFunction, node: Node) -> None:
        a = Arithmetic(fn, node)
        known = known_exponent(fn.values.get(node.operand(1)))
        is_whole = known is not None and known.is_integer() and 0 < abs(known) < MOST_MULTIPLIED
        x = _parts(a, a.number(node.operand(0)), dtype)
        if known is not None and is_whole:
            result = _multiplied(a, x, int(known))
            powers = reciprocal(a.s, result) if known < 0 else result
            a.give_if(a.s.logical_not(_is_zero(a, x, dtype)), lambda: _wide(a, powers))
        elif dtype is dtypes.complex128 and fn.e.lanes == 1:
            y = _parts(a, a.number(node.operand(1)), dtype)
            is_multiplied = a.s.logical_and(a.s.eq(y.im, a.constant(0.0)), a.s.eq(y.re, a.s.floor(y.re)))
            is_rare = a.s.logical_or(_is_zero(a, x, dtype), is_multiplied)
            a.give_if(a.s.logical_not(is_rare), lambda: _wide(a, _by_library(a, x, y)))
        else:
            raise CannotCompileError("a power of complex numbers of 32 bits whose exponent is no whole constant")

    return lower


def _is_zero(a: Arithmetic, x: Parts, dtype: DType) -> Operand:
    zero = a.s.const(0.0, dtype.to_real())
    return a.s.logical_and(a.s.eq(x.re, zero), a.s.eq(x.im, zero))


def _multiplied(a: Arithmetic, x: Parts, exponent: int) -> Parts:
    """A power with a whole exponent, or its inverse if that is below 0, from the low bit to the high one; the first
    three without a factor of 1, by which infinite parts become nan.
    """
    s = a.s
    if 0 < exponent <= 3:
        result = x
        for _ in range(exponent - 1):
            result = multiply(s, x, result)
        return result
    part = s.dtype_of(x.re)
    result, square = Parts(s.const(1.0, part), s.const(0.0, part)), x
    rest = abs(exponent)
    while rest:
        if rest & 1:
            result = multiply(s, result, square)
        rest >>= 1
        if rest:
            square = multiply(s, square, square)
    return result


def _by_library(a: Arithmetic, x: Parts, y: Parts) -> Parts:
    """What the C library's `cpow` gives, which NumPy calls."""
    e = a.fn.e
    e.libm.setdefault("cpow")
    e.declare(f"declare {_BOTH} @{PREFIX}cpow({_ARGUMENTS})")
    operands = ", ".join(f"double {part.register}" for part in (x.re, x.im, y.re, y.im))
    both = e.name("power")
    e.raw(f"{both} = call {_BOTH} @{PREFIX}cpow({operands})")
    re, im = (e.define(f"extractvalue {_BOTH} {both}, {k}", "double", 1) for k in (0, 1))
    return Parts(Operand(re, dtypes.float64), Operand(im, dtypes.float64))


for _dtype in (dtypes.complex64, dtypes.complex128):
    lowers_on_complex(f"python::{_dtype.name}_div")(_lowering(_dtype, lambda a, x, y: divide(a.s, x, y)))
    lowers_on_complex(f"python::{_dtype.name}_power")(_power(_dtype))
lowers_on_complex("python::complex64_mul")(_lowering(dtypes.complex64, lambda a, x, y: multiply(a.s, x, y)))
