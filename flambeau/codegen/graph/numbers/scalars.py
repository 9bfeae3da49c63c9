"""Numbers in registers: the Scalar meaning of an operator, run on registers, is its instructions."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops import hoisted_bounds_checks
from flambeau.codegen.graph.native_values import Affine, CannotCompileError, Scalar
from flambeau.codegen.graph.numbers.exact_powers import exact_power, exponent_of
from flambeau.codegen.graph.numbers.sincos import sine_or_cosine
from flambeau.codegen.graph.representation import Bool, Element, Float, Int
from flambeau.codegen.kernel.opset import OPS, result_dtype
from flambeau.codegen.llvm.casts import cast
from flambeau.codegen.llvm.emitter import Emitter, float_constant, int_constant
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.lanes import call_lanes
from flambeau.codegen.llvm.ops import lower, supports
from flambeau.codegen.lower.recorder import dtype_named
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.schema.types import BoolType, FloatType, IntType, Type

_DIVISIONS = frozenset({"floordiv", "truncdiv", "remainder", "fmod"})
C_FUNCTIONS = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "pow", "atan2", "hypot",
})  # fmt: skip
"""Functions of Python floats that the C library computes, as it does for Python: results are the same to the bit."""


class Operand:
    """A number while a meaning runs: a register and its dtype, and how it moves over a loop's iterations."""

    __slots__ = ("affine", "dtype", "register")

    def __init__(self, register: Register, dtype: DType, affine: Affine | None = None) -> None:
        self.register = register
        self.dtype = dtype
        self.affine = affine


class Registers:
    """Implements `schema.scalar.Scalar` over registers; `node` is what fails where a divisor is zero."""

    def __init__(self, fn: EmittedFunction, node: Node, *, is_exact: bool) -> None:
        """`is_exact`: float64 functions give what Python's `math` gives."""
        self._fn = fn
        self._node = node
        self._is_exact = is_exact

    def dtype_of(self, x: Operand) -> DType:
        """The dtype of a value."""
        return x.dtype

    def const(self, value: complex, dtype: DType) -> Operand:
        """A literal."""
        return Operand(constant(value, dtype), dtype)

    def cast(self, x: Operand, dtype: DType) -> Operand:
        """Conversion."""
        if x.dtype == dtype:
            return x
        literal = memory.literal(x.register) if x.register.type == "i64" else None
        if literal is not None and dtype.name == "float64":
            return self.const(literal, dtype)
        source, target = memory.element(x.dtype), memory.element(dtype)
        return Operand(cast(self._fn.e, x.register, source, target), dtype)

    def select(self, condition: Operand, a: Operand, b: Operand) -> Operand:
        """`a` where the condition holds, else `b`."""
        c = self.cast(condition, dtypes.bool_)
        return Operand(self._fn.e.select(c.register, a.register, b.register), a.dtype)

    def supports(self, name: str, dtype: DType) -> bool:
        """Whether an operation has native code."""
        return supports(name, dtype.name)

    def shl(self, x: Operand, count: Operand) -> Operand:
        """Shift left; the count may have a dtype of its own."""
        return self._apply("shl", x, self.cast(count, x.dtype))

    def shr(self, x: Operand, count: Operand) -> Operand:
        """Shift right."""
        return self._apply("shr", x, self.cast(count, x.dtype))

    def __getattr__(self, name: str) -> Callable[..., Operand]:
        if name not in OPS or OPS[name].result in ("part", "whole"):
            raise CannotCompileError(f"{name} has no native code")
        return lambda *args: self._apply(name, *args)

    def _apply(self, op: str, *args: Operand) -> Operand:
        dtype = args[-1].dtype
        if not memory.element(dtype).is_float and op in _OF_INTEGERS:
            return _OF_INTEGERS[op](self, args[0])
        if not supports(op, dtype.name):
            raise CannotCompileError(f"{op} on {dtype} has no native code")
        power = self._power(*args) if op == "pow" else None
        if power is not None:
            return power
        registers = [a.register for a in args]
        result = _folded(self._fn.e, op, registers)
        if result is None and self._fn.e.lanes > 1:
            registers = self._spread(op, registers)
        if self._is_exact and dtype.name == "float64" and op in C_FUNCTIONS:
            return Operand(self._by_library(op, registers), dtype)
        if result is None:
            result = lower(self._fn.e, op, registers, memory.element(dtype), self._trap)
        return Operand(result, dtype_named(result_dtype(op, tuple(a.dtype.name for a in args))), self._affine(op, args))

    def _power(self, base: Operand, exponent: Operand) -> Operand | None:
        """A power by products and roots, which of Python's floats is what the C library gives, but for squares and
        cubes with `fastmath=True`; None for any exponent.
        """
        known = exponent_of(exponent.register)
        is_product = known is not None and self._fn.e.target.user_flags
        if self._is_exact and memory.element(base.dtype).is_float and not is_product:
            power = exact_power(self._fn, base.register, exponent.register) if base.dtype.name == "float64" else None
            return None if power is None else Operand(power, base.dtype)
        if known is None:
            return None
        result = base
        for _ in range(known - 1):
            result = self._apply("mul", result, base)
        return result

    def _by_library(self, op: str, registers: list[Register]) -> Register:
        """A function of floats as Python's `math` computes it."""
        if op in ("sin", "cos"):
            return sine_or_cosine(self._fn.e, op, registers[0])
        return call_lanes(self._fn.e, op, tuple(registers))

    def _itself(self, x: Operand) -> Operand:
        return x

    def _is_negative(self, x: Operand) -> Operand:
        return self._apply("lt", x, self.const(0, x.dtype))

    def _spread(self, op: str, registers: list[Register]) -> list[Register]:
        """Operands of one width. Raises `CannotCompileError` for what would be computed one lane after the other."""
        e = self._fn.e
        widest = max([r.lanes for r in registers])
        if widest > 1 and e.depth and (op in C_FUNCTIONS or op in _DIVISIONS):
            raise CannotCompileError(f"{op} has no instruction for several lanes")
        return [e.splat(r, widest) for r in registers]

    def _trap(self, zero: Register) -> None:
        self._fn.exits.fail_if(zero, self._node)

    def _affine(self, op: str, args: tuple[Operand, ...]) -> Affine | None:
        if self._fn.scope.iterations is None or args[0].dtype.name != "int64" or op not in ("add", "sub", "mul"):
            return None
        a, b = (hoisted_bounds_checks.affine_of(self._fn, Scalar(Int(), x.register, x.affine)) for x in args)
        if op == "mul":
            return hoisted_bounds_checks.scaled(a, b)
        return hoisted_bounds_checks.added(a, b, -1 if op == "sub" else 1)


_OF_INTEGERS: dict[str, Callable[[Registers, Operand], Operand]] = {
    **dict.fromkeys(("floor", "ceil", "trunc", "round"), Registers._itself),
    **dict.fromkeys(("isnan", "isinf"), lambda s, _: s.const(False, dtypes.bool_)),
    "isfinite": lambda s, _: s.const(True, dtypes.bool_),
    "signbit": Registers._is_negative,
}
"""Operations on floats that say little of integers."""


def _folded(e: Emitter, op: str, args: list[Register]) -> Register | None:
    """Sums of literals and of zero, quotients and remainders by powers of two."""
    if len(args) != 2 or args[0].type != "i64":
        return None
    a, b = memory.literal(args[0]), memory.literal(args[1])
    if op in ("floordiv", "remainder") and a is None and b is not None and b > 0 and b & (b - 1) == 0:
        shift = b.bit_length() - 1
        if op == "floordiv":
            return e.binary("ashr", args[0], memory.number(shift))
        return e.binary("and", args[0], memory.number(b - 1))
    if op not in ("add", "sub"):
        return None
    if a is not None and b is not None:
        total = (a + b if op == "add" else a - b) + (1 << 63)
        return memory.number((total & ((1 << 64) - 1)) - (1 << 63))
    return args[0] if b == 0 else None


def constant(value: complex, dtype: DType) -> Register:
    """A literal in an element type, rounded or wrapped to it."""
    t = memory.element(dtype)
    if isinstance(value, complex):
        raise CannotCompileError("complex numbers have no native code")
    if t.kind == "bool":
        return int_constant(int(bool(value)), "i1", 1)
    if t.is_float:
        return float_constant(float(value), t.llvm, 1)
    wrapped = int(value) & ((1 << t.bits) - 1)
    is_negative = t.kind == "int" and wrapped >> (t.bits - 1)
    return int_constant(wrapped - (1 << t.bits) if is_negative else wrapped, t.llvm, 1)


def scalar_of(operand: Operand, type_: Type) -> Scalar:
    """A number of the program's."""
    for kind, rep, dtype in ((IntType, Int(), "int64"), (FloatType, Float(), "float64"), (BoolType, Bool(), "bool")):
        if isinstance(type_, kind) and operand.dtype.name == dtype:
            return Scalar(rep, operand.register, operand.affine)
    raise CannotCompileError(f"a {operand.dtype} number cannot be a {type_}")


def as_operand(scalar: Scalar) -> Operand:
    """A number as a meaning takes it."""
    return Operand(scalar.register, scalar.dtype, scalar.affine)


def as_element(operand: Operand) -> Scalar:
    """A tensor of one element."""
    return Scalar(Element(operand.dtype), operand.register)
