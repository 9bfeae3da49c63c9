"""The Scalar protocol that records: an operator's meaning, run on expressions, yields expressions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from flambeau.codegen.kernel.dtypes import PARTS, element_type
from flambeau.codegen.kernel.opset import OPS, result_dtype
from flambeau.codegen.llvm.ops import supports
from flambeau.codegen.lower import complex_values
from flambeau.codegen.lower.values import Expr, LoweringError, broadcast
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.schema.scalar import COMPLEX as COMPLEX_NAMES

_KEEPS_INTEGERS = frozenset({"floor", "ceil", "trunc", "round"})
_ON_INTEGERS = {"isnan": "ne", "isinf": "ne", "isfinite": "eq"}
"""What an integer always or never is, asked by comparing it with itself: the answer has a value per element."""


def dtype_named(name: str) -> DType:
    """The `DType` of a kernel's element type."""
    dtype: DType = getattr(dtypes, name + "_" if name == "bool" else name)
    return dtype


def constant(value: complex, dtype: str) -> Expr:
    """A literal in an element type, rounded or wrapped to it later."""
    t = element_type(dtype)
    if t.kind == "complex":
        number = complex(value)
        return complex_values.whole(constant(number.real, PARTS[dtype]), constant(number.imag, PARTS[dtype]))
    if isinstance(value, complex):
        raise LoweringError("a complex number as a real one")
    if t.kind == "half":
        return cast(constant(value, "float32"), dtype)
    if t.kind == "bool":
        return Expr("const", dtype, (), (), bool(value))
    if t.is_float:
        return Expr("const", dtype, (), (), float(value))
    wrapped = int(value) & ((1 << t.bits) - 1)
    is_negative = t.kind == "int" and wrapped >> (t.bits - 1)
    return Expr("const", dtype, (), (), wrapped - (1 << t.bits) if is_negative else wrapped)


def cast(x: Expr, dtype: str) -> Expr:
    """`x` in another element type."""
    target = element_type(dtype)
    if x.dtype == dtype:
        return x
    if "complex" in (target.kind, element_type(x.dtype).kind):
        return _cast_complex(x, dtype)
    if "half" in (target.kind, element_type(x.dtype).kind):
        return Expr("cast", dtype, (x,), x.dims)
    if x.op == "const" and not (isinstance(x.data, float) and dtype != "float64" and not target.is_float):
        assert isinstance(x.data, int | float)
        return constant(x.data, dtype)
    if x.op == "cast" and dtype == "bool" and x.args[0].dtype == "bool":
        return x.args[0]
    return Expr("cast", dtype, (x,), x.dims)


def _cast_complex(x: Expr, dtype: str) -> Expr:
    """A conversion to or from complex numbers: of one as a real number its real part, as a bool whether it is 0."""
    if not complex_values.is_complex(x):
        part = cast(x, PARTS[dtype])
        return complex_values.whole(part, constant(0.0, part.dtype))
    if dtype in PARTS:
        return complex_values.each(x, lambda one: cast(one, PARTS[dtype]))
    re, im = complex_values.parts(x)
    return cast(re, dtype) if dtype != "bool" else apply("logical_or", cast(re, dtype), cast(im, dtype))


def apply(op: str, *args: Expr) -> Expr:
    """One scalar operation on expressions of one element type."""
    if any(map(complex_values.is_complex, args)):
        return complex_values.apply(RECORDER, op, *args)
    if op == "polar":
        return complex_values.whole(*[apply("mul", args[0], apply(name, args[1])) for name in ("cos", "sin")])
    if op == "complex":
        return complex_values.whole(*args)
    simpler = _simplified(op, args)
    if simpler is not None:
        return simpler
    if not supports(op, args[-1].dtype):
        raise LoweringError(f"{op} on {args[-1].dtype} has no native code")
    return Expr(op, result_dtype(op, tuple(a.dtype for a in args)), args, broadcast([a.dims for a in args]))


def _simplified(op: str, args: tuple[Expr, ...]) -> Expr | None:
    """The value without the operation, where that is exact: a product with one, rounding of integers."""
    if op == "mul":
        for one, other in (args, args[::-1]):
            if one.op == "const" and one.data == 1:
                return other
    if op == "pow":
        return _power(*args) if args[1].op == "const" else _power_by_number(*args)
    is_float = element_type(args[0].dtype).is_float
    if op in _KEEPS_INTEGERS and not is_float:
        return args[0]
    if op in _ON_INTEGERS and not is_float:
        return apply(_ON_INTEGERS[op], args[0], args[0])
    if op == "signbit" and not is_float:
        return apply("lt", args[0], constant(0, args[0].dtype))
    return None


def _power(base: Expr, exponent: Expr) -> Expr | None:
    """A power with an exponent for which there is something quicker that gives the same; None for others."""
    number, one = exponent.data, constant(1, base.dtype)
    if number == 0:  # of what is not a number too; the answer has a value per element
        return apply("select", apply("eq", base, base), one, one)
    if number in (1, 2, 3):
        power = base
        for _ in range(int(number) - 1):
            power = apply("mul", power, base)
        return power
    if number == 4:
        return apply("pow", apply("mul", base, base), constant(2, base.dtype))
    return _power_of_float(base, number) if element_type(base.dtype).is_float else None


def _power_by_number(base: Expr, exponent: Expr) -> Expr | None:
    """A power of elements by a number that a call brings: by 0.5 the root, as where 0.5 is written; None for others."""
    if exponent.dims or not base.dims or not element_type(base.dtype).is_float:
        return None
    power = Expr("pow", base.dtype, (base, exponent), base.dims)
    return apply("select", apply("eq", exponent, constant(0.5, base.dtype)), apply("sqrt", base), power)


def _power_of_float(base: Expr, number: object) -> Expr | None:
    one = constant(1, base.dtype)
    if number in (-1, -2):  # the square of an inverse: neither is out of range where the power is not
        inverse = apply("div", one, base)
        return inverse if number == -1 else apply("mul", inverse, inverse)
    if number == 0.5 and base.dims:  # as an operator at a time has it: of -0.0 that is -0.0, and of -inf nan
        return apply("sqrt", base)
    if number in (-0.5, 1.5):  # of -0.0 as of 0.0, and of -inf as of inf
        positive, infinite = apply("add", base, constant(0.0, base.dtype)), constant(math.inf, base.dtype)
        root = apply("sqrt", positive)
        power = apply("mul", positive, root) if number == 1.5 else apply("div", one, root)
        limit = infinite if number == 1.5 else constant(0.0, base.dtype)
        return apply("select", apply("eq", base, constant(-math.inf, base.dtype)), limit, power)
    return None


class Recorder:
    """Implements `schema.scalar.Scalar` over `Expr`."""

    def dtype_of(self, x: Expr) -> DType:
        """The dtype of a value."""
        return dtype_named(x.dtype)

    def const(self, value: complex, dtype: DType) -> Expr:
        """A literal."""
        return constant(value, dtype.name)

    def cast(self, x: Expr, dtype: DType) -> Expr:
        """Conversion."""
        return cast(x, dtype.name)

    def select(self, condition: Expr, a: Expr, b: Expr) -> Expr:
        """`a` where the condition holds, else `b`."""
        if complex_values.is_complex(a):
            return complex_values.select(self, condition, a, b)
        return apply("select", cast(condition, "bool"), a, b)

    def supports(self, name: str, dtype: DType) -> bool:
        """Whether an operation has native code."""
        return supports(name, PARTS.get(dtype.name, dtype.name))

    def shl(self, x: Expr, count: Expr) -> Expr:
        """Shift left; the count may have a dtype of its own."""
        return apply("shl", x, cast(count, x.dtype))

    def shr(self, x: Expr, count: Expr) -> Expr:
        """Shift right."""
        return apply("shr", x, cast(count, x.dtype))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in OPS and name not in COMPLEX_NAMES:
            raise LoweringError(f"{name} has no native code")
        return functools.partial(apply, name)


RECORDER = Recorder()
