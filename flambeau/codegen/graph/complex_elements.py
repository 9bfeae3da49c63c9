"""Elements of complex tensors in registers: an operator's Scalar meaning, run on pairs of them, is its instructions.

Arithmetic is NumPy's, part by part; functions are those of `complex_functions`, in float64. Where one of these is not
given by its formula, for a number that is not finite or nearly too large, `missed` says so, and Python runs the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.complex_functions import FORMULAS
from flambeau.codegen.graph.complex_numbers import Arithmetic, Pair
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lowering_tables import lowers_on_complex_tensors
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, ComplexValue, Native
from flambeau.codegen.graph.pointwise import number_argument
from flambeau.codegen.graph.representation import Element
from flambeau.codegen.graph.scalars import Operand, Registers, as_operand
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef


class Parts(Operand):
    """A complex number while a meaning runs: two registers."""

    __slots__ = ("im", "literal", "re")

    def __init__(self, re: Operand, im: Operand, dtype: DType, literal: complex | None = None) -> None:
        super().__init__(re.register, dtype)
        self.re, self.im, self.literal = re, im, literal


class ComplexRegisters:
    """Implements what of `schema.scalar.Scalar` complex numbers have, over registers."""

    def __init__(self, fn: EmittedFunction, node: Node) -> None:
        self._fn, self._node = fn, node
        self.real_part = Registers(fn, node, is_exact=True)
        self._missed: Register | None = None

    def dtype_of(self, x: Operand) -> DType:
        """The dtype of a value."""
        return x.dtype

    def const(self, value: complex, dtype: DType) -> Operand:
        """A literal."""
        if not dtype.is_complex:
            return self.real_part.const(value, dtype)
        part, value = dtype.to_real(), complex(value)
        s = self.real_part
        return Parts(s.const(value.real, part), s.const(value.imag, part), dtype, value)

    def cast(self, x: Operand, dtype: DType) -> Operand:
        """Conversion. Raises `CannotCompileError` for a complex number as a real one."""
        if not dtype.is_complex:
            if isinstance(x, Parts):
                raise CannotCompileError("a complex number as a real one")
            return self.real_part.cast(x, dtype)
        s, part = self.real_part, dtype.to_real()
        if isinstance(x, Parts):
            return Parts(s.cast(x.re, part), s.cast(x.im, part), dtype, x.literal)
        return Parts(s.cast(x, part), s.const(0.0, part), dtype)

    def __getattr__(self, name: str) -> Callable[..., Operand]:
        if name in FORMULAS:
            return lambda x: self._function(name, x) if isinstance(x, Parts) else getattr(self.real_part, name)(x)
        if name not in _OPERATIONS:
            raise CannotCompileError(f"{name} of complex tensors has no native code")
        return lambda *args: self._operation(name, args)

    def _operation(self, name: str, args: tuple[Operand, ...]) -> Operand:
        if not all(isinstance(x, Parts) for x in args):
            result: Operand = getattr(self.real_part, name)(*args)
            return result
        return _OPERATIONS[name](self.real_part, *args)

    def _function(self, name: str, x: Parts) -> Operand:
        formula, usual = FORMULAS[name]
        a, s = Arithmetic(self._fn, self._node), self.real_part
        wide = Pair(a, s.cast(x.re, dtypes.float64), s.cast(x.im, dtypes.float64))
        self._note(usual(a, wide))
        result = formula(a, wide)
        part = x.re.dtype
        return Parts(s.cast(result.re, part), s.cast(result.im, part), x.dtype)

    def _note(self, usual: Operand) -> None:
        """Remember that a formula does not give a result."""
        e = self._fn.e
        if self._missed is None:
            self._missed = e.slot("i64", 8)
            e.entry.append(f"  store i64 0, ptr {self._missed}")
        rare = e.convert("zext", e.binary("xor", usual.register, Register("true", "i1", 1)), "i64")
        seen = e.define(f"load i64, ptr {self._missed}", "i64", 1)
        e.raw(f"store i64 {e.binary('or', seen, rare)}, ptr {self._missed}")

    def is_done(self) -> Register | None:
        """Whether all formulas gave results, since this was asked last; None where there are none."""
        if self._missed is None:
            return None
        e = self._fn.e
        done = e.icmp("eq", e.define(f"load i64, ptr {self._missed}", "i64", 1), number(0))
        e.raw(f"store i64 0, ptr {self._missed}")
        return done


def _sum(s: Registers, x: Parts, y: Parts) -> Operand:
    return Parts(s.add(x.re, y.re), s.add(x.im, y.im), x.dtype)


def _difference(s: Registers, x: Parts, y: Parts) -> Operand:
    return Parts(s.sub(x.re, y.re), s.sub(x.im, y.im), x.dtype)


def _product(s: Registers, x: Parts, y: Parts) -> Operand:
    if x.literal == 1:  # as `alpha` is in sums: no operation
        return y
    re = s.sub(s.mul(x.re, y.re), s.mul(x.im, y.im))
    return Parts(re, s.add(s.mul(x.re, y.im), s.mul(x.im, y.re)), x.dtype)


def _quotient(s: Registers, x: Parts, y: Parts) -> Operand:
    """By Smith's method, as NumPy divides; a divisor of zero divides each part."""
    part = x.re.dtype
    is_wide = s.ge(s.abs(y.re), s.abs(y.im))
    large, small = s.select(is_wide, y.re, y.im), s.select(is_wide, y.im, y.re)
    ratio = s.div(small, large)
    scale = s.div(s.const(1.0, part), s.add(large, s.mul(small, ratio)))
    first, second = s.select(is_wide, x.re, x.im), s.select(is_wide, x.im, x.re)
    re = s.mul(s.add(first, s.mul(second, ratio)), scale)
    left, right = s.select(is_wide, x.im, s.mul(x.im, ratio)), s.select(is_wide, s.mul(x.re, ratio), x.re)
    im = s.mul(s.sub(left, right), scale)
    zero = s.const(0.0, part)
    is_zero = s.logical_and(s.eq(y.re, zero), s.eq(y.im, zero))
    below = s.abs(y.re)
    return Parts(s.select(is_zero, s.div(x.re, below), re), s.select(is_zero, s.div(x.im, below), im), x.dtype)


def _equal(s: Registers, x: Parts, y: Parts) -> Operand:
    return s.logical_and(s.eq(x.re, y.re), s.eq(x.im, y.im))


_OPERATIONS: dict[str, Callable[..., Operand]] = {
    "add": _sum, "sub": _difference, "mul": _product, "div": _quotient,
    "neg": lambda s, x: Parts(s.neg(x.re), s.neg(x.im), x.dtype),
    "conj": lambda s, x: Parts(x.re, s.neg(x.im), x.dtype),
    "abs": lambda s, x: s.hypot(x.re, x.im),
    "eq": _equal, "ne": lambda s, x, y: s.logical_not(_equal(s, x, y)),
}  # fmt: skip


def is_arithmetic(definition: OpDef) -> bool:
    """Whether an operator has native code on complex tensors that always gives a result."""
    is_known = definition.name in lowers_on_complex_tensors and definition.scalar is not None
    return is_known and definition.name.partition("::")[2] not in FORMULAS


def load(fn: EmittedFunction, address: Register, dtype: DType) -> Operand:
    """An element of a tensor."""
    if not dtype.is_complex:
        return Operand(memory.load_element(fn.e, address, dtype), dtype)
    part = dtype.to_real()
    re, im = (Operand(memory.load_element(fn.e, half, part), part) for half in _places(fn, address, part))
    return Parts(re, im, dtype)


def argument(fn: EmittedFunction, native: Native) -> Any:
    """An operand without axes: a number, or the element of a tensor."""
    if isinstance(native, ComplexValue):
        re, im = (Operand(part, dtypes.float64) for part in (native.real, native.imaginary))
        return Parts(re, im, dtypes.complex128)
    if isinstance(native, ArrayValue):
        return load(fn, native.data, native.rep.dtype)
    return as_operand(native) if isinstance(native.rep, Element) else number_argument(native)


def store(fn: EmittedFunction, address: Register, value: Any) -> None:
    """Write an element of a tensor of the value's dtype."""
    if not isinstance(value, Parts):
        memory.store_element(fn.e, address, value.register, value.dtype)
        return
    part = value.dtype.to_real()
    for half, one in zip(_places(fn, address, part), (value.re, value.im), strict=True):
        memory.store_element(fn.e, half, one.register, part)


def _places(fn: EmittedFunction, data: Register, part: DType) -> tuple[Register, Register]:
    return data, memory.offset_address(fn.e, data, number(1), number(part.itemsize), part.itemsize)
