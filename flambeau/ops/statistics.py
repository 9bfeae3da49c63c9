"""Covariance, histograms with edges, areas under curves, and rows whose norm is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.families.arrays import Array, at_least_1d, contiguous, dtype_of, one_dim, reduce_with, widened
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.promotion import common_dtype
from flambeau.ops.families.ranks import without_dim
from flambeau.ops.families.rules import same_dtype, same_shape, to_float
from flambeau.ops.joining import common
from flambeau.schema.dtype import DType, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_folds import fold_into
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util import blas

ULP: Final = {float32: 256.0, float64: 256.0}


def cov_kernel(
    self: Array, correction: int = 1, fweights: Array | None = None, aweights: Array | None = None
) -> Array:
    """The covariance of rows, whose columns are observations that may count several times or for more."""
    if self.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{self.ndim} dimensions"
        )
    if self.dtype == np.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    wide = np.atleast_2d(at_least_1d(cast(self, to_float(dtype_of(self))))).astype(
        np.complex128 if self.dtype.kind == "c" else np.float64
    )
    _check_weights(wide.shape[1], fweights, aweights)
    weights = None if fweights is None else fweights.astype(np.float64)
    if aweights is not None:
        weights = aweights.astype(np.float64) if weights is None else weights * aweights
    with np.errstate(all="ignore"):
        total = np.float64(wide.shape[1] if weights is None else weights.sum())
        mean = (wide if weights is None else wide * weights).sum(1, keepdims=True) / total
        divisor = total - correction
        if weights is not None and aweights is not None and correction:
            divisor = total - correction * (weights * aweights).sum() / total
        apart = wide - mean
        weighted = apart if weights is None else apart * weights
        covariance = blas.matmul(weighted, apart.conj().T) / np.maximum(divisor, 0)
    result = covariance.astype(to_float(dtype_of(self)).numpy)
    return np.asarray(result.reshape(()) if result.size == 1 else result)


def _check_weights(count: int, fweights: Array | None, aweights: Array | None) -> None:
    for name, weights, kinds, kind in (
        ("fweights", fweights, "iu", "integral"), ("aweights", aweights, "f", "floating point"),
    ):  # fmt: skip
        if weights is None:
            continue
        if weights.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
            )
        if weights.dtype.kind not in kinds:
            display = dtype_of(weights).display
            raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {display} dtype")
        if weights.size != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{weights.size} != {count}"
            )
        if weights.size and weights.min() < 0:
            raise RuntimeError(f"cov(): {name} cannot be negative")


def corrcoef_kernel(self: Array) -> Array:
    """The covariance of rows over their standard deviations."""
    if self.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.ndim} dimensions"
        )
    covariance = cov_kernel(self)
    with np.errstate(all="ignore"):
        if covariance.ndim == 0:
            return np.asarray(covariance / covariance)
        spread = np.sqrt(np.diagonal(covariance).real)
        correlation = covariance / spread[:, None] / spread[None]
        return _clipped(correlation).astype(covariance.dtype, copy=False)


def _clipped(correlation: Array) -> Array:
    if correlation.dtype.kind == "c":
        return np.asarray(np.clip(correlation.real, -1, 1) + 1j * np.clip(correlation.imag, -1, 1))
    return np.asarray(np.clip(correlation, -1, 1))


# -- areas ------------------------------------------------------------------------------------------------------------


def _trapezoids(name: str, y: Array, x: Array | None, dx: float, dim: int) -> tuple[Array, int]:
    """The areas between neighbours along a dimension, which is last."""
    if y.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    for which, array in (("y", y), ("x", x)):
        if array is not None and array.dtype == np.bool_:
            raise RuntimeError(f"{name}: received a bool input for `{which}`, but bool is not supported")
    axis = one_dim(dim, y.ndim)
    heights = np.moveaxis(widened(cast(y, to_float(dtype_of(y)))), axis, -1)
    sums = heights[..., 1:] + heights[..., :-1]
    if x is None:
        return sums * heights.dtype.type(dx / 2), axis
    if x.ndim and x.shape[axis if x.ndim == y.ndim else -1] != y.shape[axis]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    coordinates = widened(cast(x, to_float(dtype_of(x))))
    coordinates = coordinates if x.ndim < y.ndim and x.ndim <= 1 else np.moveaxis(coordinates, axis, -1)
    return sums * (coordinates[..., 1:] - coordinates[..., :-1]) / 2, axis


def trapezoid_kernel(y: Array, x: Array | None = None, dx: float = 1, dim: int = -1) -> Array:
    """The area under a curve through points."""
    areas, _ = _trapezoids("trapezoid", y, x, dx, dim)
    return contiguous(areas.sum(-1)).astype(_area_dtype(y, x), copy=False)


def cumulative_kernel(y: Array, x: Array | None = None, dx: float = 1, dim: int = -1) -> Array:
    """The areas up to each point but the first."""
    areas, axis = _trapezoids("cumulative_trapezoid", y, x, dx, dim)
    sums = np.moveaxis(areas.cumsum(-1), -1, axis)
    return contiguous(sums).astype(_area_dtype(y, x), copy=False)


def _area_dtype(y: Array, x: Array | None) -> np.dtype[Any]:
    met = dtype_of(y if x is None else common([y, x])[0])
    return to_float(met).numpy


# -- histograms -------------------------------------------------------------------------------------------------------


def histogram_kernel(
    self: Array,
    bins: int | Array = 100,
    range: Sequence[float] | None = None,
    weight: Array | None = None,
    density: bool = False,
) -> tuple[Array, Array]:
    """How many elements (or how much of `weight`) lie between edges, and the edges; the last bin has both of its."""
    if self.dtype not in (np.float32, np.float64):
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{dtype_of(self).display}'")
    if weight is not None and weight.shape != self.shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            "excluding its innermost dimension"
        )
    values = self.reshape(-1)
    if not isinstance(bins, int):
        if bins.dtype != self.dtype:
            raise RuntimeError("torch.histogramdd: input tensor and bins tensors should have the same dtype")
        edges = bins.copy()
    else:
        edges = _edges(values, bins, range)
    heights = np.zeros(len(edges) - 1, np.float64)
    inside = (values >= edges[0]) & (values <= edges[-1])
    bin_of = np.minimum(np.searchsorted(edges, values[inside], "right") - 1, len(edges) - 2)
    fold_into(np.add, heights, bin_of, 1.0 if weight is None else weight.reshape(-1)[inside].astype(np.float64))
    if density:
        with np.errstate(all="ignore"):
            heights = heights / heights.sum() / np.diff(edges.astype(np.float64))
    return heights.astype(self.dtype), edges


def _edges(values: Array, bins: int, range: Sequence[float] | None) -> Array:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = (0.0, 1.0) if range is None else (float(range[0]), float(range[1]))
    if range is None and values.size:
        low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"torch.histogramdd: dimension 0's range [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("torch.histogramdd: min should not exceed max, but got min")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1).astype(values.dtype)


def renorm_kernel(self: Array, p: float, dim: int, maxnorm: float) -> Array:
    """Slices along a dimension, those longer than `maxnorm` scaled down to it."""
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    axis = one_dim(dim, self.ndim)
    others = tuple(d for d in range(self.ndim) if d != axis)
    with np.errstate(all="ignore"):
        sizes = np.abs(widened(self)).astype(np.float64)
        largest = reduce_with(np.maximum, sizes, axis=others, keepdims=True, initial=0)
        norms = largest if p == np.inf else (sizes**p).sum(others, keepdims=True) ** (1 / p)
        factor = np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1)
        return contiguous(self * factor).astype(self.dtype, copy=False)


# -- declarations -----------------------------------------------------------------------------------------------------


def _rows() -> Tensor:
    return wrap(np.array([[1, 2, 4, 3], [3, 1, 2, 2.5], [0, 1, -1, 5]], np.float32))


def _line() -> Tensor:
    return wrap(np.array([1, 2, 4, 7], np.float32))


def _float(self: TensorType) -> DType | None:
    return None if self.dtype is None else to_float(self.dtype)


def _square_or_number(self: TensorType) -> Sizes | None:
    return () if self.sizes is not None and (len(self.sizes) < 2 or self.sizes[0] == 1) else None


declare(
    "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
    kernel=cov_kernel, dtype=_float, shape=_square_or_number, ulp=ULP,
    samples=lambda: [Sample(args=(_rows(),)), Sample(args=(_line(),)),
                     Sample(args=(_rows(),), kwargs={"fweights": wrap(np.array([1, 2, 0, 1])), "correction": 0,
                                                     "aweights": _line()}, note="weights")],
    errors=lambda: [ErrorSample(args=(wrap(np.ones((1, 1, 1))),), error=RuntimeError,
                                message="cov(): expected input to have two or fewer dimensions"),
                    ErrorSample(args=(_line(),), kwargs={"fweights": _line()}, error=RuntimeError,
                                message="cov(): expected fweights to have integral dtype but got fweights with Float"),
                    ErrorSample(args=(_line(),), kwargs={"aweights": wrap(-np.ones(4, np.float32))}, error=RuntimeError,
                                message="cov(): aweights cannot be negative")],
    doc="The covariance of rows, whose columns are observations.",
)  # fmt: skip
declare(
    "aten::corrcoef(Tensor self) -> Tensor",
    kernel=corrcoef_kernel, dtype=_float, shape=_square_or_number, ulp=ULP, reference=np.corrcoef,
    samples=lambda: [Sample(args=(_rows(),)), Sample(args=(_line(),))],
    errors=lambda: [ErrorSample(args=(wrap(np.ones((1, 1, 1))),), error=RuntimeError,
                                message="corrcoef(): expected input to have two or fewer dimensions")],
    doc="The correlation of rows, whose columns are observations.",
)  # fmt: skip


def _area(y: TensorType, x: Any = None) -> DType | None:
    met = y.dtype if not isinstance(x, TensorType) else common_dtype((y, x))
    return None if met is None else to_float(met)


def _points() -> list[Sample]:
    return [Sample(args=(_rows(),)), Sample(args=(_rows(),), kwargs={"dx": 2, "dim": 0}),
            Sample(args=(_rows(), _line()), note="places")]  # fmt: skip


def _bad_points() -> list[ErrorSample]:
    return [ErrorSample(args=(_rows(), wrap(np.ones(3))), error=RuntimeError,
                        message="There must be one `x` value for each sample point"),
            ErrorSample(args=(wrap(np.ones(3, np.bool_)),), error=RuntimeError,
                        message="received a bool input for `y`, but bool is not supported")]  # fmt: skip


for _name, _dx, _kernel in (
    ("trapezoid", "Scalar dx=1", trapezoid_kernel), ("trapz", "float dx=1.", trapezoid_kernel),
    ("cumulative_trapezoid", "Scalar dx=1", cumulative_kernel),
):  # fmt: skip
    declare(
        f"aten::{_name}.dx(Tensor y, *, {_dx}, int dim=-1) -> Tensor",
        f"aten::{_name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        kernel=_kernel, dtype=_area, is_method=False, samples=_points, errors=_bad_points, ulp=ULP,
        shape=(lambda y: y.sizes and (None,) * len(y.sizes)) if _name.startswith("c") else
        (lambda y, dim: without_dim(y.sizes, dim)),
        doc="The area under a curve through points." if not _name.startswith("c") else "The areas up to each point.",
    )  # fmt: skip


def _bins(bins: Any) -> tuple[Sizes | None, ...]:
    return ((None,), (None,))


declare(
    "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor "
    "hist, Tensor bin_edges)",
    "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool "
    "density=False) -> (Tensor hist, Tensor bin_edges)",
    outs=("bins_tensor_out", "bin_ct_out"), kernel=histogram_kernel, shape=_bins, ulp=ULP,
    dtype=lambda self: (self.dtype, self.dtype),
    samples=lambda: [Sample(args=(_rows(), 3)), Sample(args=(_rows(), wrap(np.array([0, 2, 5], np.float32)))),
                     Sample(args=(_line(), 3), kwargs={"weight": _line(), "density": True, "range": [0.0, 6.0]})],
    errors=lambda: [ErrorSample(args=(_line(), 0), error=RuntimeError, message="bins must be > 0, but got 0"),
                    ErrorSample(args=(wrap(np.ones(2, np.int64)), 3), error=NotImplementedError,
                                message="\"histogram_cpu\" not implemented for 'Long'")],
    doc="How many elements lie between edges, and the edges.",
)  # fmt: skip
declare(
    "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    outs=("out",), in_place=True, kernel=renorm_kernel, dtype=same_dtype, shape=same_shape, ulp=ULP,
    samples=lambda: [Sample(args=(_rows(), 2, 0, 4.5)), Sample(args=(_rows(), 1, 1, 3))],
    errors=lambda: [ErrorSample(args=(_rows(), 0, 0, 1), error=RuntimeError, message="non-positive-norm not supported"),
                    ErrorSample(args=(_line(), 2, 0, 1), error=RuntimeError, message="needs at least 2 dimensions"),
                    ErrorSample(args=(_rows(), 2, 0, -1), error=RuntimeError, message="expected maxnorm to be >= 0")],
    doc="Slices along a dimension, those longer than `maxnorm` scaled down to it.",
)  # fmt: skip
