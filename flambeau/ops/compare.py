"""Comparisons, predicates and choices between values."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.pointwise import (
    CATEGORIES,
    NUMERIC,
    REAL,
    binary,
    compare,
    literal,
    pointwise,
    same,
    to_bool,
    unary,
)
from flambeau.schema.dtype import Category, DType, bool_, float64, uint8
from flambeau.schema.opdef import ErrorSample, Sample, UnknownValueError
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap


def _comparison(name: str, sign: str, alias: str, reference: Any) -> None:
    compare(
        f"aten::{name}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"aten::{name}.Scalar(Tensor self, Scalar other) -> Tensor",
        scalar=lambda s, x, y: getattr(s, name)(x, y),
        doc=f"Whether x {sign} y, element by element.",
        aliases=(alias,) if alias else (),
        reference=reference,
        traits=Traits(spelling=sign),
        accepts=CATEGORIES if name in ("eq", "ne") else REAL,
    )


_comparison("eq", "==", "", np.equal)
_comparison("ne", "!=", "not_equal", np.not_equal)
_comparison("lt", "<", "less", np.less)
_comparison("le", "<=", "less_equal", np.less_equal)
_comparison("gt", ">", "greater", np.greater)
_comparison("ge", ">=", "greater_equal", np.greater_equal)


def _predicate(name: str, meaning: Any, doc: str, reference: Any, **more: Any) -> None:
    unary(
        f"aten::{name}(Tensor self) -> Tensor",
        scalar=meaning,
        result=to_bool,
        in_place=False,
        out=more.pop("out", None),
        doc=doc,
        reference=reference,
        **more,
    )


def _not_complex(text: str, error: type[Exception] = RuntimeError) -> Any:
    def check(common: DType, *args: Any) -> None:
        if common.is_complex:
            raise error(text)

    return check


_predicate("isnan", lambda s, x: s.isnan(x), "Whether x is nan; of complex numbers, whether a part is.", np.isnan)
_predicate(
    "isinf", lambda s, x: s.isinf(x), "Whether x is inf or -inf; of complex numbers, whether a part is.", np.isinf
)
_predicate("isfinite", lambda s, x: s.isfinite(x), "Whether x is neither infinite nor nan.", np.isfinite)
_predicate(
    "signbit", lambda s, x: s.signbit(x), "Whether the sign bit is set, as it is of -0.0.", None, out=(),
    check=_not_complex("signbit is not implemented for complex tensors.", NotImplementedError),
)  # fmt: skip
_predicate(
    "isposinf", lambda s, x: s.logical_and(s.isinf(x), s.gt(x, literal(s, x, 0))), "Whether x is inf.", None, out=(),
    check=_not_complex("isposinf does not support complex inputs."),
)  # fmt: skip
_predicate(
    "isneginf", lambda s, x: s.logical_and(s.isinf(x), s.lt(x, literal(s, x, 0))), "Whether x is -inf.", None, out=(),
    check=_not_complex("isneginf does not support complex inputs."),
)  # fmt: skip
_predicate(
    "isreal", lambda s, x: s.eq(s.imag(x), literal(s, s.imag(x), 0)), "Whether the imaginary part is zero.", None
)


def _isclose(s: Any, x: Any, y: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    distance = s.abs(s.sub(x, y))
    allowed = s.add(s.abs(atol), s.abs(s.mul(rtol, y)))
    close = s.logical_and(s.isfinite(distance), s.le(distance, allowed))
    close = s.logical_or(close, s.eq(x, y))
    return s.logical_or(close, s.logical_and(s.isnan(x), s.isnan(y))) if equal_nan else close


def _check_isclose(common: DType, x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> None:
    if x.dtype is not y.dtype:
        raise RuntimeError(f"{x.dtype.display} did not match {y.dtype.display}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")


binary(
    "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
    "bool equal_nan=False) -> Tensor",
    scalar=_isclose,
    result=to_bool,
    compute=lambda common, args: common if common.category >= Category.FLOAT else float64,
    check=_check_isclose,
    out=None,
    in_place=False,
    reference=lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(x, y, rtol, atol, equal_nan),
    doc="Whether |x - y| <= atol + rtol * |y|; infinities are close to themselves, nan to nan if `equal_nan`.",
)


def _extreme(name: str, meaning: Any, doc: str, reference: Any, **more: Any) -> None:
    binary(
        f"aten::{name}(Tensor self, Tensor other) -> Tensor",
        scalar=meaning,
        check=_not_complex(f"{name} not implemented for complex tensors."),
        in_place=False,
        doc=doc,
        reference=reference,
        **more,
    )


def _ignoring_nan(choose: str) -> Any:
    """The first, where it is the one or the other is nan: a derivative goes to it alone where both are equal."""

    def meaning(s: Any, x: Any, y: Any) -> Any:
        return s.select(s.logical_or(getattr(s, choose)(x, y), s.isnan(y)), x, y)

    return meaning


_extreme("maximum", lambda s, x, y: s.maximum(x, y), "The larger of two; nan if one is.", np.maximum)
_extreme("minimum", lambda s, x, y: s.minimum(x, y), "The smaller of two; nan if one is.", np.minimum)
_extreme("fmax", _ignoring_nan("ge"), "The larger of two; the other one if one is nan.", np.fmax)
_extreme("fmin", _ignoring_nan("le"), "The smaller of two; the other one if one is nan.", np.fmin)
for _name, _meaning in (("max", "maximum"), ("min", "minimum")):
    binary(
        f"aten::{_name}.other(Tensor self, Tensor other) -> Tensor",
        scalar=lambda s, x, y, _meaning=_meaning: getattr(s, _meaning)(x, y),
        check=_not_complex(f"{_meaning} not implemented for complex tensors."),
        in_place=False,
        out=("out",),
        doc=f"As `{_meaning}`.",
    )


def _clamp(s: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    if low is not None:
        x = s.maximum(x, low)
    return x if high is None else s.minimum(x, high)


def _check_clamp(common: DType, x: Any, low: Any = None, high: Any = None) -> None:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if common.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")


pointwise(
    "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    operands=("self", "min", "max"),
    scalar=_clamp,
    check=_check_clamp,
    accepts=NUMERIC,
    aliases=("clip",),
    samples=lambda: [
        Sample(args=(wrap(np.array([-2, 0.5, 2], np.float32)), -1.0, 1.0)),
        Sample(args=(wrap(np.arange(4)), 1), kwargs={"max": 2}),
    ],
    errors=lambda: [
        ErrorSample(
            args=(wrap(np.arange(4)),), error=RuntimeError, message="At least one of 'min' or 'max' must not be None"
        )
    ],
    doc="x brought between `min` and `max`, either of which may be None; nan stays nan.",
)
for _name, _bound, _choose in (("clamp_min", "min", "maximum"), ("clamp_max", "max", "minimum")):
    for _overload, _type in (("", "Scalar"), (".Tensor", "Tensor")):
        pointwise(
            f"aten::{_name}{_overload}(Tensor self, {_type} {_bound}) -> Tensor",
            operands=("self", _bound),
            scalar=lambda s, x, y, _choose=_choose: getattr(s, _choose)(x, y),
            check=_not_complex("clamp is not supported for complex types", NotImplementedError),
            accepts=NUMERIC if _type == "Scalar" else REAL,
            refusal=f"\"{_name}_scalar_cpu\" not implemented for '{{}}'",
            doc=f"x, but not {'below' if _bound == 'min' else 'above'} `{_bound}`." if _type == "Scalar" else "",
        )


def _check_where(common: DType, condition: Any, x: Any, y: Any) -> None:
    if condition.dtype is None:
        raise UnknownValueError("the dtype of the condition is not known")
    if condition.dtype is not bool_ and condition.dtype is not uint8:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.display}"
        )


def _where(s: Any, condition: Any, x: Any, y: Any) -> Any:
    return s.select(s.cast(condition, bool_), x, y)


pointwise(
    "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    "aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    "aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    "aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    operands=("self", "other"),
    raw=("condition",),
    scalar=_where,
    result=same,
    lift=False,
    check=_check_where,
    in_place=False,
    out=("self_out", None, None, None),
    reference=np.where,
    samples=lambda: [
        Sample(
            args=(wrap(np.array([True, False])), wrap(np.array([1, 2], np.float32)), wrap(np.array([3, 4], np.float32)))
        ),
        Sample(args=(wrap(np.array([[True], [False]])), wrap(np.arange(3)), 1.5)),
    ],
    errors=lambda: [
        ErrorSample(
            args=(wrap(np.array([1, 2], np.float32)), 1, 2),
            error=RuntimeError,
            message="where expected condition to be a boolean tensor, but got a tensor with dtype Float",
        )
    ],
    doc="Elements of `self` where the bool `condition` holds, else of `other`.",
)


def _nan_to_num(s: Any, x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    dtype: DType = s.dtype_of(x)
    if dtype.category < Category.FLOAT:
        return x
    limit = float(np.finfo(dtype.numpy).max) if dtype.name != "bfloat16" else 3.3895313892515355e38
    zero = s.const(0, dtype)
    high = s.const(limit, dtype) if posinf is None else posinf
    low = s.const(-limit, dtype) if neginf is None else neginf
    is_infinite = s.isinf(x)
    finite = s.select(s.logical_and(is_infinite, s.gt(x, zero)), high, x)
    finite = s.select(s.logical_and(is_infinite, s.lt(x, zero)), low, finite)
    return s.select(s.isnan(x), zero if nan is None else nan, finite)


def _nan_to_num_parts(s: Any, x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if not s.dtype_of(x).is_complex:
        return _nan_to_num(s, x, nan, posinf, neginf)
    bounds = [None if v is None else s.real(v) for v in (nan, posinf, neginf)]
    return s.complex(_nan_to_num(s, s.real(x), *bounds), _nan_to_num(s, s.imag(x), *bounds))


unary(
    "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    scalar=_nan_to_num_parts,
    lift=False,
    reference=lambda x, nan=0.0, posinf=None, neginf=None: np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf),
    traits=Traits(depends_on_precision=True),
    doc="nan replaced by `nan` (0), the infinities by `posinf` and `neginf` (the largest and smallest finite number).",
)
