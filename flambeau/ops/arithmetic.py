"""Sums, products, quotients, remainders and powers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flambeau.ops.families.pointwise import FRACTIONAL, NUMERIC, REAL, binary, literal, pointwise, same, to_float
from flambeau.schema.dtype import Category, DType, bool_
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, UnknownNumber, UnknownValueError
from flambeau.schema.traits import PLAIN, Traits
from flambeau.schema.types import BoolType, ComplexType, FloatType, TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def _ints() -> Tensor:
    return wrap(np.array([7, -7]))


def _bools() -> Tensor:
    return wrap(np.array([True, False]))


def _refused(*args: Any, message: str, **kwargs: Any) -> ErrorSample:
    return ErrorSample(args=args, kwargs=kwargs, error=RuntimeError, message=message)


def check_alpha(common: DType, x: Any, y: Any, alpha: Any) -> None:
    """Refuse a factor of a higher kind than the operands."""
    kind = alpha.type if isinstance(alpha, UnknownNumber) else None
    if (isinstance(alpha, bool) or isinstance(kind, BoolType)) and common is not bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if alpha is UNKNOWN and common.category < Category.FLOAT:
        raise UnknownValueError("alpha is not known")
    if (isinstance(alpha, float) or isinstance(kind, FloatType)) and common.category < Category.FLOAT:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if (isinstance(alpha, complex) or isinstance(kind, ComplexType)) and not common.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def _check_sub(common: DType, x: Any, y: Any, alpha: Any) -> None:
    if common is bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(isinstance(operand, bool) or getattr(operand, "dtype", None) is bool_ for operand in (x, y)):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    check_alpha(common, x, y, alpha)


binary(
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    scalar=lambda s, x, y, alpha: s.add(x, s.mul(alpha, y)),
    traits=Traits(spelling="+", spelling_in_place="+=", commutes=True, older_numbers=("alpha",),
                  number_is_operand=True),
    check=check_alpha,
    errors=lambda: [_refused(_ints(), _ints(), alpha=2.5, message="argument alpha must not be a floating point")],
    out=("out",),
    reference=lambda x, y, alpha=1: x + alpha * y,
    doc="x + alpha * y. Bools add as `or`; integers wrap.",
)
binary(
    "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    scalar=lambda s, x, y, alpha: s.sub(x, s.mul(alpha, y)),
    traits=Traits(spelling="-", spelling_in_place="-=", older_numbers=("alpha",), number_is_operand=True),
    check=_check_sub,
    errors=lambda: [
        _refused(_bools(), _bools(), message="Subtraction, the `-` operator, with two bool tensors is not supported."),
        _refused(_bools(), 1, message="Subtraction, the `-` operator, with a bool tensor is not supported."),
    ],
    out=("out",),
    aliases=("subtract",),
    reference=lambda x, y, alpha=1: x - alpha * y,
    doc="x - alpha * y. Integers wrap.",
)
binary(
    "aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    scalar=lambda s, x, y, alpha: s.sub(y, s.mul(alpha, x)),
    check=_check_sub,
    in_place=False,
    is_method=False,
    reference=lambda x, y, alpha=1: y - alpha * x,
    doc="y - alpha * x: a difference with its sides exchanged.",
)
binary(
    "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor",
    scalar=lambda s, x, y: s.mul(x, y),
    traits=Traits(spelling="*", spelling_in_place="*=", commutes=True, number_is_operand=True),
    out=("out",),
    aliases=("multiply",),
    reference=np.multiply,
    doc="x * y. Bools multiply as `and`; integers wrap.",
)
binary(
    "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
    "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
    scalar=lambda s, x, y: s.div(x, y),
    traits=Traits(spelling="/", spelling_in_place="/=", archive_version=4, number_is_operand=True),
    result=to_float,
    out=("out",),
    aliases=("divide", "true_divide"),
    reference=np.true_divide,
    doc="The true quotient: integers give floats, division by zero gives inf or nan.",
)


def _divided(s: Any, x: Any, y: Any, rounding_mode: str | None) -> Any:
    name = {None: "div", "floor": "floordiv", "trunc": "truncdiv"}[rounding_mode]
    return getattr(s, name)(x, y)


def _quotient_dtype(common: DType, args: Sequence[Any]) -> DType:
    return to_float(common) if args[2] is None else common


def _check_mode(common: DType, x: Any, y: Any, rounding_mode: Any) -> None:
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    if rounding_mode is not None and common.category not in NUMERIC:
        raise NotImplementedError(f"\"div_{rounding_mode}_cpu\" not implemented for '{common.display}'")


binary(
    "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    scalar=_divided,
    traits=Traits(archive_version=4, number_is_operand=True),
    result=_quotient_dtype,
    compute=_quotient_dtype,
    check=_check_mode,
    samples=lambda: [Sample(args=(_ints(), 2), kwargs={"rounding_mode": "floor"})],
    errors=lambda: [_refused(_ints(), 2, rounding_mode="up", message="div expected rounding_mode to be one of None")],
    out=("out_mode",),
    aliases=("divide",),
    doc="The quotient, rounded down (`floor`), towards zero (`trunc`) or not at all (None).",
)
binary(
    "aten::floor_divide(Tensor self, Tensor other) -> Tensor",
    "aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
    scalar=lambda s, x, y: s.floordiv(x, y),
    traits=Traits(spelling_in_place="//="),
    accepts=NUMERIC,
    refusal="\"div_floor_cpu\" not implemented for '{}'",
    errors=lambda: [_refused(_ints(), 0, message="ZeroDivisionError")],
    reference=np.floor_divide,
    doc='The quotient rounded down. Integer division by zero raises RuntimeError "ZeroDivisionError".',
)


def _remainder(
    name: str, meaning: str, doc: str, reference: Any, *, has_scalar_self: bool, traits: Traits = PLAIN
) -> None:
    schemas = [
        f"aten::{name}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"aten::{name}.Scalar(Tensor self, Scalar other) -> Tensor",
    ]
    if has_scalar_self:
        schemas.append(f"aten::{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor")
    binary(
        *schemas,
        scalar=lambda s, x, y: getattr(s, meaning)(x, y),
        traits=traits,
        accepts=NUMERIC,
        errors=lambda: [_refused(_ints(), 0, message="ZeroDivisionError")],
        reference=reference,
        doc=doc,
    )


_remainder(
    "remainder", "remainder",
    'x - floor(x / y) * y, with the sign of y. An integer y of zero raises "ZeroDivisionError".',
    np.remainder, has_scalar_self=True, traits=Traits(spelling="%", spelling_in_place="%="),
)  # fmt: skip
_remainder(
    "fmod", "fmod", 'x - trunc(x / y) * y, with the sign of x. An integer y of zero raises "ZeroDivisionError".',
    np.fmod, has_scalar_self=False,
)  # fmt: skip


def _check_pow(common: DType, x: Any, y: Any) -> None:
    if common is bool_ and isinstance(x, Tensor | TensorType) and isinstance(y, Tensor | TensorType):
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if common.is_integral and not isinstance(y, Tensor | TensorType) and y < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


pointwise(
    "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    operands=("self", "exponent"),
    scalar=lambda s, x, y: s.pow(x, y),
    traits=Traits(
        spelling="**", spelling_in_place="**=", simple_numbers=frozenset((-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0))
    ),
    check=_check_pow,
    errors=lambda: [_refused(_ints(), -1, message="Integers to negative integer powers are not allowed.")],
    ulp=4,
    doc="x to the power of y. Integers wrap; a negative integer power is 0 but for 1 and -1, and as a number refused.",
)


def _check_addcdiv(common: DType, x: Any, a: Any, b: Any, value: Any) -> None:
    if common.category < Category.FLOAT:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. Use (input + value * div(tensor1, tensor2, rounding_mode='trunc')) "
            "for integers and (input + value * tensor1 / tensor2) for floats."
        )


pointwise(
    "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    operands=("self", "tensor1", "tensor2"),
    scalar=lambda s, x, a, b, value: s.add(x, s.mul(s.mul(value, a), b)),
    accepts=NUMERIC | FRACTIONAL,
    refusal="\"addcmul_cpu_out\" not implemented for '{}'",
    ulp=2,
    reference=lambda x, a, b, value=1: x + value * a * b,
    traits=Traits(older_numbers=("value",)),
    doc="x + value * tensor1 * tensor2.",
)
pointwise(
    "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    operands=("self", "tensor1", "tensor2"),
    scalar=lambda s, x, a, b, value: s.add(x, s.div(s.mul(value, a), b)),
    check=_check_addcdiv,
    ulp=2,
    reference=lambda x, a, b, value=1: x + value * a / b,
    traits=Traits(older_numbers=("value",)),
    doc="x + value * tensor1 / tensor2.",
)


def _lerp(s: Any, x: Any, end: Any, weight: Any) -> Any:
    size = s.abs(weight)
    distance = s.sub(end, x)
    return s.select(
        s.lt(size, literal(s, size, 0.5)),
        s.add(x, s.mul(weight, distance)),
        s.sub(end, s.mul(distance, s.sub(literal(s, x, 1), weight))),
    )


def _check_lerp(common: DType, x: Any, end: Any, weight: Any) -> None:
    for name, other in (("end", end), ("weight", weight)):
        dtype = getattr(other, "dtype", x.dtype)
        if dtype is not x.dtype:
            raise RuntimeError(f"expected dtype {_c_name(x.dtype)} for `{name}` but got dtype {_c_name(dtype)}")


def _c_name(dtype: DType) -> str:
    return dtype.short


pointwise(
    "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    operands=("self", "end"),
    scalar=_lerp,
    check=_check_lerp,
    accepts=FRACTIONAL,
    refusal="\"lerp_kernel_scalar\" not implemented for '{}'",
    ulp=2,
    doc="x + weight * (end - x): from x (weight 0) to end (weight 1). All tensors have one dtype.",
)


def xlogy_meaning(s: Any, x: Any, y: Any) -> Any:
    """x * log(y), and 0 where x is 0 unless y is nan."""
    return _by_logarithm(s, x, y, "log", 0.0, 1.0)


def _xlog1py(s: Any, x: Any, y: Any) -> Any:
    return _by_logarithm(s, x, y, "log1p", -1.0, 0.0)


def _by_logarithm(s: Any, x: Any, y: Any, log: str, least: float, flat: float) -> Any:
    """The product of x and a logarithm of y that is finite above `least`, and 0 at `flat`. Where x is 0, that logarithm
    is the derivative by x; the product is 0, with a plus."""
    zero = literal(s, x, 0)
    is_zero = s.eq(x, zero)
    is_finite = s.logical_and(s.gt(y, literal(s, y, least)), s.lt(y, literal(s, y, math.inf)))
    inside = s.select(s.logical_or(s.ne(x, zero), is_finite), y, literal(s, y, flat))
    product = s.mul(x, getattr(s, log)(inside))
    return s.select(s.isnan(y), y, s.select(is_zero, s.add(product, zero), product))


binary(
    "aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    "aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
    "aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
    scalar=xlogy_meaning,
    result=to_float,
    accepts=REAL,
    out=("OutTensor", "OutScalar_Other", "OutScalar_Self"),
    ulp=4,
    doc="x * log(y), and 0 where x is 0 unless y is nan.",
)
binary(
    "aten::special_xlog1py(Tensor self, Tensor other) -> Tensor",
    "aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
    "aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
    scalar=_xlog1py,
    result=to_float,
    accepts=REAL,
    out=("out", "other_scalar_out", "self_scalar_out"),
    in_place=False,
    is_method=False,
    ulp=4,
    doc="x * log(1 + y), and 0 where x is 0 unless y is nan.",
)


def _float_pair(name: str, meaning: Any, accepts: Any, result: Any, doc: str, reference: Any, **more: Any) -> None:
    binary(
        f"aten::{name}(Tensor self, Tensor other) -> Tensor",
        scalar=meaning, accepts=accepts, result=result, doc=doc, reference=reference, **more,
    )  # fmt: skip


_FLOAT_ONLY = frozenset({Category.FLOAT})
_float_pair(
    "atan2", lambda s, x, y: s.atan2(x, y), REAL, to_float,
    "The angle of the point (y, x) from the first axis, in (-pi, pi].", np.arctan2, aliases=("arctan2",), ulp=4,
)  # fmt: skip
_float_pair("hypot", lambda s, x, y: s.hypot(x, y), _FLOAT_ONLY, same, "The length of the hypotenuse.", np.hypot, ulp=2)
_float_pair(
    "nextafter", lambda s, x, y: s.nextafter(x, y), _FLOAT_ONLY, same, "The next number from x towards y.",
    np.nextafter, lift=False, traits=Traits(depends_on_precision=True),
)  # fmt: skip
_INTEGERS = frozenset({Category.INTEGER})
_float_pair("gcd", lambda s, x, y: s.gcd(x, y), _INTEGERS, same, "The greatest common divisor; gcd(0, 0) is 0.", np.gcd)


def _lcm(s: Any, x: Any, y: Any) -> Any:
    zero, one = literal(s, x, 0), literal(s, x, 1)
    divisor = s.gcd(x, y)
    is_zero = s.eq(divisor, zero)
    return s.select(is_zero, zero, s.abs(s.mul(s.truncdiv(x, s.select(is_zero, one, divisor)), y)))


_float_pair("lcm", _lcm, _INTEGERS, same, "The least common multiple, not negative.", np.lcm)
binary(
    "aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    "aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor",
    scalar=lambda s, x, y: s.copysign(x, y),
    result=to_float,
    accepts=REAL,
    out=("out",),
    reference=np.copysign,
    doc="|x| with the sign of y; the sign of -0.0 counts.",
)


def _check_heaviside(common: DType, x: Any, values: Any) -> None:
    if common.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if x.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


binary(
    "aten::heaviside(Tensor self, Tensor values) -> Tensor",
    scalar=lambda s, x, v: s.select(
        s.eq(x, literal(s, x, 0)), v, s.select(s.gt(x, literal(s, x, 0)), literal(s, x, 1), literal(s, x, 0))
    ),
    check=_check_heaviside,
    doc="0 below zero, 1 above, `values` at zero. Both tensors have one dtype.",
)
