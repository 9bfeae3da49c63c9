"""Where elements are not zero, and the elements where a mask is."""

from __future__ import annotations

from typing import Final

from flambeau.ops.families import ranks
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype, to_int64
from flambeau.ops.families.samples import sample
from flambeau.ops.indexing import Array
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.layout import broadcast
from flambeau.tensor.tensor import Tensor, wrap


def nonzero_kernel(self: Tensor) -> Tensor:
    """The places of elements other than zero, a row each; their columns lie in one piece."""
    columns = _columns_of_places(self._array)
    if columns.size or not is_host_array(columns):
        return wrap(columns.T)
    count = columns.shape[1]
    return wrap(np.ndarray((count, len(columns)), np.int64, bytearray(), 0, (8, 8 * count)))


def _columns_of_places(array: Array) -> Array:
    if array.ndim == 0:
        return np.zeros((0, int(bool(array != 0))), np.int64)
    indices = np.nonzero(array)
    stacked = indices[0].reshape(1, -1) if len(indices) == 1 else np.stack(indices)
    return stacked.astype(np.int64, copy=False)


def nonzero_numpy_kernel(self: Tensor) -> list[Tensor]:
    """The places of elements other than zero, a vector for each dimension."""
    array = self._array.reshape(1) if self._array.ndim == 0 else self._array
    return [wrap(i.copy() if array.ndim > 1 else i) for i in np.nonzero(array)]


def where_kernel(condition: Tensor) -> list[Tensor]:
    """The places where a condition holds, a vector for each dimension."""
    return nonzero_numpy_kernel(condition)


def nonzero_static_kernel(self: Array, size: int, fill_value: int = -1) -> Array:
    """Exactly `size` rows of `nonzero`, filled up with `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    rows = _columns_of_places(self).T[:size]
    result = np.full((size, self.ndim), fill_value, np.int64)
    result[: len(rows)] = rows
    return result


def masked_select_kernel(self: Array, mask: Array) -> Array:
    """The elements where the mask holds, after broadcasting, in row-major order."""
    if mask.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    a, m = broadcast_two(self, mask)
    return np.array(a[m].reshape(-1))


def broadcast_two(a: Array, b: Array) -> tuple[Array, Array]:
    """Both arrays in their common size. Raises RuntimeError naming the sizes that do not fit."""
    common = broadcast(a.shape, b.shape)
    return np.broadcast_to(a, common), np.broadcast_to(b, common)


NO_LONG: Final = "nonzero: Expected out tensor to have scalar type {wanted.display} but got scalar type{got.display}"


declare(
    "aten::nonzero(Tensor self) -> Tensor",
    kernel=nonzero_kernel,
    on_tensors=True,
    family="indexing",
    outs=("out",),
    traits=Traits(out_apart=True, out_dtype=NO_LONG),
    dtype=to_int64,
    shape=lambda self: None if self.sizes is None else (None, len(self.sizes)),
    doc="The places of elements other than zero, a row each.",
    samples=lambda: (Sample(args=(sample(2, 3),)), Sample(args=(sample(),))),
)
declare(
    "aten::argwhere(Tensor self) -> Tensor",
    kernel=nonzero_kernel,
    on_tensors=True,
    family="indexing",
    dtype=to_int64,
    shape=lambda self: None if self.sizes is None else (None, len(self.sizes)),
    doc="The same as `nonzero`.",
    samples=lambda: (Sample(args=(sample(2, 3),)),),
)
declare(
    "aten::nonzero_numpy(Tensor self) -> Tensor[]",
    kernel=nonzero_numpy_kernel,
    dtype=to_int64,
    shape=ranks.vector,
    on_tensors=True,
    family="indexing",
    is_function=False,
)
declare(
    "aten::where(Tensor condition) -> Tensor[]",
    kernel=where_kernel,
    dtype=to_int64,
    shape=ranks.vector,
    on_tensors=True,
    family="indexing",
    doc="With a condition alone: the places where it is not zero, a vector for each dimension.",
    samples=lambda: (Sample(args=(sample(2, 3),)), Sample(args=(sample(),))),
)
declare(
    "aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
    kernel=nonzero_static_kernel,
    family="indexing",
    outs=("out",),
    dtype=to_int64,
    shape=lambda self, size: None if self.sizes is None else (size if isinstance(size, int) else None, len(self.sizes)),
    doc="Exactly `size` rows of `nonzero`, filled up with `fill_value`.",
    samples=lambda: (Sample(args=(sample(2, 3),), kwargs={"size": 3}),),
)
declare(
    "aten::masked_select(Tensor self, Tensor mask) -> Tensor",
    kernel=masked_select_kernel,
    family="indexing",
    traits=Traits(out_apart=True),
    outs=("out",),
    dtype=same_dtype,
    shape=lambda: (None,),
    doc="The elements where the mask holds, in row-major order.",
    samples=lambda: (Sample(args=(sample(2, 3), wrap(np.array([True, False, True])))),),
    errors=lambda: (
        ErrorSample(
            args=(sample(2), sample(2)), error=RuntimeError, message="masked_select: expected BoolTensor for mask"
        ),
    ),
)
