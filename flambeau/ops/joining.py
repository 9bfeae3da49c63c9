"""Putting tensors together: cat and stack in all their spellings. Elements are promoted to a common dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous, dtype_of, one_dim
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.promotion import DIMENSIONED, ZERO_DIM, common_dtype, result_type
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.small_tensors import ramp
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import ListType
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import broadcast, expand, view_strides
from flambeau.tensor.tensor import Tensor, view_of, wrap

Arrays = Sequence[Array]


def common(tensors: Arrays) -> list[Array]:
    """All arrays in the dtype to which they promote; 0-dim ones give way to others."""
    if all(t.dtype == tensors[0].dtype for t in tensors):
        return list(tensors)
    operands = [(DIMENSIONED if t.ndim else ZERO_DIM, dtype_of(t)) for t in tensors]
    target = result_type(*operands)
    return [cast(t, target) for t in tensors]


def cat_kernel(tensors: Arrays, dim: int = 0) -> Array:
    """Raises ValueError for no tensors, IndexError for the dimension, RuntimeError for sizes that do not match."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    usual = _usual(tensors, dim)
    if usual is not None:
        return usual
    for i, one in enumerate(tensors):
        if one.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    parts = [t for t in tensors if t.shape != (0,)] or [tensors[0]]
    axis = one_dim(dim, parts[0].ndim)
    check_sizes(tensors, parts[0], axis)
    promoted = {id(t): p for t, p in zip(tensors, common(tensors), strict=True)}
    joined = np.concatenate([promoted[id(p)] for p in parts], axis=axis)
    if joined.ndim == 4 and all(_is_channels_last(p) for p in parts):
        return np.ascontiguousarray(joined.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    return contiguous(joined)


def _usual(tensors: Arrays, dim: int) -> Array | None:
    """Arrays of one kind put together; None for others, and for sizes that do not fit."""
    if not _are_usual(tensors):
        return None
    rank = tensors[0].ndim
    axis = dim if 0 <= dim < rank else one_dim(dim, rank)
    try:
        joined = np.concatenate(tensors, axis)
    except ValueError:
        return None
    return joined if joined.flags.c_contiguous and joined.size else contiguous(joined)


def _are_usual(tensors: Arrays) -> bool:
    """Whether all have one rank and dtype, none is the empty vector that goes with any, and not all may be channels
    that lie last."""
    first = tensors[0]
    rank, dtype = first.ndim, first.dtype
    if rank < 2 or (rank == 4 and not first.flags.c_contiguous):
        return rank == 1 and _are_alike(tensors)
    return all(one.ndim == rank and one.dtype is dtype for one in tensors)


def _are_alike(tensors: Arrays) -> bool:
    """Whether all have one shape and dtype, and none of their dimensions may be channels that lie last."""
    first = tensors[0]
    return first.ndim not in (0, 4) and len({(one.shape, one.dtype) for one in tensors}) == 1


def check_sizes(tensors: Arrays, first: Array, axis: int) -> None:
    """Raise RuntimeError for a tensor whose rank or sizes outside `axis` differ from the first's."""
    for i, one in enumerate(tensors):
        if one.shape == (0,):
            continue
        if one.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {one.ndim}")
        for d, (mine, theirs) in enumerate(zip(first.shape, one.shape, strict=True)):
            if d != axis and mine != theirs:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {mine} but got size "
                    f"{theirs} for tensor number {i} in the list."
                )


def _is_channels_last(array: Array) -> bool:
    return not array.flags.c_contiguous and bool(array.transpose(0, 2, 3, 1).flags.c_contiguous)


def stack_kernel(tensors: Arrays, dim: int = 0) -> Array:
    """Raises RuntimeError for no tensors or sizes that differ, IndexError for the dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    axis = one_dim(dim, tensors[0].ndim + 1)
    if _are_alike(tensors):
        return _stacked(tensors, axis)
    for i, one in enumerate(tensors):
        if one.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(one.shape)} at entry {i}"
            )
    return contiguous(np.stack(common(tensors), axis=axis))


def _stacked(tensors: Arrays, axis: int) -> Array:
    """Arrays of one shape and dtype, along a new axis, row-major."""
    shape = tensors[0].shape
    result = np.empty((*shape[:axis], len(tensors), *shape[axis:]), tensors[0].dtype)
    np.concatenate([t.reshape(*shape[:axis], 1, *shape[axis:]) for t in tensors], axis, result)
    return result


def lined_up(name: str, shaped: Callable[[Array], Array], dim: int) -> Callable[[Arrays], Array]:
    """The kernel that shapes each tensor and joins them along `dim`."""

    def kernel(tensors: Arrays) -> Array:
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        shaped_ones = [shaped(t) for t in tensors]
        return cat_kernel(shaped_ones, 0 if name == "hstack" and shaped_ones[0].ndim == 1 else dim)

    return kernel


def column(array: Array) -> Array:
    """0-dim and 1-dim arrays as columns."""
    return array.reshape(-1, 1) if array.ndim <= 1 else array


def block_diag_kernel(tensors: Arrays) -> Array:
    """Matrices along the diagonal, zeros elsewhere; vectors are rows."""
    for i, one in enumerate(tensors):
        if one.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {one.ndim} dimensions"
            )
    blocks = [np.atleast_2d(t) for t in common(tensors)]
    result = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), blocks[0].dtype)
    row = col = 0
    for block in blocks:
        result[row : row + block.shape[0], col : col + block.shape[1]] = block
        row, col = row + block.shape[0], col + block.shape[1]
    return result


def require_vector(array: Array) -> None:
    """Raise RuntimeError unless it has one dimension."""
    if array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(array.shape)}")


def cartesian_prod_kernel(tensors: Arrays) -> Array:
    """Every choice of one element from each vector, a row each; of one vector, itself."""
    for one in tensors:
        require_vector(one)
    if len(tensors) == 1:
        return tensors[0].copy()
    grids = np.meshgrid(*common(tensors), indexing="ij")
    return np.stack([g.reshape(-1) for g in grids], axis=1)


def combinations_kernel(self: Array, r: int = 2, with_replacement: bool = False) -> Array:
    """Every choice of `r` elements in order, a row each."""
    require_vector(self)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    choose = combinations_with_replacement if with_replacement else combinations
    chosen = list(choose(range(self.size), r))
    if r == 0 or not chosen:
        return np.empty((0,) if r == 0 else (0, r), self.dtype)
    return self[np.array(chosen, np.int64)]


def broadcast_tensors_kernel(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Views with the common shape. Raises RuntimeError when there is none."""
    shape = broadcast(*(t._array.shape for t in tensors))
    return [expanded(t, shape) for t in tensors]


def expanded(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A view of `tensor` with `shape`, to which it broadcasts."""
    sizes, strides = expand(tuple(tensor.shape), tuple(tensor.stride()), shape)
    return view_of(tensor, sizes, strides)


def meshgrid_kernel(tensors: Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    """Views whose every element is a coordinate. Raises RuntimeError for matrices, mixed dtypes or an unknown
    indexing.
    """
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for one in tensors:
        if one.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                + " ".join(f" {s}" for s in one._array.reshape(-1)[:2])
            )
        if one.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    order = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        order[0], order[1] = 1, 0
    shape = tuple(tensors[i]._array.size for i in order)
    grids = []
    for i, one in enumerate(tensors):
        lined = [1] * len(shape)
        lined[order.index(i)] = shape[order.index(i)]
        strides = view_strides(tuple(one.shape), one.stride(), lined)
        grids.append(view_of(one, *expand(lined, strides or (), shape)))
    return grids


def list_dtype(tensors: Any) -> DType | None:
    """The common dtype, where all are known."""
    types = ranks.elements_of(tensors)
    if isinstance(tensors, ListType):
        return types[0].dtype if types else None
    return common_dtype(types) if types else None


def cat_shape(tensors: Any, dim: Any = 0) -> Sizes | None:
    """Sizes add up along `dim`. A vector among others is one that has no elements, and is skipped."""
    sizes = list_sizes(tensors)
    if sizes is None or dim is UNKNOWN:
        return None
    rank = max(map(len, sizes))
    sizes = [s for s in sizes if s != (0,) and len(s) == rank] or sizes[:1]
    if isinstance(tensors, ListType):
        return ranks.with_dim(sizes[0], dim, None)
    along = one_dim(dim, rank)
    return ranks.with_dim(sizes[0], dim, _added([s[along] for s in sizes]))


def _added(sizes: Sequence[int | None]) -> int | None:
    """The sum of sizes; None if one of them is not known."""
    known = [size for size in sizes if size is not None and size >= 0]
    return sum(known) if len(known) == len(sizes) else None


def stack_shape(tensors: Any, dim: Any = 0) -> Sizes | None:
    """A new dimension of as many entries as tensors."""
    sizes = list_sizes(tensors)
    if sizes is None or dim is UNKNOWN:
        return None
    axis = one_dim(dim, len(sizes[0]) + 1)
    count = None if isinstance(tensors, ListType) else len(sizes)
    return (*sizes[0][:axis], count, *sizes[0][axis:])


def list_sizes(tensors: Any) -> list[Sizes] | None:
    """The sizes of every tensor of a list; None if some rank is not known."""
    sizes = [t.sizes for t in ranks.elements_of(tensors) if t.sizes is not None]
    return sizes if sizes and len(sizes) == len(ranks.elements_of(tensors)) else None


def largest_rank(least: int) -> Callable[[Any], Sizes | None]:
    """The rule for as many dimensions as the tensors have, but not fewer than `least`."""

    def rule(tensors: Any) -> Sizes | None:
        sizes = list_sizes(tensors)
        return None if sizes is None else ranks.of_rank(max(least, *map(len, sizes)))

    return rule


def _grid_shape(tensors: Any) -> Sizes | None:
    return None if isinstance(tensors, ListType) else ranks.as_long_as(tensors)


def _first_dtype(tensors: Any) -> DType | None:
    types = ranks.elements_of(tensors)
    return types[0].dtype if types else None


def _same_dtype(tensors: Any) -> DType | None:
    dtypes = {t.dtype for t in ranks.elements_of(tensors)}
    return dtypes.pop() if len(dtypes) == 1 else None


def _choices_shape(r: Any) -> Sizes | None:
    return None if not isinstance(r, int) else (None, r) if r else (0,)


def _product_shape(tensors: Any) -> Sizes | None:
    """A row for each choice; of one vector, itself."""
    if not isinstance(tensors, list | tuple):
        return None
    return (None,) if len(tensors) == 1 else (None, len(tensors))


def cat_samples() -> Iterable[Sample]:
    """Each dimension, one tensor, mixed dtypes, and the empty vector that joins anything."""
    yield Sample(args=([ramp(2, 3), ramp(1, 3)],))
    yield Sample(args=([ramp(2, 3), ramp(2, 1)], -1))
    yield Sample(args=([ramp(2, 3), wrap(np.ones((2, 3), np.int64))], 0), note="mixed dtypes")
    yield Sample(args=([ramp(2, 3)],), note="one")
    yield Sample(args=([ramp(0), ramp(2, 3)],), note="the empty vector is skipped")


def cat_errors() -> Iterable[ErrorSample]:
    """Sizes that do not match, and nothing to join."""
    yield ErrorSample(
        args=([ramp(2, 3), ramp(2, 4)],),
        error=RuntimeError,
        message="Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1",
    )
    yield ErrorSample(args=([],), error=ValueError, message="expected a non-empty list of Tensors")


def stack_errors() -> Iterable[ErrorSample]:
    """Sizes that differ, and nothing to stack."""
    yield ErrorSample(
        args=([ramp(2), ramp(3)],),
        error=RuntimeError,
        message="stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1",
    )
    yield ErrorSample(args=([],), error=RuntimeError, message="stack expects a non-empty TensorList")


for _name in ("cat", "concat", "concatenate"):
    declare(
        f"aten::{_name}(Tensor[] tensors, int dim=0) -> Tensor",
        outs=("out",),
        kernel=cat_kernel,
        traits=Traits(out_apart=True),
        doc="The tensors one after the other along `dim`." if _name == "cat" else "",
        dtype=list_dtype,
        shape=cat_shape,
        samples=cat_samples,
        errors=cat_errors,
        is_method=False,
    )

declare(
    "aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
    outs=("out",),
    kernel=stack_kernel,
    traits=Traits(out_apart=True),
    doc="Tensors of one shape, along a new dimension `dim`.",
    dtype=list_dtype,
    shape=stack_shape,
    samples=lambda: [Sample(args=([ramp(2, 3), ramp(2, 3)], d)) for d in (0, 1, -1)],
    errors=stack_errors,
    reference=lambda tensors, dim=0: np.stack(tensors, dim),
    is_method=False,
)

for _name, _shaped, _dim, _doc in (
    ("hstack", np.atleast_1d, 1, "Side by side: along the second dimension, vectors along the first."),
    ("vstack", np.atleast_2d, 0, "On top of each other: along the first dimension, vectors as rows."),
    ("row_stack", np.atleast_2d, 0, ""),
    ("dstack", np.atleast_3d, 2, "Behind each other: along the third dimension."),
    ("column_stack", column, 1, "Side by side, vectors as columns."),
):
    declare(
        f"aten::{_name}(Tensor[] tensors) -> Tensor",
        outs=("out",),
        traits=Traits(out_apart=True),
        kernel=lined_up("vstack" if _name == "row_stack" else _name, _shaped, _dim),
        doc=_doc,
        dtype=list_dtype,
        shape=largest_rank({"hstack": 1, "dstack": 3}.get(_name, 2)),
        samples=lambda: [Sample(args=([ramp(2), ramp(2)],)), Sample(args=([ramp(2, 3), ramp(2, 3)],))],
        is_method=False,
    )

declare(
    "aten::block_diag(Tensor[] tensors) -> Tensor",
    outs=("out",),
    kernel=block_diag_kernel,
    doc="Matrices along the diagonal of a matrix of zeros.",
    dtype=list_dtype,
    shape=ranks.matrix,
    samples=lambda: [Sample(args=([ramp(2, 3), ramp(2), ramp()],))],
    is_method=False,
)

declare(
    "aten::cartesian_prod(Tensor[] tensors) -> Tensor",
    kernel=cartesian_prod_kernel,
    dtype=list_dtype,
    shape=_product_shape,
    doc="Every choice of one element from each vector, a row each.",
    samples=lambda: [Sample(args=([ramp(2), ramp(3)],))],
    is_method=False,
)

declare(
    "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    kernel=combinations_kernel,
    dtype=same_dtype,
    shape=_choices_shape,
    doc="Every choice of `r` elements of a vector, a row each.",
    samples=lambda: [Sample(args=(ramp(4),)), Sample(args=(ramp(3), 2, True))],
)

declare(
    "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]",
    kernel=broadcast_tensors_kernel,
    dtype=_same_dtype,
    shape=largest_rank(0),
    family="view",
    doc="Views of all tensors with their common shape.",
    samples=lambda: [Sample(args=([ramp(2, 1), ramp(3)],))],
    is_method=False,
    on_tensors=True,
)

declare(
    "aten::meshgrid(Tensor[] tensors) -> Tensor[]",
    "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
    kernel=meshgrid_kernel,
    dtype=_first_dtype,
    shape=_grid_shape,
    family="view",
    doc="Views that hold the coordinates of a grid; `indexing` is 'ij' or 'xy'.",
    samples=lambda: [Sample(args=([ramp(2), ramp(3)],))],
    is_method=False,
    on_tensors=True,
)
