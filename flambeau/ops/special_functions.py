"""`special`: Bessel functions, functions around gamma, the normal distribution, and other names of operators.

Their meanings are functions of whole arrays: native code does not contain them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.arithmetic import xlogy_meaning
from flambeau.ops.families import numpy_airy, numpy_bessel, numpy_gamma
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.pointwise import FLOATS, REAL, binary, pointwise, to_float, unary
from flambeau.ops.families.rules import given_dtype, reduced_shape, same_shape
from flambeau.ops.softmax import log_softmax_kernel, softmax_kernel
from flambeau.ops.softmax import samples as softmax_samples
from flambeau.ops.spread import logsumexp_dtype, logsumexp_kernel
from flambeau.ops.unary import round_decimals
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def _numbers() -> Tensor:
    return wrap(np.array([0.25, 0.5, 1, 1.5, 3, 7.5, 12], np.float32))


def _samples() -> list[Sample]:
    return [Sample(args=(_numbers(),)), Sample(args=(wrap(np.array([1, 2, 9], np.int64)),), note="ints")]


def _refuse_halves(name: str) -> Callable[..., None]:
    def check(common: DType, *args: Any) -> None:
        if common.is_floating_point and common.itemsize == 2:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{common.display}'")

    return check


def _function(
    name: str,
    meaning: Callable[[Any], Any],
    doc: str,
    *,
    argument: str = "self",
    halves: bool = True,
    alias: str = "",
    samples: Callable[[], list[Sample]] = _samples,
    differentiable: bool = True,
) -> None:
    """A function of one number, `special_name`, and under `alias` also in place and as a method."""
    for full in (f"special_{name}", alias):
        if full:
            unary(
                f"aten::{full}(Tensor {argument}) -> Tensor",
                scalar=lambda s, x: meaning(x), result=to_float, accepts=REAL,
                refusal=f"\"{name}_cpu\" not implemented for '{{}}'", check=None if halves else _refuse_halves(name),
                in_place=full == alias, is_method=full == alias, samples=samples, native=False, doc=doc, ulp=16,
                differentiable=differentiable,
            )  # fmt: skip


_function("i0", numpy_bessel.i0, "The modified Bessel function of the first kind of order 0.", alias="i0")
_function("i0e", numpy_bessel.i0e, "exp(-|x|) times `i0`.")
_function("i1", numpy_bessel.i1, "The modified Bessel function of the first kind of order 1.")
_function("i1e", numpy_bessel.i1e, "exp(-|x|) times `i1`.")
for _name, _meaning, _doc in (
    ("bessel_j0", numpy_bessel.j0, "The Bessel function of the first kind of order 0."),
    ("bessel_j1", numpy_bessel.j1, "The Bessel function of the first kind of order 1."),
    ("bessel_y0", numpy_bessel.y0, "The Bessel function of the second kind of order 0."),
    ("bessel_y1", numpy_bessel.y1, "The Bessel function of the second kind of order 1."),
    ("modified_bessel_i0", numpy_bessel.i0, "The same as `special.i0`."),
    ("modified_bessel_i1", numpy_bessel.i1, "The same as `special.i1`."),
    ("modified_bessel_k0", numpy_bessel.k0, "The modified Bessel function of the second kind of order 0."),
    ("modified_bessel_k1", numpy_bessel.k1, "The modified Bessel function of the second kind of order 1."),
    ("erfcx", numpy_gamma.erfcx, "exp(x**2) erfc(x), which does not vanish far out."),
):
    _function(_name, _meaning, _doc, halves=False, differentiable=_name == "erfcx")
for _name, _meaning, _doc in (
    ("scaled_modified_bessel_k0", numpy_bessel.k0e, "exp(x) times `modified_bessel_k0`."),
    ("scaled_modified_bessel_k1", numpy_bessel.k1e, "exp(x) times `modified_bessel_k1`."),
    ("spherical_bessel_j0", numpy_bessel.spherical_j0, "sin(x) / x, and 1 at zero."),
):
    _function(_name, _meaning, _doc, argument="x", halves=False, differentiable=False)


def _either_side() -> list[Sample]:
    return [Sample(args=(wrap(np.array([-30, -4.5, -2.5, -0.5, 0, 1, 2.5, 8], np.float32)),))]


_function("airy_ai", numpy_airy.airy_ai, "The Airy function Ai, which y'' = x y has, and which vanishes far out.",
          argument="x", halves=False, samples=_either_side, differentiable=False)  # fmt: skip


def _parts() -> list[Sample]:
    return [Sample(args=(wrap(np.array([0.001, 0.1, 0.5, 0.75, 0.999], np.float32)),))]


def _signed() -> list[Sample]:
    return [Sample(args=(wrap(np.array([-30, -2, -0.5, 0, 0.5, 4], np.float32)),))]


_function("ndtri", numpy_gamma.ndtri, "The x whose normal distribution function is given.", halves=False,
          samples=_parts)  # fmt: skip
_function("log_ndtr", numpy_gamma.log_ndtr, "The logarithm of the normal distribution function.", halves=False,
          samples=_signed)  # fmt: skip
unary(
    "aten::special_psi(Tensor self) -> Tensor",
    scalar=lambda s, x: s.digamma(x), result=to_float, accepts=REAL, refusal="\"digamma\" not implemented for '{}'",
    in_place=False, is_method=False, samples=_samples, ulp=16, doc="`digamma` under another name.",
)  # fmt: skip

# -- two numbers ------------------------------------------------------------------------------------------------------


def _pairs() -> list[Sample]:
    shapes = np.array([0.5, 1, 2, 5, 30, 100], np.float32)
    return [Sample(args=(wrap(shapes), wrap(np.array([0.1, 2, 1.5, 8, 28, 120], np.float32))))]


for _name, _alias, _of_two, _doc in (
    ("gammainc", "igamma", numpy_gamma.gammainc, "The lower incomplete gamma function, as a part of the whole."),
    ("gammaincc", "igammac", numpy_gamma.gammaincc, "The upper incomplete gamma function, as a part of the whole."),
):
    for _full in (f"special_{_name}", _alias):
        binary(
            f"aten::{_full}(Tensor self, Tensor other) -> Tensor",
            scalar=lambda s, x, y, _of_two=_of_two: _of_two(x, y), accepts=FLOATS,
            refusal="\"igamma_cpu\" not implemented for '{}'", in_place=_full == _alias, is_method=_full == _alias,
            samples=_pairs, native=False, ulp=64, doc=_doc,
        )  # fmt: skip


def _zeta_samples() -> list[Sample]:
    return [Sample(args=(wrap(np.array([1.5, 2, 3, 10], np.float32)), wrap(np.array([1, 0.5, 2.5, 20], np.float32))))]


_HURWITZ: Final = "Hurwitz's zeta function: the sum of (other + k) ** -self over k from 0."
binary(
    "aten::special_zeta(Tensor self, Tensor other) -> Tensor",
    "aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
    "aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
    scalar=lambda s, x, q: numpy_gamma.zeta(*np.broadcast_arrays(x, q)), result=to_float, accepts=REAL,
    refusal="\"zeta_cpu\" not implemented for '{}'", check=_refuse_halves("zeta"),
    out=("out", "other_scalar_out", "self_scalar_out"), in_place=False, is_method=False, samples=_zeta_samples,
    native=False, ulp=16, doc=_HURWITZ,
)  # fmt: skip
binary(
    "aten::special_xlogy(Tensor self, Tensor other) -> Tensor",
    "aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
    "aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
    scalar=xlogy_meaning, result=to_float, accepts=REAL, out=("out", "other_scalar_out", "self_scalar_out"),
    in_place=False, is_method=False, samples=_pairs, ulp=4, doc="x * log(y), and 0 where x is 0 unless y is nan.",
)  # fmt: skip

# -- a number and an int ----------------------------------------------------------------------------------------------


def _check_order(common: DType, n: Any, *args: Any) -> None:
    if isinstance(n, int) and n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


def _polygamma_samples() -> list[Sample]:
    return [Sample(args=(n, _numbers()), note=str(n)) for n in range(5)]


for _full in ("special_polygamma", "polygamma"):
    pointwise(
        f"aten::{_full}(int n, Tensor self) -> Tensor",
        operands=("self",), scalar=lambda s, n, x: numpy_gamma.polygamma(n, x), result=to_float, accepts=REAL,
        check=_check_order, in_place=False, is_method=_full == "polygamma", samples=_polygamma_samples, native=False,
        errors=lambda: [ErrorSample(args=(-1, _numbers()), error=RuntimeError,
                                    message="polygamma(n, x) does not support negative n.")],
        ulp=64, doc="The n-th derivative of digamma.",
    )  # fmt: skip


def _check_variables(common: DType, x: Any, p: Any) -> None:
    if isinstance(p, int) and p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")


for _full in ("special_multigammaln", "mvlgamma"):
    unary(
        f"aten::{_full}(Tensor self, int p) -> Tensor",
        scalar=lambda s, x, p: numpy_gamma.multigammaln(x, p), result=to_float, accepts=REAL, check=_check_variables,
        in_place=_full == "mvlgamma", is_method=_full == "mvlgamma", native=False, ulp=64,
        samples=lambda: [Sample(args=(wrap(np.array([1.5, 3, 20], np.float32)), p)) for p in (1, 2, 3)],
        errors=lambda: [ErrorSample(args=(_numbers(), 0), error=RuntimeError,
                                    message="p has to be greater than or equal to 1")],
        doc="The logarithm of the gamma function of p variables.",
    )  # fmt: skip

# -- other names ------------------------------------------------------------------------------------------------------

unary(
    "aten::special_round(Tensor self, *, int decimals=0) -> Tensor",
    scalar=lambda s, x, decimals: round_decimals(s, x, decimals) if decimals else s.round(x), accepts=FLOATS,
    refusal="\"round_cpu\" not implemented for '{}'", in_place=False, is_method=False,
    samples=lambda: [Sample(args=(_numbers(),)), Sample(args=(_numbers(),), kwargs={"decimals": 1})],
    doc="x rounded to so many places behind the point.",
)  # fmt: skip
for _schema, _kernel in (
    ("aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax_kernel),
    ("aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", log_softmax_kernel),
):
    declare(
        _schema, kernel=_kernel, dtype=given_dtype, shape=same_shape, is_method=False, samples=softmax_samples,
        doc=f"`{_schema[14:].partition('(')[0]}` under another name.",
    )  # fmt: skip
declare(
    "aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    outs=("out",), kernel=logsumexp_kernel, dtype=logsumexp_dtype, shape=reduced_shape, is_method=False,
    samples=lambda: [Sample(args=(wrap(np.arange(6, dtype=np.float32).reshape(2, 3)), [1]))],
    doc="`logsumexp` under another name.",
)  # fmt: skip
