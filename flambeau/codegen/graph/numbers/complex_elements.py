"""Elements of complex tensors in registers: an operator's Scalar meaning, run on pairs of them, is its instructions.

Arithmetic and functions are those of kernels, `codegen.complex_arithmetic` and `.complex_functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from flambeau.codegen.complex_arithmetic import Pair
from flambeau.codegen.complex_functions import power
from flambeau.codegen.complex_meanings import meaning_of
from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, ComplexValue, Native
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, as_operand
from flambeau.codegen.graph.representation import Element
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.pointwise import number_argument
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType


class Parts(Operand):
    """A complex number while a meaning runs: two registers."""

    __slots__ = ("im", "literal", "re")

    def __init__(self, re: Operand, im: Operand, dtype: DType, literal: complex | None = None) -> None:
        super().__init__(re.register, dtype)
        self.re, self.im, self.literal = re, im, literal


class ComplexRegisters:
    """Implements what of `schema.scalar.Scalar` complex numbers have, over registers."""

    def __init__(self, fn: EmittedFunction, node: Node) -> None:
        self.real_part = Registers(fn, node, is_exact=False)

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

    def select(self, condition: Operand, a: Operand, b: Operand) -> Operand:
        """`a` where the condition holds, else `b`."""
        s = self.real_part
        if not isinstance(a, Parts) or not isinstance(b, Parts):
            return s.select(condition, a, b)
        return Parts(s.select(condition, a.re, b.re), s.select(condition, a.im, b.im), a.dtype)

    def __getattr__(self, name: str) -> Callable[..., Operand]:
        return lambda *args: self._operation(name, args)

    def _operation(self, name: str, args: tuple[Operand, ...]) -> Operand:
        s, numbers = self.real_part, [x for x in args if isinstance(x, Parts)]
        if name == "complex":
            return Parts(args[0], args[1], args[0].dtype.to_complex())
        if name == "polar":
            re, im = s.mul(args[0], s.cos(args[1])), s.mul(args[0], s.sin(args[1]))
            return Parts(re, im, args[0].dtype.to_complex())
        if not numbers:
            result: Operand = getattr(s, name)(*args)
            return result
        if name == "mul" and numbers[0].literal == 1:  # as `alpha` is in sums: no operation
            return args[1]
        pairs = [Pair(x.re, x.im) for x in numbers]
        if name == "pow":
            return self._whole(power(s, pairs[0], pairs[1], numbers[1].literal), numbers[0].dtype)
        meaning = meaning_of(name)
        if meaning is None or len(numbers) < len(args):
            raise CannotCompileError(f"{name} of complex tensors has no native code")
        return self._whole(meaning(s, *pairs), numbers[0].dtype)

    def _whole(self, result: Any, dtype: DType) -> Operand:
        return Parts(result.re, result.im, dtype) if isinstance(result, Pair) else cast(Operand, result)


def fill(fn: EmittedFunction, target: ArrayValue, value: Operand) -> None:
    """Write one number, or a real one, everywhere."""
    if not isinstance(value, Parts):
        arrays.fill(fn, target, value.register)
        return
    flat = arrays.flattened(fn, [target])
    arrays.each_element(fn, flat[0].sizes, flat, lambda at: store(fn, at[0], value))


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


def number(fn: EmittedFunction, native: Native, s: Any) -> Operand:
    """A number, or the element of a tensor without axes, that complex elements are filled with."""
    value = argument(fn, native)
    if isinstance(value, Operand):
        return value
    if not isinstance(value, int | float | complex):
        raise CannotCompileError("the value of the elements is no number")
    result: Operand = s.const(complex(value), dtypes.complex128)
    return result


def store(fn: EmittedFunction, address: Register, value: Any) -> None:
    """Write an element of a tensor of the value's dtype."""
    if not isinstance(value, Parts):
        memory.store_element(fn.e, address, value.register, value.dtype)
        return
    part = value.dtype.to_real()
    for half, one in zip(_places(fn, address, part), (value.re, value.im), strict=True):
        memory.store_element(fn.e, half, one.register, part)


def _places(fn: EmittedFunction, data: Register, part: DType) -> tuple[Register, Register]:
    return data, memory.offset_address(fn.e, data, memory.number(1), memory.number(part.itemsize), part.itemsize)
