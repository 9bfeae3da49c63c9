"""Triangles and diagonals: tril, triu, their indices, diag, diag_embed, and writing whole slices or diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.constructors import OPTIONS
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.overwrite import overwrite
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.families.samples import sample
from flambeau.ops.families.scalars import exact_scalar
from flambeau.ops.windows import index_at
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType, by_code, from_numpy_dtype
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.create import check_device
from flambeau.tensor.layout import wrap_dim
from flambeau.tensor.tensor import Tensor, view_of, wrap

Array = np.ndarray[Any, Any]


def _clear(name: str, self: Array, diagonal: int, is_upper: bool) -> None:
    """Zero the elements on the other side of the diagonal."""
    if self.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    rows, columns = self.shape[-2:]
    first = np.arange(rows)[:, None] + max(-rows, min(diagonal, columns))
    gone = np.arange(columns) < first if is_upper else np.arange(columns) > first
    np.copyto(self, np.zeros((), self.dtype), where=gone)


def tril(self: Array, diagonal: int = 0) -> None:
    """Keep the lower triangle."""
    _clear("tril", self, diagonal, False)


def triu(self: Array, diagonal: int = 0) -> None:
    """Keep the upper triangle."""
    _clear("triu", self, diagonal, True)


def _triangle_indices(name: str, row: int, col: int, offset: int, dtype: int | None, device: Device | None) -> Tensor:
    check_device(device)
    for what, value in (("row", row), ("col", col)):
        if value < 0:
            raise RuntimeError(f"{what} must be non-negative, got{value}")
    indices = (np.tril_indices if name == "tril" else np.triu_indices)(row, offset, col)
    return wrap(np.stack(indices).astype(by_code(4 if dtype is None else dtype).numpy))


def diag_kernel(self: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with the vector on its diagonal, or the diagonal of a matrix."""
    array = self._array
    if array.ndim == 1:
        return wrap(np.diag(array, diagonal))
    if array.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {array.ndim}D")
    return wrap(_diagonal(array, diagonal, 0, 1).copy())


def _diag_shape(self: TensorType) -> Sizes | None:
    """A vector gives a matrix, a matrix a vector; others are refused."""
    return (None,) * (3 - len(self.sizes)) if self.sizes is not None and len(self.sizes) in (1, 2) else None


def _diagonal(array: Array, offset: int, dim1: int, dim2: int) -> Array:
    """The diagonal as a view that may be written; empty where the offset leaves the array."""
    view = np.diagonal(array, offset, dim1, dim2)
    if view.size and is_host_array(array) and array.flags.writeable:
        view.flags.writeable = True
    return view


def diag_embed_kernel(self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Matrices in two new dimensions with the last dimension on their diagonals."""
    rank = self.ndim + 1
    a, b = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = self.shape[-1] + abs(offset)
    matrices = np.zeros((*self.shape[:-1], size, size), self.dtype)
    where = np.arange(self.shape[-1])
    matrices[..., where + max(-offset, 0), where + max(offset, 0)] = self
    order: list[int] = []
    rest = iter(range(rank - 2))
    for d in range(rank):
        order.append(rank - 2 if d == a else rank - 1 if d == b else next(rest))
    return np.ascontiguousarray(matrices.transpose(order))


def diagflat_kernel(self: Array, offset: int = 0) -> Array:
    """A matrix with all elements in order on its diagonal."""
    return np.diag(np.ascontiguousarray(self).reshape(-1), offset)


def fill_diagonal(self: Array, fill_value: Any, wrap: bool = False) -> None:
    """One number on the main diagonal; `wrap` goes on below a tall matrix."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    number = exact_scalar(fill_value, from_numpy_dtype(self.dtype))
    rows, columns = self.shape[0], self.shape[1]
    if self.ndim > 2:
        where = np.arange(rows)
        self[(where,) * self.ndim] = number
        return
    size = min(rows, columns)
    self[np.arange(size), np.arange(size)] = number
    if wrap and rows > columns + 1:
        flat = np.arange((columns + 1) * columns, rows * columns, columns + 1)
        self[flat // columns, flat % columns] = number


def _same(name: str, src: Array, view: Array) -> None:
    if src.shape != view.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the {name} of self. src size = {list(src.shape)}, {name} size = "
            f"{list(view.shape)}"
        )


def select_scatter(self: Array, src: Array, dim: int, index: int) -> None:
    """Overwrite one place along a dimension."""
    at = wrap_dim(dim, self.ndim)
    if not -self.shape[at] <= index < self.shape[at]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {at}"
        )
    view = self[index_at(at, index)]
    _same("slice", src, view)
    view[...] = src


def slice_scatter(
    self: Array, src: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> None:
    """Overwrite a slice along a dimension."""
    at = wrap_dim(dim, self.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    view = self[(*(slice(None),) * at, slice(start, end, step))]
    _same("slice", src, view)
    view[...] = src


def diagonal_scatter(self: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> None:
    """Overwrite a diagonal."""
    view = _diagonal(self, offset, wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim))
    _same("slice", src, view)
    if view.size:
        view[...] = src


def as_strided_scatter(
    self: Array, src: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> None:
    """Overwrite a window on the storage."""
    view = view_of(wrap(self), size, stride, storage_offset or 0)._array
    if src.shape != view.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(size)}"
        )
    view[...] = src


def _index_dtype(dtype: Any = 4) -> DType | None:
    return None if dtype is UNKNOWN else by_code(4 if dtype is None else dtype)


for _name, _kernel in (("tril", tril), ("triu", triu)):
    overwrite(
        f"aten::{_name}(Tensor self, SymInt diagonal=0) -> Tensor",
        kernel=_kernel,
        entry=_name,
        outs=("out",),
        doc=f"The {'lower' if _name == 'tril' else 'upper'} triangle of matrices, zero elsewhere.",
        samples=lambda: (
            Sample(args=(sample(3, 4),)),
            Sample(args=(sample(3, 3), -1)),
            Sample(args=(sample(2, 3, 3), 1)),
        ),
        errors=(
            lambda name: (
                lambda: (
                    ErrorSample(
                        args=(sample(3),),
                        error=RuntimeError,
                        message=f"{name}: input tensor must have at least 2 dimensions",
                    ),
                )
            )
        )(_name),
    )
    declare(
        f"aten::{_name}_indices(int row, int col, int offset=0, *, {OPTIONS.replace('dtype=None', 'dtype=4', 1)}) -> "
        "Tensor",
        kernel=(
            lambda name: (
                lambda row, col, offset, dtype, device: _triangle_indices(name, row, col, offset, dtype, device)
            )
        )(_name),
        on_tensors=True,
        family="creation",
        dtype=_index_dtype,
        shape=lambda row: (2, None),
        is_method=False,
        doc="The places of a triangle of a row x col matrix, as two rows.",
        samples=lambda: (Sample(args=(3, 3)), Sample(args=(2, 4, 1))),
    )
declare(
    "aten::diag(Tensor self, int diagonal=0) -> Tensor",
    kernel=diag_kernel,
    on_tensors=True,
    outs=("out",),
    dtype=same_dtype,
    shape=_diag_shape,
    doc="A matrix with a vector on its diagonal, or the diagonal of a matrix; a copy.",
    samples=lambda: (Sample(args=(sample(3),)), Sample(args=(sample(2, 3), 1))),
    errors=lambda: (
        ErrorSample(args=(sample(1, 2, 3),), error=RuntimeError, message="diag(): Supports 1D or 2D tensors."),
    ),
)
declare(
    "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    kernel=diag_embed_kernel,
    outs=("out",),
    dtype=same_dtype,
    shape=ranks.one_more,
    doc="Matrices in two new dimensions with the last dimension on their diagonals.",
    samples=lambda: (Sample(args=(sample(2, 3),)), Sample(args=(sample(2, 3), 1, 0, 2))),
)
declare(
    "aten::diagflat(Tensor self, int offset=0) -> Tensor",
    kernel=diagflat_kernel,
    dtype=same_dtype,
    shape=ranks.matrix,
    doc="A matrix with all elements in order on its diagonal.",
    samples=lambda: (Sample(args=(sample(2, 2),)),),
)
overwrite(
    "aten::fill_diagonal(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor",
    kernel=fill_diagonal,
    has_functional=False,
    doc="One number on the main diagonal.",
    samples=lambda: (Sample(args=(sample(3, 3), 5)),),
)
overwrite(
    "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    kernel=select_scatter,
    has_in_place=False,
    outs=("out",),
    doc="The tensor with one place along a dimension overwritten.",
    samples=lambda: (Sample(args=(sample(2, 3), sample(3), 0, 1)),),
)
overwrite(
    "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) "
    "-> Tensor",
    kernel=slice_scatter,
    has_in_place=False,
    outs=("out",),
    doc="The tensor with a slice overwritten.",
    samples=lambda: (Sample(args=(sample(4), sample(2), 0, 1, 3)),),
)
overwrite(
    "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    kernel=diagonal_scatter,
    has_in_place=False,
    outs=("out",),
    doc="The tensor with a diagonal overwritten.",
    samples=lambda: (Sample(args=(sample(3, 3), sample(3))),),
)
overwrite(
    "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) "
    "-> Tensor",
    kernel=as_strided_scatter,
    has_in_place=False,
    outs=("out",),
    doc="The tensor with a window on its storage overwritten.",
    samples=lambda: (Sample(args=(sample(6), sample(2), (2,), (2,), 1)),),
)
