"""Arithmetic, comparison, logic and bits on int, float, bool, complex and Scalar.

An overload is named after its operand types (`aten::add.float_int`). Its kernel is chosen by the common type of the
two: ints wrap, floats never raise, `Scalar` looks at the values. Division and powers of ints are floats.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from flambeau.ops.language import float64, int64
from flambeau.ops.language.declare import NEVER, NOT_ON_REALS, ON_ZERO, Kernel, as_floats, declare, promoted, same
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import promote
from flambeau.schema.traits import Fails, Traits

Pair = tuple[str, str]
_total = partial(Traits, fails=Fails.NEVER)

_REAL: tuple[Pair, ...] = (("int", "int"), ("float", "float"), ("int", "float"), ("float", "int"))
COMPLEX_PAIRS: tuple[Pair, ...] = (
    ("complex", "complex"), ("complex", "int"), ("int", "complex"), ("complex", "float"), ("float", "complex"),
)  # fmt: skip


def _overload(a: str, b: str) -> str:
    return a if a == b else f"{a}_{b}"


def mixed(kernel: Callable[[float, float], Any]) -> Kernel:
    """A kernel of floats for an int and a float: the int is rounded to float first, as native code does."""
    return lambda a, b: kernel(float(a), float(b))


def by_value(of_ints: Kernel, of_floats: Kernel, of_complex: Kernel | None = None) -> Kernel:
    """The kernel of a `Scalar` overload: the one for the types that the values have."""

    def kernel(a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return of_ints(a, b)
        if isinstance(a, complex) or isinstance(b, complex):
            if of_complex is None:
                raise RuntimeError("expected a real number but got a complex one")
            return of_complex(a, b)
        return of_floats(float(a), float(b))

    return kernel


def _signed_remainder(s: Any, a: Any, b: Any) -> Any:
    """`float64.remainder`, whose zeros have the divisor's sign; of tensors' elements, they are positive."""
    zero = s.const(0.0, dtypes.float64)
    left = s.fmod(a, b)
    adjusted = s.select(s.ne(s.lt(left, zero), s.lt(b, zero)), s.add(left, b), left)
    return s.select(s.eq(left, zero), s.copysign(zero, b), adjusted)


def _converted(meaning: Kernel) -> Kernel:
    """A meaning on floats, for operands of which one is an int."""
    return lambda s, a, b: meaning(s, s.cast(a, dtypes.float64), s.cast(b, dtypes.float64))


_ON_FLOATS = {"remainder": _converted(_signed_remainder)}
"""Meanings on floats of operators that mean something else on the elements of tensors."""


def _arithmetic(
    name: str, of_ints: Kernel, of_floats: Kernel, of_complex: Kernel | None, scalar: str, traits: Traits
) -> None:
    """Overloads whose result has the common type of the operands; that of two ints has the traits."""
    for a, b in _REAL:
        meaning = promoted(scalar) if a == b == "int" else _ON_FLOATS.get(scalar, promoted(scalar))
        kernel = of_ints if a == b == "int" else of_floats if a == b else mixed(of_floats)
        result = "int" if a == b == "int" else "float"
        text = f"aten::{name}.{_overload(a, b)}({a} a, {b} b) -> {result}"
        declare(text, kernel, scalar=meaning, traits=traits if result == "int" else Traits(fails=traits.fails))
    for a, b in COMPLEX_PAIRS if of_complex is not None else ():
        assert of_complex is not None
        declare(f"aten::{name}.{_overload(a, b)}({a} a, {b} b) -> complex", of_complex, scalar=promoted(scalar))
    declare(
        f"aten::{name}(Scalar a, Scalar b) -> Scalar",
        by_value(of_ints, of_floats, of_complex),
        traits=NOT_ON_REALS if traits.fails is Fails.NEVER else Traits(fails=traits.fails),
    )


_arithmetic("add", int64.add, operator.add, operator.add, "add", _total(folds_as="add", commutes=True))
_arithmetic("sub", int64.sub, operator.sub, operator.sub, "sub", _total(folds_as="add"))
_arithmetic("mul", int64.mul, operator.mul, operator.mul, "mul", _total(folds_as="mul", commutes=True))
_arithmetic("floordiv", int64.floordiv, float64.floordiv, None, "floordiv", Traits(fails=Fails.ON_ZERO, spelling="//"))
_arithmetic("remainder", int64.remainder, float64.remainder, None, "remainder", ON_ZERO)

declare(
    "aten::__round_to_zero_floordiv.int(int a, int b) -> int", int64.truncdiv, scalar=same("truncdiv"), traits=ON_ZERO
)  # fmt: skip

# -- division and powers: ints give floats ----------------------------------------------------------------------------


def int_div(a: int, b: int) -> float:
    """The quotient of two ints, each rounded to float first."""
    return float64.div(float(a), float(b))


declare("aten::div.int(int a, int b) -> float", int_div, scalar=as_floats("div"), traits=ON_ZERO)
declare("aten::div.float(float a, float b) -> float", float64.div, scalar=same("div"), traits=ON_ZERO)
declare("aten::div.complex(complex a, complex b) -> complex", float64.complex_div, scalar=same("div"))
declare(
    "aten::div(Scalar a, Scalar b) -> float", by_value(int_div, float64.div, float64.complex_div),
    traits=ON_ZERO,
    scalar=as_floats("div"),
)  # fmt: skip


def _refuse_zero(kernel: Callable[[float, float], Any]) -> Kernel:
    """Powers of an exact zero to a negative exponent are refused when the base is an int or a float."""

    def power(a: float, b: float) -> Any:
        if a == 0 and b < 0:
            raise RuntimeError("0.0 cannot be raised to a negative power")
        return kernel(float(a), float(b))

    return power


_power = _refuse_zero(float64.power)
for _a, _b in _REAL:
    declare(f"aten::pow.{_overload(_a, _b)}({_a} a, {_b} b) -> float", _power, scalar=as_floats("pow"))
for _a, _b in (("complex", "complex"), ("complex", "float"), ("float", "complex")):
    declare(f"aten::pow.{_overload(_a, _b)}({_a} a, {_b} b) -> complex", float64.complex_power, scalar=promoted("pow"))
declare("aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float", by_value(_power, _power, float64.complex_power))
declare("aten::pow.int_to_int(int a, int b) -> int", int64.power, scalar=same("pow"))

# -- comparisons ------------------------------------------------------------------------------------------------------


def _comparison(name: str, compare: Kernel) -> None:
    meaning = promoted(name)
    equality = name in ("eq", "ne")
    for a, b in _REAL:
        kernel = compare if a == b else mixed(compare)
        declare(f"aten::{name}.{_overload(a, b)}({a} a, {b} b) -> bool", kernel, scalar=meaning, traits=NEVER)
    if equality:
        declare(f"aten::{name}.bool(bool a, bool b) -> bool", compare, scalar=same(name), traits=NEVER)
        for a, b in (("complex", "complex"), ("complex", "float"), ("float", "complex")):
            declare(f"aten::{name}.{_overload(a, b)}({a} a, {b} b) -> bool", compare, scalar=meaning)
        declare(f"aten::{name}.enum(AnyEnumType a, AnyEnumType b) -> bool", compare)
        declare(f"aten::{name}.device(Device a, Device b) -> bool", compare)
    declare(f"aten::{name}.str(str a, str b) -> bool", compare, traits=NEVER)
    declare(
        f"aten::{name}(Scalar a, Scalar b) -> bool",
        by_value(compare, compare, compare if equality else None),
        traits=NOT_ON_REALS,
    )


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_name, getattr(operator, _name))

# -- logic, bits, sign ------------------------------------------------------------------------------------------------

declare("aten::__and__.bool(bool a, bool b) -> bool", operator.and_, scalar=same("logical_and"), traits=NEVER)
declare("aten::__or__.bool(bool a, bool b) -> bool", operator.or_, scalar=same("logical_or"), traits=NEVER)
declare("aten::__xor__.bool(bool a, bool b) -> bool", operator.xor, scalar=same("logical_xor"), traits=NEVER)
declare("aten::__not__(bool self) -> bool", operator.not_, scalar=same("logical_not"), traits=NEVER)
declare(
    "aten::__and__.int(int a, int b) -> int",
    operator.and_,
    scalar=same("bitand"),
    traits=_total(folds_as="and", commutes=True, spelling="&"),
)
declare(
    "aten::__or__.int(int a, int b) -> int",
    operator.or_,
    scalar=same("bitor"),
    traits=_total(folds_as="or", commutes=True, spelling="|"),
)
declare(
    "aten::__xor__.int(int a, int b) -> int",
    operator.xor,
    scalar=same("bitxor"),
    traits=_total(folds_as="xor", commutes=True, spelling="^"),
)


declare("aten::__lshift__.int(int a, int b) -> int", int64.lshift, scalar=same("shl"), traits=Traits(spelling="<<"))
declare("aten::__rshift__.int(int a, int b) -> int", int64.rshift, scalar=same("shr"), traits=Traits(spelling=">>"))


def _neg(a: Any) -> Any:
    return int64.neg(a) if isinstance(a, int) else -a


def _abs(a: Any) -> Any:
    return int64.absolute(int(a)) if isinstance(a, int) else abs(a)


declare("aten::neg.int(int a) -> int", int64.neg, scalar=same("neg"), traits=NEVER)
declare("aten::neg.float(float a) -> float", operator.neg, scalar=same("neg"), traits=NEVER)
declare("aten::neg.complex(complex a) -> complex", operator.neg, scalar=same("neg"))
declare("aten::neg.Scalar(Scalar a) -> Scalar", _neg, traits=NOT_ON_REALS)
declare("prim::abs(Tensor x) -> Tensor", abs)
declare("prim::abs.int(int a) -> int", int64.absolute, scalar=same("abs"))
declare("prim::abs.float(float a) -> float", abs, scalar=same("abs"))
declare("prim::abs.complex(complex a) -> float", abs)
declare("prim::abs.Scalar(Scalar a) -> Scalar", _abs)

# -- extremes, divmod -------------------------------------------------------------------------------------------------


def _extreme(name: str, compare: str, kernel: Kernel) -> None:
    def meaning(s: Any, a: Any, b: Any) -> Any:
        dtype = promote(s.dtype_of(a), s.dtype_of(b))
        x, y = s.cast(a, dtype), s.cast(b, dtype)
        return s.select(getattr(s, compare)(x, y), x, y)

    for a, b in _REAL:
        result = "int" if a == b == "int" else "float"
        declare(
            f"prim::{name}.{_overload(a, b)}({a} a, {b} b) -> {result}",
            kernel if a == b else mixed(kernel),
            scalar=meaning,
            traits=_total(folds_as=f"s{name}", commutes=True) if result == "int" else NEVER,
        )
    declare(
        f"prim::{name}(Scalar a, Scalar b) -> Scalar",
        by_value(lambda a, b: int(kernel(a, b)), kernel),
        traits=NOT_ON_REALS,
    )


_extreme("min", "lt", float64.minimum)
_extreme("max", "gt", float64.maximum)


def _int_divmod(a: int, b: int) -> tuple[int, int]:
    if b == 0:
        raise RuntimeError("ZeroDivisionError: integer division or modulo by zero")
    return int64.floordiv(a, b), a % b


def _float_divmod(a: float, b: float) -> tuple[float, float]:
    if b == 0:
        raise RuntimeError("ZeroDivisionError: float divmod()")
    return float64.floordiv(float(a), float(b)), float64.remainder(float(a), float(b))


declare("aten::divmod.int(int x, int y) -> (int, int)", _int_divmod)
for _a, _b in (("float", "float"), ("int", "float"), ("float", "int")):
    declare(f"aten::divmod.{_overload(_a, _b)}({_a} x, {_b} y) -> (float, float)", _float_divmod)
