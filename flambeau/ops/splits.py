"""Operators that cut a tensor into a list of views."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.families import ranks
from flambeau.ops.families.samples import sample
from flambeau.ops.families.view import view_of_list
from flambeau.ops.windows import index_at, slice_kernel
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.layout import wrap_dim
from flambeau.tensor.tensor import Tensor, share


def _pieces(self: Tensor, dim: int, bounds: Sequence[int]) -> list[Tensor]:
    """The views between neighbouring bounds."""
    array = self._array
    before = (slice(None),) * dim
    return [share(self, array[(*before, slice(a, b))]) for a, b in itertools.pairwise(bounds)]


def split_kernel(self: Tensor, split_size: int, dim: int = 0) -> list[Tensor]:
    """Pieces of `split_size`, the last one possibly smaller."""
    array = self._array
    if array.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    at = wrap_dim(dim, array.ndim)
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    size = array.shape[at]
    if split_size == 0:
        if size:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
        return [slice_kernel(self, at, 0, 0)]
    return _pieces(self, at, [*range(0, max(size, 1), split_size), size])


def split_with_sizes_kernel(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    """Pieces of the given sizes."""
    array = self._array
    if array.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    at = wrap_dim(dim, array.ndim)
    size = array.shape[at]
    bounds = [0]
    for one in split_sizes:
        if one < 0:
            raise RuntimeError(
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={list(split_sizes)}"
            )
        bounds.append(bounds[-1] + one)
    if bounds[-1] != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {at}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    return _pieces(self, at, bounds)


def chunk_kernel(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
    """At most `chunks` pieces of one size, the last one possibly smaller."""
    array = self._array
    if array.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    at = wrap_dim(dim, array.ndim)
    size = array.shape[at]
    if size == 0:
        return split_with_sizes_kernel(self, [0] * chunks, at)
    return split_kernel(self, -(-size // chunks), at)


def unbind_kernel(self: Tensor, dim: int = 0) -> list[Tensor]:
    """All places along a dimension, which goes."""
    array = self._array
    if array.ndim == 0:
        raise RuntimeError("Dimension specified as 0 but tensor has no dimensions")
    at = wrap_dim(dim, array.ndim)
    return [share(self, array[index_at(at, i)]) for i in range(array.shape[at])]


def tensor_split_sections(self: Tensor, sections: int, dim: int = 0) -> list[Tensor]:
    """`sections` pieces whose sizes differ by at most 1."""
    _needs_dimension(self)
    at = wrap_dim(dim, self._array.ndim)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    whole, more = divmod(self._array.shape[at], sections)
    bounds = [0]
    for i in range(sections):
        bounds.append(bounds[-1] + whole + (i < more))
    return _pieces(self, at, bounds)


def tensor_split_indices(self: Tensor, indices: Sequence[int], dim: int = 0) -> list[Tensor]:
    """Pieces between the given places."""
    _needs_dimension(self)
    at = wrap_dim(dim, self._array.ndim)
    starts, ends = [0, *indices], [*indices, self._array.shape[at]]
    return [slice_kernel(self, at, a, b) for a, b in zip(starts, ends, strict=True)]


def tensor_split_tensor(self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> list[Tensor]:
    """Either of the above, given as an integer tensor."""
    _needs_dimension(self)
    array = tensor_indices_or_sections._array
    if array.dtype.kind != "i" or array.itemsize != 8:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
            f"{tensor_indices_or_sections.dtype.display}"
        )
    if array.ndim > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
            f"but got a tensor with {array.ndim} dims"
        )
    if array.ndim == 0:
        return tensor_split_sections(self, int(array.item()), dim)
    return tensor_split_indices(self, array.tolist(), dim)


def _needs_dimension(self: Tensor) -> None:
    if self._array.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")


def _stacked_split(
    name: str, least: int, dim_of: Callable[[int], int]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The kernels of hsplit, vsplit and dsplit: a split along one certain dimension."""

    def check(self: Tensor) -> int:
        rank = self._array.ndim
        if rank < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {rank} "
                "dimensions!"
            )
        return dim_of(rank)

    def by_sections(self: Tensor, sections: int) -> list[Tensor]:
        at = check(self)
        size = self._array.shape[at]
        if sections == 0 or size % sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {at}, but the size of the dimension {size} is not "
                f"divisible by the split_size {sections}!"
            )
        return tensor_split_sections(self, sections, at)

    def by_indices(self: Tensor, indices: Sequence[int]) -> list[Tensor]:
        return tensor_split_indices(self, indices, check(self))

    return by_sections, by_indices


def _part_shape(self: TensorType, dim: Any = 0) -> Sizes | None:
    return ranks.self_rank(self) if dim is UNKNOWN else ranks.with_dim(self.sizes, dim, None)


_SLICES: Final = Traits(gives_slices=True)
view_of_list(
    "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    kernel=split_kernel,
    shape=_part_shape,
    doc="Pieces of one size (the last may be smaller), or of the given sizes; views.",
    samples=lambda: (
        Sample(args=(sample(5, 2), 2)),
        Sample(args=(sample(2, 6), 3, 1)),
        Sample(args=(sample(0, 2), 3)),
    ),
    errors=lambda: (
        ErrorSample(args=(sample(), 1), error=RuntimeError, message="split expects at least a 1-dimensional tensor"),
    ),
)
for _schema in (
    "aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
    "aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
):
    view_of_list(
        _schema,
        kernel=(lambda self, split_size, dim: split_with_sizes_kernel(self, split_size, dim))
        if "split_size," in _schema
        else split_with_sizes_kernel,
        shape=_part_shape,
        doc="Pieces of the given sizes; views.",
        samples=lambda: (Sample(args=(sample(5), (2, 0, 3))),),
        errors=lambda: (
            ErrorSample(
                args=(sample(5), (2, 2)),
                error=RuntimeError,
                message="split_with_sizes expects split_sizes to sum exactly to 5 (input tensor's size at dimension "
                "0), but got split_sizes=[2, 2]",
            ),
        ),
    )
view_of_list(
    "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
    kernel=chunk_kernel,
    shape=_part_shape,
    doc="At most `chunks` pieces of one size, the last possibly smaller; views.",
    samples=lambda: (Sample(args=(sample(5), 2)), Sample(args=(sample(2, 6), 4, -1))),
    errors=lambda: (
        ErrorSample(
            args=(sample(5), 0), error=RuntimeError, message="chunk expects `chunks` to be greater than 0, got: 0"
        ),
    ),
)
view_of_list(
    "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    kernel=unbind_kernel,
    shape=lambda self, dim: ranks.without_dim(self.sizes, dim),
    doc="All places along a dimension, which goes; views.",
    samples=lambda: (Sample(args=(sample(2, 3),)), Sample(args=(sample(2, 3), 1))),
    errors=lambda: (
        ErrorSample(
            args=(sample(),), error=RuntimeError, message="Dimension specified as 0 but tensor has no dimensions"
        ),
    ),
)
view_of_list(
    "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
    traits=_SLICES,
    kernel=tensor_split_sections,
    shape=_part_shape,
    doc="Pieces whose sizes differ by at most 1, or pieces between the given places; views.",
    samples=lambda: (Sample(args=(sample(7), 3)), Sample(args=(sample(2, 5), 2, 1))),
    errors=lambda: (
        ErrorSample(args=(sample(3), 0), error=RuntimeError, message="number of sections must be larger than 0, got 0"),
    ),
)
view_of_list(
    "aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
    traits=_SLICES,
    kernel=tensor_split_indices,
    shape=_part_shape,
    samples=lambda: (Sample(args=(sample(7), (1, 4))), Sample(args=(sample(3), (2, 9)))),
)
view_of_list(
    "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int "
    "dim=0) -> Tensor(a)[]",
    traits=_SLICES,
    kernel=tensor_split_tensor,
    shape=_part_shape,
)
for _name, _least, _dim_of in (
    ("hsplit", 1, lambda rank: 0 if rank == 1 else 1),
    ("vsplit", 2, lambda rank: 0),
    ("dsplit", 3, lambda rank: 2),
):
    _by_sections, _by_indices = _stacked_split(_name, _least, _dim_of)
    view_of_list(
        f"aten::{_name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
        traits=_SLICES,
        kernel=_by_sections,
        shape=ranks.self_rank,
        doc="Pieces of one size along a certain dimension, or between the given places; views.",
        samples=lambda: (Sample(args=(sample(2, 4, 2), 2)),),
        errors=lambda: (
            ErrorSample(args=(sample(), 2), error=RuntimeError, message="requires a tensor with at least"),
        ),
    )
    view_of_list(
        f"aten::{_name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
        traits=_SLICES,
        kernel=_by_indices,
        shape=ranks.self_rank,
        samples=lambda: (Sample(args=(sample(2, 4, 2), (1,))),),
    )
