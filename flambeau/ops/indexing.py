"""Reading elements at places that tensors name: `index` and `index_select`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.families.opaque import declare
from flambeau.ops.families.pointwise_layout import broadcast_known
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.families.samples import longs, sample
from flambeau.schema.dtype import bool_, uint8
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_host_array, is_outside, np
from flambeau.tensor.layout import wrap_dim
from flambeau.tensor.tensor import wrap
from flambeau.util.record import dataclass, field

Array = np.ndarray[Any, Any]
BAD_DTYPE = "tensors used as indices must be long, int, byte or bool tensors"


def with_mask_axes(self: Array, indices: Sequence[Array | None]) -> tuple[Array, list[Array | None]]:
    """A view of `self` with an axis of size 1 for each mask without axes, and that mask as one along it.

    So NumPy and PyTorch mean `x[True]`: all of `x`, or nothing of it, behind a new axis of size 1 or 0.
    """
    changed: list[Array | None] = []
    taken = 0
    for index in indices:
        if index is not None and index.ndim == 0 and _is_mask(index) and taken <= self.ndim:
            self = np.expand_dims(self, taken)
            index = index.reshape(1)
        changed.append(index)
        taken += index.ndim if index is not None and _is_mask(index) else 1
    return self, changed


def _is_mask(index: Array) -> bool:
    return index.dtype.kind == "b" or bool(index.dtype == np.uint8)


def places(shape: Sequence[int], indices: Sequence[Array | None], *, checks: bool = True) -> tuple[Any, ...]:
    """The NumPy index for a list of index arrays, where None means all of a dimension and a mask counts for all of
    its own.

    Raises IndexError for wrong dtypes, masks of other sizes, and, with `checks`, places out of range: who reads or
    writes by them on the host is told of these by NumPy, before anything is written.
    """
    result: list[Any] = []
    for index in indices:
        if index is None:
            result.append(slice(None))
        elif _is_mask(index):
            result.extend(_mask_indices(shape, len(result), index))
        elif index.dtype in (np.int64, np.int32):
            result.append(index)
        else:
            raise IndexError(BAD_DTYPE)
    if len(result) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(result)})")
    if checks:
        check_places(shape, result)
    _check_broadcast([i for i in result if not isinstance(i, slice)])
    return tuple(result)


def check_places(shape: Sequence[int], where: Sequence[Any]) -> None:
    """Raise IndexError for a place out of range."""
    for dim, index in enumerate(where):
        if not isinstance(index, slice):
            check_range(index, shape[dim], dim)


def _mask_indices(shape: Sequence[int], dim: int, mask: Array) -> tuple[Array, ...]:
    for i, size in enumerate(mask.shape):
        if dim + i >= len(shape):
            raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
        if size != shape[dim + i]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of the indexed "
                f"tensor {list(shape)} at index {dim + i}"
            )
    return np.nonzero(mask)


def check_range(index: Array, size: int, dim: int) -> None:
    """Raise IndexError for the first place outside `-size <= place < size`."""
    if is_outside(index, -size, size):
        bad = index[(index >= size) | (index < -size)].reshape(-1)[0]
        raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def _check_broadcast(indices: Sequence[Array]) -> None:
    if len({i.shape for i in indices}) > 1:
        try:
            np.broadcast_shapes(*(i.shape for i in indices))
        except ValueError:
            shapes = ", ".join(str(list(i.shape)) for i in indices)
            raise IndexError(
                f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
            ) from None


def is_leading_mask(self: Array, index: Array) -> bool:
    """Whether an index is a mask of the first dimensions, of just their sizes."""
    return bool(index.dtype == np.bool_ and index.ndim > 0 and self.shape[: index.ndim] == index.shape)


def index_kernel(self: Array, indices: Sequence[Array | None]) -> Array:
    """NumPy's advanced indexing: index dimensions stay in place if neighbours, else they come first."""
    if not is_host_array(self):
        self, indices = with_mask_axes(self, indices)
        return np.array(self[places(self.shape, indices)], order="C")
    along = _only_index(self, indices)
    if along is not None:
        return take_places(self, *along)
    if len(indices) == 1 and indices[0] is not None and is_leading_mask(self, indices[0]):
        return np.ascontiguousarray(self[indices[0]])
    self, indices = with_mask_axes(self, indices)
    where = places(self.shape, indices, checks=False)
    try:
        picked = self[where]
    except IndexError:
        check_places(self.shape, where)
        raise
    is_fresh = type(picked) is np.ndarray and picked.base is None and picked.flags.c_contiguous
    return picked if is_fresh else np.array(picked, order="C")


def _only_index(array: Array, indices: Sequence[Array | None]) -> tuple[Array, int] | None:
    """The index of one of the first two dimensions, with which one, where others are taken as they are."""
    dim = len(indices) - 1
    index = indices[dim] if dim in (0, 1) else None
    if index is None or not index.ndim or index.dtype != np.int64 or array.ndim <= dim:
        return None
    return (index, dim) if dim == 0 or (indices[0] is None and array.flags.c_contiguous) else None


def take_places(array: Array, index: Array, dim: int) -> Array:
    """The named ones along a dimension, counted from either end. Raises IndexError for places out of range."""
    try:
        return array.take(index, axis=dim)
    except IndexError:
        check_range(index, array.shape[dim], dim)
        raise


def index_select_kernel(self: Array, dim: int, index: Array) -> Array:
    """The named places along one dimension."""
    at = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    source = self.reshape(1) if self.ndim == 0 else self
    size = source.shape[at]
    if is_outside(index, 0, size):
        raise IndexError("index out of range in self")
    if self.ndim == 0:
        if index.size != 1:
            raise IndexError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return np.array(self, order="C")
    return np.take(source, index.reshape(-1), axis=at)


def _select_shape(self: TensorType, dim: Any, index: TensorType) -> Sizes | None:
    if self.sizes is None or dim is UNKNOWN:
        return None
    if not self.sizes:
        return ()
    at = wrap_dim(dim, len(self.sizes))
    count = None if index.sizes is None else (index.sizes[0] if index.sizes else 1)
    return (*self.sizes[:at], count, *self.sizes[at + 1 :])


@dataclass(slots=True)
class _IndexedDims:
    """Which dimensions index tensors name, and what sizes they bring in their place."""

    sizes: Sizes
    """Those of the indexed tensor; a mask without dimensions adds one of size 1."""
    dims: list[int] = field(default_factory=list)
    index_sizes: list[Sizes] = field(default_factory=list)
    position: int = 0
    """The first dimension that no index stands for yet."""

    def take(self, index: Any) -> bool:
        """Count one index, None or a tensor. False if its dtype or its sizes are not known."""
        if index is None:
            self.position += 1
            return True
        if not isinstance(index, TensorType) or index.dtype is None or index.sizes is None:
            return False
        is_mask = index.dtype in (bool_, uint8)
        count = max(len(index.sizes), 1) if is_mask else 1
        if is_mask and not index.sizes:
            self.sizes = (*self.sizes[: self.position], 1, *self.sizes[self.position :])
        self.dims += range(self.position, self.position + count)
        self.index_sizes.append((None,) if is_mask else index.sizes)
        self.position += count
        return True

    def result(self) -> Sizes | None:
        """The sizes of the elements that the indices name."""
        if not self.dims:
            return self.sizes
        common = broadcast_known(self.index_sizes)
        if common is None or self.position > len(self.sizes):
            return None
        are_neighbours = self.dims[-1] - self.dims[0] == len(self.dims) - 1
        first = self.dims[0] if are_neighbours else 0
        kept = [size for dim, size in enumerate(self.sizes) if dim not in self.dims]
        return (*kept[:first], *common, *kept[first:])


def index_shape(self: TensorType, indices: Any) -> Sizes | None:
    """Index dimensions stay in place if neighbours, else they come first; a mask counts for all of its dimensions, one
    without any for a new one.
    """
    if self.sizes is None or not isinstance(indices, list | tuple):
        return None
    indexed = _IndexedDims(self.sizes)
    for index in indices:
        if not indexed.take(index):
            return None
    return indexed.result()


declare(
    "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
    kernel=index_kernel,
    family="indexing",
    outs=("Tensor_out",),
    dtype=same_dtype,
    shape=index_shape,
    is_method=False,
    is_function=False,
    doc="Elements at the places that index tensors name; None stands for all of a dimension.",
    samples=lambda: (
        Sample(args=(sample(3, 4), [longs(0, 2)])),
        Sample(args=(sample(3, 4), [None, longs(1, 1)])),
        Sample(args=(sample(2, 3), [wrap(np.array([True, False]))])),
        Sample(args=(sample(2, 3), [None, wrap(np.array(True))])),
        Sample(args=(sample(), [wrap(np.array(False))])),
    ),
    errors=lambda: (
        ErrorSample(
            args=(sample(3), [longs(5)]),
            error=IndexError,
            message="index 5 is out of bounds for dimension 0 with size 3",
        ),
        ErrorSample(args=(sample(3), [sample(1)]), error=IndexError, message=BAD_DTYPE),
        ErrorSample(
            args=(sample(3), [wrap(np.array([True, False]))]),
            error=IndexError,
            message="The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3] at index "
            "0",
        ),
    ),
)
declare(
    "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
    kernel=index_select_kernel,
    accumulator="index_select",
    traits=Traits(out_apart=True),
    family="indexing",
    outs=("out",),
    dtype=same_dtype,
    shape=_select_shape,
    doc="The named places along one dimension; a copy.",
    samples=lambda: (Sample(args=(sample(3, 4), 1, longs(0, 0, 3))), Sample(args=(sample(3), -1, longs()))),
    errors=lambda: (
        ErrorSample(args=(sample(3), 0, longs(3)), error=IndexError, message="index out of range in self"),
        ErrorSample(
            args=(sample(3), 0, sample(1)), error=RuntimeError, message="Expected dtype int32 or int64 for index"
        ),
    ),
)
