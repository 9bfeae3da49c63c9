"""`x[places]` as Python means it: an integer tensor without axes is an integer, so what it names is a view.

`aten::index` gives a copy of that, and counts such a tensor as a place among others. A compiled program uses
`python::item` where it is seen which of the two it is: where what comes of it, or the tensor, is written to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.families.samples import longs, sample
from flambeau.ops.indexing import BAD_DTYPE, index_shape
from flambeau.ops.language.declare import declare as declare_of_lists
from flambeau.schema.dtype import Category, bool_, uint8
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.dispatch import call
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.record import replace


def item_kernel(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Views for the integers, then elements at the places that are left."""
    view, rest = part_kernel(self, indices), places_kernel(indices)
    if all(index is None for index in rest):
        return view
    items: Tensor = call("aten::index", view, rest)
    return items


def part_kernel(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The view that the integers among the places make."""
    view, dim = self, 0
    for index in indices:
        if index is not None and _is_number(index):
            view = _selected(view, dim, int(index.item()))
        else:
            dim += 1 if index is None or index.dtype not in (bool_, uint8) else index.dim()
    return call("aten::alias", view) if view is self else view


def places_kernel(indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The places that are left behind `part_kernel`; one at least, that takes all."""
    return [index for index in indices if index is None or not _is_number(index)] or [None]


def _is_number(index: Tensor) -> bool:
    """Whether a place is an integer without axes. Raises IndexError for a dtype that no place has."""
    if index.dtype.category > Category.INTEGER:
        raise IndexError(BAD_DTYPE)
    return index.dim() == 0 and index.dtype not in (bool_, uint8)


def _selected(view: Tensor, dim: int, at: int) -> Tensor:
    if dim >= view.dim():
        raise IndexError(f"too many indices for tensor of dimension {view.dim()}")
    size = view._array.shape[dim]
    if not -size <= at < size:
        raise IndexError(f"index {at} is out of bounds for dimension {dim} with size {size}")
    selected: Tensor = call("aten::select", view, dim, at)
    return selected


def _item_shape(self: TensorType, indices: Any) -> Sizes | None:
    sizes = _part(self, indices)
    return None if sizes is None else index_shape(replace(self, sizes=sizes[0]), sizes[1])


def _part_shape(self: TensorType, indices: Any) -> Sizes | None:
    sizes = _part(self, indices)
    return None if sizes is None else sizes[0]


def _part(self: TensorType, indices: Any) -> tuple[Sizes, list[Any]] | None:
    """The sizes of the view that integers make, and the places that are left."""
    if self.sizes is None or not isinstance(indices, list | tuple):
        return None
    sizes, rest, dim = self.sizes, list[Any](), 0
    for index in indices:
        if index is None:
            rest.append(None)
            dim += 1
        elif not isinstance(index, TensorType) or index.dtype is None or index.sizes is None or dim > len(sizes):
            return None
        elif index.sizes == () and index.dtype not in (bool_, uint8):
            sizes = (*sizes[:dim], *sizes[dim + 1 :])
        else:
            rest.append(index)
            dim += len(index.sizes) if index.dtype in (bool_, uint8) else 1
    return sizes, rest


declare(
    "python::item(Tensor(a) self, Tensor?[] indices) -> Tensor(a)",
    kernel=item_kernel,
    family="composite",
    on_tensors=True,
    traits=Traits(may_copy=True),
    dtype=same_dtype,
    shape=_item_shape,
    is_method=False,
    is_function=False,
    doc="What tensors name in brackets: a view where they are integers without axes, else elements at those places.",
    samples=lambda: (
        Sample(args=(sample(3, 4), [wrap(np.array(1)), wrap(np.array(-1))])),
        Sample(args=(sample(3, 4), [None, wrap(np.array(1))])),
        Sample(args=(sample(3, 4), [longs(0, 2)])),
        Sample(args=(sample(2, 3, 4), [wrap(np.array(1)), None, longs(0, 2)])),
    ),
    errors=lambda: (
        ErrorSample(
            args=(sample(3), [wrap(np.array(5))]),
            error=IndexError,
            message="index 5 is out of bounds for dimension 0 with size 3",
        ),
        ErrorSample(args=(sample(3), [wrap(np.array(0.5))]), error=IndexError, message=BAD_DTYPE),
    ),
)
declare(
    "python::part(Tensor(a) self, Tensor?[] indices) -> Tensor(a)",
    kernel=part_kernel,
    family="composite",
    on_tensors=True,
    dtype=same_dtype,
    shape=_part_shape,
    is_method=False,
    is_function=False,
    doc="The view that integers without axes make among places in brackets; the other places are taken whole.",
    samples=lambda: (
        Sample(args=(sample(3, 4), [wrap(np.array(1)), wrap(np.array(-1))])),
        Sample(args=(sample(2, 3, 4), [wrap(np.array(1)), None, longs(0, 2)])),
    ),
)
declare_of_lists("python::places(Tensor?[](a) indices) -> Tensor?[](a)", places_kernel)
