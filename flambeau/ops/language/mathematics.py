"""Python's `math` and `cmath`, with C's results where Python raises: `math.log(0.0)` is -inf, `math.acos(2.0)` is nan.

An int operand is converted to float first. `floor`, `ceil`, `gcd` and `factorial` give ints.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from flambeau.ops.language import float64, int64
from flambeau.ops.language.declare import NEVER, Kernel, as_floats, declare, same, through, to_int
from flambeau.ops.language.scalars import COMPLEX_PAIRS, by_value, mixed
from flambeau.schema.dtype import float64 as FLOAT64  # noqa: N812
from flambeau.schema.dtype import int64 as INT64  # noqa: N812
from flambeau.tensor.array_library import np


def _gamma_outside(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    return math.nan if x < 0 else math.inf


def _lgamma_outside(x: float) -> float:
    return math.nan if x != x else math.inf


def _by_number(of_float: Kernel, of_complex: Kernel | None) -> Kernel:
    """The kernel of a `Scalar` overload of one operand."""

    def kernel(a: Any) -> Any:
        if isinstance(a, complex):
            if of_complex is None:
                raise RuntimeError("expected a real number but got a complex one")
            return of_complex(a)
        return of_float(float(a))

    return kernel


def _times(factor: float) -> Kernel:
    """The Scalar meaning of a product with a constant."""
    return lambda s, x: s.mul(s.cast(x, FLOAT64), s.const(factor, FLOAT64))


def _function(
    name: str,
    python: Callable[[float], float],
    fallback: Callable[..., Any],
    *,
    of_complex: Callable[[complex], complex] | None = None,
    scalar: str | Kernel = "",
) -> None:
    """Overloads `int`, `float`, `Scalar` and maybe `complex` of one function."""
    of_float = float64.quiet(python, fallback)
    meaning = as_floats(scalar) if isinstance(scalar, str) and scalar else scalar or None
    declare(f"aten::{name}.int(int a) -> float", lambda a: of_float(float(a)), scalar=meaning, traits=NEVER)
    declare(f"aten::{name}.float(float a) -> float", of_float, scalar=meaning, traits=NEVER)
    quiet = None
    if of_complex is not None:
        quiet = float64.quiet_complex(of_complex, fallback)
        of_parts = same(scalar) if isinstance(scalar, str) and scalar else None
        declare(f"aten::{name}.complex(complex a) -> complex", quiet, scalar=of_parts)
    declare(f"aten::{name}.Scalar(Scalar a) -> Scalar", _by_number(of_float, quiet))


_function("acos", math.acos, np.arccos, of_complex=cmath.acos, scalar="acos")
_function("acosh", math.acosh, np.arccosh, of_complex=cmath.acosh, scalar="acosh")
_function("asin", math.asin, np.arcsin, of_complex=cmath.asin, scalar="asin")
_function("asinh", math.asinh, np.arcsinh, of_complex=cmath.asinh, scalar="asinh")
_function("atan", math.atan, np.arctan, of_complex=cmath.atan, scalar="atan")
_function("atanh", math.atanh, np.arctanh, of_complex=cmath.atanh, scalar="atanh")
_function("cos", math.cos, np.cos, of_complex=cmath.cos, scalar="cos")
_function("cosh", math.cosh, np.cosh, of_complex=cmath.cosh, scalar="cosh")
_function("exp", math.exp, np.exp, of_complex=cmath.exp, scalar="exp")
_function("log", math.log, np.log, of_complex=cmath.log, scalar="log")
_function("log10", math.log10, np.log10, of_complex=cmath.log10, scalar="log10")
_function("sin", math.sin, np.sin, of_complex=cmath.sin, scalar="sin")
_function("sinh", math.sinh, np.sinh, of_complex=cmath.sinh, scalar="sinh")
_function("sqrt", math.sqrt, np.sqrt, of_complex=cmath.sqrt, scalar="sqrt")
_function("tan", math.tan, np.tan, of_complex=cmath.tan, scalar="tan")
_function("tanh", math.tanh, np.tanh, of_complex=cmath.tanh, scalar="tanh")
for _name, _factor in (("degrees", 180.0 / math.pi), ("radians", math.pi / 180.0)):
    _function(_name, getattr(math, _name), getattr(np, _name), scalar=_times(_factor))
_function("erf", math.erf, np.abs, scalar="erf")
_function("erfc", math.erfc, np.abs, scalar="erfc")
_function("expm1", math.expm1, np.expm1, scalar="expm1")
_function("log1p", math.log1p, np.log1p, scalar="log1p")
_function("fabs", math.fabs, np.fabs, scalar="abs")
_function("gamma", math.gamma, _gamma_outside)
_function("lgamma", math.lgamma, _lgamma_outside)

# -- rounding ---------------------------------------------------------------------------------------------------------


def _to_integer(rounding: Callable[[float], int]) -> Callable[[float], int]:
    def kernel(a: float) -> int:
        if not -9223372036854775808.0 <= a < 9223372036854775808.0:
            raise RuntimeError(f"Cannot convert float {a:.6f} to integer")
        return rounding(a)

    return kernel


def round_half_even(a: float) -> float:
    """The nearest whole float; halves go to the even neighbour."""
    return math.copysign(float(round(a)), a) if abs(a) < 4503599627370496.0 else a


for _name, _rounding in (("floor", math.floor), ("ceil", math.ceil)):
    _kernel = _to_integer(_rounding)
    declare(f"aten::{_name}.int(int a) -> int", int, scalar=to_int)
    declare(f"aten::{_name}.float(float a) -> int", _kernel, scalar=through(_name, INT64))
    declare(f"aten::{_name}.Scalar(Scalar a) -> Scalar", _by_number(_kernel, None))
declare("aten::round.int(int a) -> float", float, scalar=as_floats("round"))
declare("aten::round.float(float a) -> float", round_half_even, scalar=same("round"))
declare("aten::round.Scalar(Scalar a) -> Scalar", _by_number(round_half_even, None))

# -- two operands -----------------------------------------------------------------------------------------------------


def _pair(name: str, kernel: Callable[[float, float], Any], *, scalar: str = "", result: str = "float") -> None:
    """Overloads of a function of two floats, for every mix of int and float."""
    converted = mixed(kernel)
    meaning = as_floats(scalar) if scalar else None
    declare(f"aten::{name}.int(int a, int b) -> {result}", converted, scalar=meaning)
    declare(f"aten::{name}.float(float a, float b) -> {result}", kernel, scalar=meaning)
    declare(f"aten::{name}.int_float(int a, float b) -> {result}", converted, scalar=meaning)
    declare(f"aten::{name}.float_int(float a, int b) -> {result}", converted, scalar=meaning)


def _polar(length: float, angle: float) -> complex:
    with np.errstate(all="ignore"):
        return complex(float(length * np.cos(angle)), float(length * np.sin(angle)))


_pair("atan2", math.atan2, scalar="atan2")
_pair("copysign", math.copysign, scalar="copysign")
_pair("fmod", float64.fmod, scalar="fmod")
_pair("mathremainder", float64.ieee_remainder)
_pair("polar", _polar, result="complex")
declare("aten::atan2.Scalar_Scalar(Scalar a, Scalar b) -> float", by_value(mixed(math.atan2), math.atan2))
declare("aten::copysign(Scalar a, Scalar b) -> float", by_value(mixed(math.copysign), math.copysign))
declare("aten::fmod(Scalar a, Scalar b) -> float", by_value(mixed(float64.fmod), float64.fmod))
declare(
    "aten::mathremainder(Scalar a, Scalar b) -> float", by_value(mixed(float64.ieee_remainder), float64.ieee_remainder)
)
declare("aten::polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", by_value(mixed(_polar), _polar))

_log = float64.quiet(math.log, np.log)
_complex_log = float64.quiet_complex(cmath.log, np.log)


def _log_to_base(a: float, base: float) -> float:
    return float64.div(_log(a), _log(base))


def _complex_log_to_base(a: complex, base: complex) -> complex:
    return float64.complex_div(_complex_log(a), _complex_log(base))


for _a, _b in (("int", "int"), ("float", "float"), ("int", "float"), ("float", "int")):
    declare(f"aten::log.{_a}_{_b}({_a} a, {_b} b) -> float", mixed(_log_to_base))
for _a, _b in COMPLEX_PAIRS:
    declare(f"aten::log.{_a}_{_b}({_a} a, {_b} b) -> complex", _complex_log_to_base)
declare(
    "aten::log.Scalar_Scalar(Scalar a, Scalar b) -> float",
    by_value(mixed(_log_to_base), _log_to_base, _complex_log_to_base),
)

# -- parts, predicates, integers --------------------------------------------------------------------------------------


def factorial(a: int) -> int:
    """a!, wrapped. Raises RuntimeError below zero."""
    if a < 0:
        raise RuntimeError("factorial() not defined for negative values")
    return int64.wrap(math.factorial(a)) if a < 66 else 0


def ldexp(x: float, exponent: int) -> float:
    """x * 2 ** exponent; inf on overflow."""
    try:
        return math.ldexp(x, max(-5000, min(5000, exponent)))
    except OverflowError:
        return math.copysign(math.inf, x)


def _angle(a: float) -> float:
    return math.atan2(0.0, a)


declare("aten::frexp(float a) -> (float, int)", math.frexp)
declare("aten::modf(float a) -> (float, float)", math.modf)
declare("aten::ldexp(float x, int i) -> float", ldexp)
declare("aten::factorial.int(int a) -> int", factorial)
declare("aten::gcd.int(int a, int b) -> int", lambda a, b: int64.wrap(math.gcd(a, b)))
declare("aten::angle.int(int a) -> float", _angle)
declare("aten::angle.float(float a) -> float", _angle)
declare("aten::angle.complex(complex a) -> float", cmath.phase)
declare("aten::angle.Scalar(Scalar a) -> Scalar", _by_number(_angle, cmath.phase))
for _name in ("isnan", "isinf", "isfinite"):
    declare(f"aten::{_name}.float(float a) -> bool", getattr(math, _name), scalar=same(_name))
    declare(f"aten::{_name}.complex(complex a) -> bool", getattr(cmath, _name))
