"""Writing slices at the places that a vector names: index_add, index_copy, index_fill, index_reduce; and put."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.element_loops import add_rows_at
from flambeau.ops.families.folds import display, fold_at, reduce_at
from flambeau.ops.families.overwrite import overwrite
from flambeau.ops.families.samples import longs, sample
from flambeau.ops.families.scalars import exact_scalar
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import is_outside, np
from flambeau.tensor.layout import wrap_dim

Array = np.ndarray[Any, Any]


def _vector_places(name: str, self: Array, dim: int, index: Array) -> tuple[int, tuple[Any, ...]]:
    """The dimension and the NumPy index of a vector of places along it."""
    at = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {display(index)}"
        )
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {display(index)}")
    size = self.shape[at] if self.ndim else 1
    flat = index.reshape(-1)
    if is_outside(flat, -size if name == "index_fill_" else 0, size):
        raise IndexError("index out of range in self")
    return at, ((*(slice(None),) * at, flat) if self.ndim else (flat,))


def _check_vector_source(name: str, self: Array, at: int, index: Array, source: Array) -> None:
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"{name}(): self ({display(self)}) and source ({display(source)}) must have the same scalar type"
        )
    expected = tuple(index.size if d == at else n for d, n in enumerate(self.shape))
    if (source.ndim and source.shape[at] != index.size) or (not source.ndim and index.size != 1):
        raise RuntimeError(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({source.shape[at] if source.ndim else 1}), for dim: {at}"
        )
    if source.ndim and self.ndim and source.shape != expected:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )


def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Any = 1) -> None:
    """self[index[i]] += alpha * source[i] for dim 0."""
    at, where = _vector_places("index_add", self, dim, index)
    _check_vector_source("index_add", self, at, index, source)
    target = self.reshape(1) if self.ndim == 0 else self
    values = source.reshape(1) if source.ndim == 0 and self.ndim == 0 else source
    if alpha != 1:
        values = (values * exact_scalar(alpha, from_numpy_dtype(self.dtype))).astype(self.dtype)
    if not at and add_rows_at(target, where[0], values):
        return
    fold_at(target, where, values, np.logical_or if self.dtype == np.bool_ else np.add)


def index_copy(self: Array, dim: int, index: Array, source: Array) -> None:
    """self[index[i]] = source[i] for dim 0."""
    at, where = _vector_places("index_copy_", self, dim, index)
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {display(self)} and "
            f"(source) {display(source)}"
        )
    if self.ndim and source.ndim and self.ndim != source.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    if (source.shape[at] if source.ndim else 1) != index.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[at] if source.ndim else 1})"
        )
    target = self.reshape(1) if self.ndim == 0 else self
    target[where] = source.reshape(1) if source.ndim == 0 and self.ndim == 0 else source


def index_fill_scalar(self: Array, dim: int, index: Array, value: Any) -> None:
    """self[index[i]] = value for dim 0."""
    _, where = _vector_places("index_fill_", self, dim, index)
    (self.reshape(1) if self.ndim == 0 else self)[where] = exact_scalar(value, from_numpy_dtype(self.dtype))


def index_fill_tensor(self: Array, dim: int, index: Array, value: Array) -> None:
    """`index_fill` with the number in a 0-d tensor."""
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    index_fill_scalar(self, dim, index, value.item())


def index_reduce(self: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool = True) -> None:
    """`index_add` that folds with prod, mean, amax or amin."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    at, where = _vector_places("index_reduce", self, dim, index)
    _check_vector_source("index_reduce", self, at, index, source)
    target = self.reshape(1) if self.ndim == 0 else self
    reduce_at(target, where, source, reduce, include_self)


def put(self: Array, index: Array, source: Array, accumulate: bool = False) -> None:
    """Elements by their number in row-major order."""
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {display(index)}")
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {display(self)} and "
            f"source.dtype = {display(source)}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    if is_outside(index, -self.size, self.size):
        bad = index[(index >= self.size) | (index < -self.size)].reshape(-1)[0]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {self.size} elements.")
    where = np.unravel_index(np.where(index < 0, index + self.size, index).reshape(-1), self.shape or (1,))
    target = self.reshape(1) if self.ndim == 0 else self
    if accumulate:
        fold_at(target, where, source.reshape(-1), np.logical_or if self.dtype == np.bool_ else np.add)
    else:
        target[where] = source.reshape(-1)


overwrite(
    "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    kernel=index_add,
    outs=("out",),
    accumulator="index_add",
    doc="Slices of `source` added at the places that a vector names, counting repeated places.",
    samples=lambda: (Sample(args=(sample(3, 2), 0, longs(2, 2), sample(2, 2)), kwargs={"alpha": 2}),),
    errors=lambda: (
        ErrorSample(args=(sample(3), 0, longs(3), sample(1)), error=IndexError, message="index out of range in self"),
    ),
)


overwrite(
    "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    kernel=index_copy,
    outs=("out",),
    accumulator="index_copy",
    doc="Slices of `source` written at the places that a vector names.",
    samples=lambda: (Sample(args=(sample(3, 2), 0, longs(2, 0), sample(2, 2))),),
)


overwrite(
    "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    kernel=index_fill_scalar,
    outs=("int_Scalar_out",),
    doc="One number at the places that a vector names.",
    samples=lambda: (Sample(args=(sample(3, 2), 1, longs(0), 5)),),
)


overwrite(
    "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    kernel=index_fill_tensor,
    outs=("int_Tensor_out",),
    samples=lambda: (Sample(args=(sample(3, 2), 1, longs(0), sample())),),
)


overwrite(
    "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) "
    "-> Tensor",
    kernel=index_reduce,
    outs=("out",),
    doc="`index_add` that folds with prod, mean, amax or amin.",
    samples=lambda: (Sample(args=(sample(3, 2), 0, longs(2, 2), sample(2, 2), "amax")),),
)


overwrite(
    "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    kernel=put,
    outs=("out",),
    doc="Elements by their number in row-major order, overwritten or added to.",
    samples=lambda: (Sample(args=(sample(2, 3), longs(0, -1), sample(2))),),
)
