"""Places in sorted sequences, and counts per bin."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.families.arrays import Array, dtype_of, is_float, not_implemented, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.small_tensors import floats, ints
from flambeau.schema.dtype import DType, float32, float64, int32, int64
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np


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
    for index in np.ndindex(values.shape[:-1]):
        indices[index] = _search(sorted_sequence[index], values[index], kind)
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
    bin_indices = ((inside - flat.dtype.type(low)) * flat.dtype.type(bins / (high - low))).astype(np.int64)
    return np.bincount(np.minimum(bin_indices, bins - 1), minlength=bins).astype(self.dtype)


def index_dtype(out_int32: Any = False) -> DType | None:
    """int32 or int64."""
    return None if out_int32 is UNKNOWN else int32 if out_int32 else int64


def values_shape(self: Any) -> Sizes | None:
    """The sizes of the values; a number has none."""
    return self.sizes if isinstance(self, TensorType) else ()


def _bincount_dtype(weights: Any) -> DType | None:
    if weights is None:
        return int64
    if not isinstance(weights, TensorType) or weights.dtype is None:
        return None
    return float32 if weights.dtype is float32 else float64


NO_INDEX: Final = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending "
    "on whether out_int32 flag is True, but we got output tensor's dtype {got.display} and out_int32 flag is for "
    "{wanted.display}"
)


declare(
    "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
    "str? side=None, Tensor? sorter=None) -> Tensor",
    "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, "
    "str? side=None, Tensor? sorter=None) -> Tensor",
    outs=("Tensor_out", "Scalar_out"),
    kernel=searchsorted_kernel,
    traits=Traits(needs_order=True, out_dtype=NO_INDEX),
    differentiable=False,
    doc="Where values would be inserted to keep a sequence in order, before or (`right`) after equal elements.",
    dtype=index_dtype,
    shape=values_shape,
    samples=lambda: [Sample(args=(floats(1, 3, 5), floats(3, 9))), Sample(args=(floats(1, 3), 3.0))],
    reference=np.searchsorted,
    is_method=False,
)

declare(
    "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    outs=("Tensor_out", "Scalar_out"),
    kernel=bucketize_kernel,
    traits=Traits(needs_order=True, out_dtype=NO_INDEX),
    differentiable=False,
    doc="The bucket between `boundaries` into which each value falls.",
    dtype=index_dtype,
    shape=values_shape,
    samples=lambda: [Sample(args=(floats(3, 9), floats(1, 3, 5)))],
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
    samples=lambda: [Sample(args=(ints(1, 1, 4),)), Sample(args=(ints(0, 2), floats(0.5, 1), 4))],
    errors=lambda: [
        ErrorSample(args=(ints(-1),), error=RuntimeError, message="bincount only supports 1-d non-negative integral")
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
    samples=lambda: [Sample(args=(floats(0, 1, 2, 3), 3)), Sample(args=(floats(0, 1, 2, 3), 2, 0, 2))],
)
