"""Distinct elements, places in sorted sequences, counts per bin, quantiles."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import (
    Array,
    contiguous,
    dtype_of,
    is_complex,
    is_float,
    not_implemented,
    one_dim,
    widened,
)
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import reduced_shape, same_dtype
from flambeau.schema.dtype import DType, float32, float64, int32, int64
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

Three = tuple[Array, Array, Array]


def distinct(starts: Array, ordered: Array, wants_inverse: bool, wants_counts: bool) -> tuple[Array, Array]:
    """Inverse and counts (empty unless wanted) of runs that begin at `starts` in an order of elements."""
    none = np.empty(0, np.int64)
    inverse = none
    if wants_inverse:
        inverse = np.empty(ordered.size, np.int64)
        inverse[ordered] = np.cumsum(starts) - 1
    counts = np.diff(np.append(np.flatnonzero(starts), starts.size)) if wants_counts else none
    return inverse, counts.astype(np.int64)


def run_starts(values: Array) -> Array:
    """Where a vector differs from what precedes it; nan differs from nan."""
    starts = np.ones(values.size, np.bool_)
    starts[1:] = values[1:] != values[:-1]
    return starts


def unique2_kernel(
    self: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Three:
    """Always sorted. Raises NotImplementedError for complex numbers."""
    if is_complex(self):
        raise not_implemented("unique", dtype_of(self))
    flat = self.reshape(-1)
    ordered = np.argsort(widened(flat), kind="stable")
    values = flat[ordered]
    starts = run_starts(values)
    inverse, counts = distinct(starts, ordered, return_inverse, return_counts)
    return values[starts], inverse.reshape(self.shape if return_inverse else (0,)), counts


def unique_kernel(self: Array, sorted: bool = True, return_inverse: bool = False) -> tuple[Array, Array]:
    """Values and inverse."""
    return unique2_kernel(self, sorted, return_inverse)[:2]


def unique_consecutive_kernel(
    self: Array, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Three:
    """Only neighbours are compared."""
    if dim is not None:
        return unique_dim_consecutive_kernel(self, dim, return_inverse, return_counts)
    flat = self.reshape(-1)
    starts = run_starts(flat)
    inverse, counts = distinct(starts, np.arange(flat.size), return_inverse, return_counts)
    return flat[starts], inverse.reshape(self.shape if return_inverse else (0,)), counts


def _rows(array: Array, dim: int) -> tuple[Array, Array, int]:
    """Slices along a dimension, the same as rows of a matrix, and the dimension."""
    place = one_dim(dim, array.ndim)
    if array.size == 0 and array.ndim and array.shape[place] != 0:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    slices = np.moveaxis(array, place, 0) if array.ndim else array.reshape(1)
    return slices, slices.reshape(slices.shape[0], -1), place


def _row_starts(rows: Array) -> Array:
    starts = np.ones(rows.shape[0], np.bool_)
    starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return starts


def unique_dim_kernel(
    self: Array, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Three:
    """Slices along `dim`, sorted by their elements."""
    slices, rows, place = _rows(self, dim)
    ordered = np.lexsort(widened(rows).T[::-1]) if rows.shape[1] else np.arange(rows.shape[0])
    starts = _row_starts(rows[ordered])
    inverse, counts = distinct(starts, ordered, True, True)
    return contiguous(np.moveaxis(slices[ordered][starts], 0, place)), inverse, counts


def unique_dim_consecutive_kernel(
    self: Array, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> Three:
    """Slices along `dim`, neighbours compared."""
    slices, rows, place = _rows(self, dim)
    starts = _row_starts(rows)
    inverse, counts = distinct(starts, np.arange(rows.shape[0]), True, True)
    return contiguous(np.moveaxis(slices[starts], 0, place)), inverse, counts


def searchsorted_kernel(
    sorted_sequence: Array, self: Array | complex, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Array | None = None,
) -> Array:  # fmt: skip
    """Rows of the last dimension are searched; one sequence serves all values. Raises RuntimeError where sizes
    differ.
    """
    values = np.asarray(self)
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if sorted_sequence.ndim == 0:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but got "
            "boundaries tensor dim(0)"
        )
    if sorter is not None:
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter, axis=-1)
    kind = "right" if right or side == "right" else "left"
    dtype = np.int32 if out_int32 else np.int64
    if sorted_sequence.ndim == 1:
        return np.asarray(_search(sorted_sequence, values, kind)).astype(dtype)
    if sorted_sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            "tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(sorted_sequence.shape)} and input value tensor {list(values.shape)}"
        )
    indices = np.empty(values.shape, dtype)
    for place in np.ndindex(values.shape[:-1]):
        indices[place] = _search(sorted_sequence[place], values[place], kind)
    return indices


def _search(sequence: Array, values: Array, side: Any) -> Array:
    return np.asarray(np.searchsorted(widened(np.asarray(sequence)), widened(np.asarray(values)), side=side))


def bucketize_kernel(self: Array | complex, boundaries: Array, out_int32: bool = False, right: bool = False) -> Array:
    """Raises RuntimeError unless boundaries are a vector."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted_kernel(boundaries, self, out_int32, right)


def bincount_kernel(self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """Raises RuntimeError for negative elements or matrices, NotImplementedError for floats."""
    if self.dtype.kind not in "ui":
        raise not_implemented("bincount_cpu", dtype_of(self))
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.ndim != 1 or (self.size and self.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None:
        return np.bincount(self, minlength=minlength).astype(np.int64)
    counted = np.bincount(self, weights=weights, minlength=minlength)
    return counted.astype(np.float32 if weights.dtype == np.float32 else np.float64)


def histc_kernel(self: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """Equal bins between `min` and `max`, or between the extremes when these are equal. Floats only."""
    if not is_float(self):
        raise not_implemented("histogram_cpu", dtype_of(self))
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = float(min), float(max)
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    flat = widened(self).reshape(-1)
    if low == high and flat.size:
        low, high = float(flat.min()), float(flat.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    inside = flat[(flat >= low) & (flat <= high)]
    places = ((inside - flat.dtype.type(low)) * flat.dtype.type(bins / (high - low))).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(self.dtype)


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile_kernel(
    self: Array, q: Array | float, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> Array:
    """A row per element of `q` in front. Raises RuntimeError for a fraction outside [0, 1] or another dtype."""
    return _quantile("quantile", self, q, dim, keepdim, interpolation, ignore_nan=False)


def nanquantile_kernel(
    self: Array, q: Array | float, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> Array:
    """The same, where nan does not count."""
    return _quantile("nanquantile", self, q, dim, keepdim, interpolation, ignore_nan=True)


def _quantile(
    name: str, array: Array, q: Array | float, dim: int | None, keepdim: bool, interpolation: str, *, ignore_nan: bool
) -> Array:
    fractions = check_quantile(name, array, q, interpolation)
    place = one_dim(dim or 0, array.ndim)
    lined = array.reshape(-1) if dim is None or array.ndim == 0 else np.moveaxis(array, place, -1)
    if lined.shape[-1] == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    ordered = np.sort(lined, axis=-1)
    nans = np.isnan(ordered)
    count = (~nans).sum(axis=-1) if ignore_nan else np.full(ordered.shape[:-1], ordered.shape[-1])
    rows = [_ranked(ordered, count, nans, f, interpolation, ignore_nan) for f in np.atleast_1d(fractions)]
    result = np.stack(rows).astype(array.dtype)
    if keepdim:
        shape = (1,) * array.ndim if dim is None else result.shape[1:]
        result = result.reshape(-1, *shape) if dim is None or array.ndim == 0 else np.expand_dims(result, place + 1)
    return contiguous(result[0] if fractions.ndim == 0 else result)


def check_quantile(name: str, array: Array, q: Array | float, interpolation: str) -> Array:
    """The fractions as an array. Raises RuntimeError."""
    if not is_float(array) or array.dtype.itemsize < 4:
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    fractions = np.asarray(q, array.dtype) if isinstance(q, float | int) else q
    if fractions.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if fractions.dtype != array.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if fractions.size and not ((fractions >= 0) & (fractions <= 1)).all():
        shown = (
            f"q must be in the range [0, 1] but got {q:g}"
            if isinstance(q, float | int)
            else ("q values must be in the range [0, 1]")
        )
        raise RuntimeError(f"{name}() {shown}")
    return fractions


def _ranked(ordered: Array, count: Array, nans: Array, fraction: Any, interpolation: str, ignore_nan: bool) -> Array:
    rank = fraction * np.maximum(count - 1, 0).astype(ordered.dtype)
    if interpolation == "lower":
        rank = np.floor(rank)
    elif interpolation == "higher":
        rank = np.ceil(rank)
    elif interpolation == "nearest":
        rank = np.round(rank)
    below = np.floor(rank).astype(np.int64)[..., None]
    above = np.ceil(rank).astype(np.int64)[..., None]
    low = np.take_along_axis(ordered, below, axis=-1)[..., 0]
    high = np.take_along_axis(ordered, above, axis=-1)[..., 0]
    weight = ordered.dtype.type(0.5) if interpolation == "midpoint" else rank - below[..., 0]
    with np.errstate(invalid="ignore"):
        quantiles = np.where(weight < 0.5, low + weight * (high - low), high - (high - low) * (1 - weight))
    quantiles = np.where(below[..., 0] == above[..., 0], low, quantiles)
    spoiled = nans.all(axis=-1) if ignore_nan else nans.any(axis=-1)
    return np.where(spoiled, np.nan, quantiles)


def index_dtype(out_int32: Any = False) -> DType | None:
    """int32 or int64."""
    return None if out_int32 is UNKNOWN else int32 if out_int32 else int64


def values_shape(self: Any) -> Sizes | None:
    """The sizes of the values; a number has none."""
    return self.sizes if isinstance(self, TensorType) else ()


def _unique_ranks(self: TensorType, return_inverse: Any) -> tuple[Sizes | None, ...]:
    if return_inverse is UNKNOWN:
        return ((None,), None)
    return ((None,), self.sizes if return_inverse else (0,))


def _consecutive_ranks(self: TensorType, return_inverse: Any, dim: Any) -> tuple[Sizes | None, ...]:
    if dim is None:
        return (*_unique_ranks(self, return_inverse), (None,))
    return (None if dim is UNKNOWN else ranks.self_rank(self), None if dim is UNKNOWN else (None,), (None,))


def _bincount_dtype(weights: Any) -> DType | None:
    if weights is None:
        return int64
    if not isinstance(weights, TensorType) or weights.dtype is None:
        return None
    return float32 if weights.dtype is float32 else float64


def _quantile_shape(self: TensorType, q: Any, dim: Any, keepdim: Any) -> Sizes | None:
    lead: Sizes | None = q.sizes if isinstance(q, TensorType) else ()
    rest = reduced_shape(self, dim, keepdim)
    return None if lead is None or rest is None else (*lead, *rest)


def _ints(*values: int) -> Tensor:
    return wrap(np.array(values))


def _floats(*values: float) -> Tensor:
    return wrap(np.array(values, np.float32))


declare(
    "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=unique2_kernel,
    dtype=ranks.value_and_counts(3),
    shape=lambda self, return_inverse: (*_unique_ranks(self, return_inverse), (None,)),
    doc="The distinct elements in order; for each element which one it is; how often each occurs.",
    samples=lambda: [Sample(args=(_ints(3, 1, 3, 2), True, True, True))],
    is_method=False,
)

declare(
    "aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
    outs=("out",),
    kernel=unique_kernel,
    dtype=ranks.value_and_counts(2),
    shape=lambda self, return_inverse: _unique_ranks(self, return_inverse),
    samples=lambda: [Sample(args=(_ints(3, 1, 3, 2), True, True))],
    is_method=False,
)

declare(
    "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=unique_dim_kernel,
    dtype=ranks.value_and_counts(3),
    shape=lambda self: (ranks.self_rank(self), (None,), (None,)),
    doc="The distinct slices along `dim` in order; for each slice which one it is; how often each occurs.",
    samples=lambda: [Sample(args=(wrap(np.array([[1, 2], [0, 3], [1, 2]])), 0))],
)

declare(
    "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)"
    " -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=unique_consecutive_kernel,
    dtype=ranks.value_and_counts(3),
    shape=_consecutive_ranks,
    doc="The elements without repetitions of their predecessor.",
    samples=lambda: [Sample(args=(_ints(1, 1, 2, 1), True, True))],
    is_function=False,
    is_method=False,
)

declare(
    "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=unique_dim_consecutive_kernel,
    dtype=ranks.value_and_counts(3),
    shape=lambda self: (ranks.self_rank(self), (None,), (None,)),
    samples=lambda: [Sample(args=(wrap(np.array([[1, 2], [1, 2], [0, 3]])), 0))],
)

declare(
    "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
    "str? side=None, Tensor? sorter=None) -> Tensor",
    "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, "
    "str? side=None, Tensor? sorter=None) -> Tensor",
    outs=("Tensor_out", "Scalar_out"),
    kernel=searchsorted_kernel,
    differentiable=False,
    doc="Where values would be inserted to keep a sequence in order, before or (`right`) after equal elements.",
    dtype=index_dtype,
    shape=values_shape,
    samples=lambda: [Sample(args=(_floats(1, 3, 5), _floats(3, 9))), Sample(args=(_floats(1, 3), 3.0))],
    reference=np.searchsorted,
    is_method=False,
)

declare(
    "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    outs=("Tensor_out", "Scalar_out"),
    kernel=bucketize_kernel,
    differentiable=False,
    doc="The bucket between `boundaries` into which each value falls.",
    dtype=index_dtype,
    shape=values_shape,
    samples=lambda: [Sample(args=(_floats(3, 9), _floats(1, 3, 5)))],
    reference=lambda values, boundaries: np.searchsorted(boundaries, values),
    is_method=False,
)

declare(
    "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
    outs=("out",),
    kernel=bincount_kernel,
    doc="How often each integer occurs in a vector, or the sum of its weights.",
    dtype=_bincount_dtype,
    shape=lambda: (None,),
    samples=lambda: [Sample(args=(_ints(1, 1, 4),)), Sample(args=(_ints(0, 2), _floats(0.5, 1), 4))],
    errors=lambda: [
        ErrorSample(args=(_ints(-1),), error=RuntimeError, message="bincount only supports 1-d non-negative integral")
    ],
    reference=np.bincount,
)

declare(
    "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    outs=("out",),
    kernel=histc_kernel,
    differentiable=False,
    doc="How many elements fall into each of `bins` equal bins between `min` and `max`.",
    dtype=same_dtype,
    shape=lambda bins: (None if bins is UNKNOWN else bins,),
    samples=lambda: [Sample(args=(_floats(0, 1, 2, 3), 3)), Sample(args=(_floats(0, 1, 2, 3), 2, 0, 2))],
)

for _name, _kernel in (("quantile", quantile_kernel), ("nanquantile", nanquantile_kernel)):
    declare(
        f'aten::{_name}(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear")'
        " -> Tensor",
        f'aten::{_name}.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear")'
        " -> Tensor",
        outs=("out", "scalar_out"),
        kernel=_kernel,
        doc="The value below which a fraction `q` of the elements lies"
        + ("; nan does not count." if _name == "nanquantile" else "."),
        dtype=same_dtype,
        shape=_quantile_shape,
        samples=lambda: [Sample(args=(_floats(3, 1, 2), 0.25)), Sample(args=(_floats(3, 1, 2), _floats(0, 1)))],
        errors=lambda: [
            ErrorSample(args=(_floats(1, 2), 1.5), error=RuntimeError, message="q must be in the range [0, 1]")
        ],
        reference=lambda self, q: np.quantile(self, q, axis=None),
    )
