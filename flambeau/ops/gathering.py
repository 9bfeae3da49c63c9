"""Elements picked by indexes along a dimension, or of all elements in a row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from flambeau.ops.families import ranks
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.families.samples import longs, sample
from flambeau.ops.indexing import Array
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import is_host_array, is_outside, np, on_host
from flambeau.tensor.layout import broadcast, wrap_dim
from flambeau.tensor.tensor import wrap


def along(index: Array, dim: int) -> tuple[Any, ...]:
    """The NumPy index that goes through `index` itself along `dim` and in step along the other dimensions."""
    grid = list(_known_steps(index.shape) if index.size <= _FEW and is_host_array(index) else _steps(index.shape))
    grid[dim] = index
    return tuple(grid)


def _steps(sizes: tuple[int, ...]) -> tuple[Array, ...]:
    """Per dimension the numbers from 0 on, lying along it."""
    rank = len(sizes)
    return tuple([np.arange(n).reshape([-1 if k == axis else 1 for k in range(rank)]) for axis, n in enumerate(sizes)])


_FEW: Final = 1 << 14
"""Elements of an index up to which such numbers are kept."""


@lru_cache(maxsize=64)
def _known_steps(sizes: tuple[int, ...]) -> tuple[Array, ...]:
    with on_host():
        return _steps(sizes)


def check_gather(name: str, shape: Sequence[int], dim: int, index: Array) -> int:
    """What gather and scatter ask of `index`; the dimension from the front."""
    at = wrap_dim(dim, len(shape))
    if index.size == 0:
        return at
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if max(index.ndim, 1) != max(len(shape), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    return at


def check_index_range(index: Array, size: int, dim: int) -> None:
    """Raise RuntimeError for a place outside `0 <= place < size`."""
    if is_outside(index, 0, size):
        bad = index[(index >= size) | (index < 0)].reshape(-1)[0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def gather_kernel(self: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    """result[i][j] = self[index[i][j]][j] for dim 0."""
    at = check_gather("gather", self.shape, dim, index)
    if index.size == 0:
        return np.empty(index.shape, self.dtype)
    if index.shape != self.shape and any(
        index.shape[d] > self.shape[d] for d in range(self.ndim) if d != at and index.ndim
    ):
        raise RuntimeError(
            "Size does not match at dimension "
            f"{next(d for d in range(self.ndim) if d != at and index.shape[d] > self.shape[d])} expected index "
            f"{list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension {at}"
        )
    source = self.reshape(1) if self.ndim == 0 else self
    flat = index.reshape(1) if index.ndim == 0 else index
    check_index_range(flat, source.shape[at], at)
    return np.ascontiguousarray(source[along(flat, at)]).reshape(index.shape)


def take_kernel(self: Array, index: Array) -> Array:
    """Elements by their number in row-major order."""
    if index.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {wrap(index).dtype.display}")
    if self.size == 0 and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    if is_outside(index, -self.size, self.size):
        bad = index[(index >= self.size) | (index < -self.size)].reshape(-1)[0]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {self.size} elements.")
    return np.array(np.take(np.ascontiguousarray(self).reshape(-1), index), order="C").reshape(index.shape)


def take_along_dim_kernel(self: Array, indices: Array, dim: int | None = None) -> Array:
    """`gather` whose operands broadcast; without a dimension, over all elements in order."""
    if indices.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got " + wrap(indices).dtype.display
        )
    if dim is None:
        return gather_kernel(np.ascontiguousarray(self).reshape(-1), 0, indices.reshape(-1))
    if self.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    at = wrap_dim(dim, self.ndim)
    common = broadcast(
        tuple(1 if d == at else n for d, n in enumerate(self.shape)),
        tuple(1 if d == at else n for d, n in enumerate(indices.shape)),
    )
    wide = np.broadcast_to(self, tuple(self.shape[d] if d == at else n for d, n in enumerate(common)))
    index = np.broadcast_to(indices, tuple(indices.shape[d] if d == at else n for d, n in enumerate(common)))
    return gather_kernel(wide, at, np.where(index < 0, index + self.shape[at], index))


OTHER_DTYPE: Final = "Expected out tensor to have dtype {wanted.short}, but got {got.short} instead"
NOT_TAKEN: Final = (
    "take(): self and out expected to have the same dtype, but got self.dtype = {wanted.display} and out.dtype = "
    "{got.display}"
)


declare(
    "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    kernel=gather_kernel,
    accumulator="gather",
    traits=Traits(out_apart=True, out_dtype=OTHER_DTYPE),
    family="indexing",
    outs=("out",),
    dtype=same_dtype,
    shape=lambda index: index.sizes,
    doc="Along one dimension, the element that `index` names at each place: result[i][j] = self[index[i][j]][j] for "
    "dim 0.",
    samples=lambda: (Sample(args=(sample(2, 3), 1, wrap(np.array([[0, 2], [1, 1]])))),),
    errors=lambda: (
        ErrorSample(
            args=(sample(2, 3), 1, wrap(np.zeros((3, 1), np.int64))),
            error=RuntimeError,
            message="Size does not match at dimension 0 expected index [3, 1] to be no larger than self [2, 3] apart "
            "from dimension 1",
        ),
        ErrorSample(
            args=(sample(2, 3), 1, wrap(np.array([[5]]))),
            error=RuntimeError,
            message="index 5 is out of bounds for dimension 1 with size 3",
        ),
        ErrorSample(
            args=(sample(2, 3), 1, sample(1, 1)),
            error=RuntimeError,
            message="gather(): Expected dtype int32/int64 for index",
        ),
    ),
)
declare(
    "aten::take(Tensor self, Tensor index) -> Tensor",
    kernel=take_kernel,
    family="indexing",
    traits=Traits(out_apart=True, out_dtype=NOT_TAKEN),
    outs=("out",),
    dtype=same_dtype,
    shape=lambda index: index.sizes,
    doc="Elements by their number in row-major order.",
    samples=lambda: (Sample(args=(sample(2, 3), longs(0, -1))),),
    errors=lambda: (ErrorSample(args=(sample(3), longs(3)), error=IndexError, message="tried to access index 3"),),
)
declare(
    "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    kernel=take_along_dim_kernel,
    family="indexing",
    outs=("out",),
    dtype=same_dtype,
    shape=lambda self, dim: None if dim is UNKNOWN else (None,) if dim is None else ranks.self_rank(self),
    doc="`gather` whose operands broadcast; without `dim`, over all elements in order.",
    samples=lambda: (
        Sample(args=(sample(2, 3), wrap(np.array([[2]])), 1)),
        Sample(args=(sample(2, 3), longs(5, 0))),
    ),
)
