"""Joins, parts, repetitions and turns as `cat`, slices, `repeat` and `flip`: what plans have in their place."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

from flambeau.ops.derivatives.view_formulas import meshgrid
from flambeau.ops.families.expansion_tables import expansions
from flambeau.ops.index_expansions import common_sizes
from flambeau.schema.dtype import bool_


@expansions("aten::concat", "aten::concatenate")
def _concat(F: Any, tensors: Any, dim: Any = 0) -> Any:
    """Another name of `cat`."""
    return F.cat(tensors, dim)


def _at_least(rank: int, F: Any, x: Any) -> Any:
    """With as many axes: one in front of a vector, those that a matrix lacks behind it."""
    if x.ndim >= rank:
        return x
    if x.ndim == 0:
        return F.reshape(x, [1] * rank)
    shown = F.unsqueeze(x, 0) if x.ndim == 1 else x
    return F.unsqueeze(shown, -1) if rank == 3 else shown


def _with_axes(rank: int, F: Any, x: Any) -> Any:
    """One tensor; each of several stays with its operator."""
    return None if isinstance(x, Sequence) else _at_least(rank, F, x)


for _rank in (1, 2, 3):
    expansions(f"aten::atleast_{_rank}d")(partial(_with_axes, _rank))


def _stacked(rank: int, F: Any, tensors: Any) -> Any:
    """Side by side along the second axis of vectors and more, one above the other, or one behind the other."""
    parts = [_at_least(rank, F, t) for t in tensors]
    if not parts:
        return None
    axis = {1: min(parts[0].ndim - 1, 1), 2: 0, 3: 2}[rank]
    return F.cat(parts, axis)


for _rank, _names in ((1, "hstack"), (2, "vstack row_stack"), (3, "dstack")):
    for _name in _names.split():
        expansions(f"aten::{_name}")(partial(_stacked, _rank))


@expansions("aten::column_stack")
def _column_stack(F: Any, tensors: Any) -> Any:
    """Vectors as columns."""
    columns = [F.reshape(t, [-1, 1]) if t.ndim < 2 else t for t in tensors]
    return F.cat(columns, 1) if columns else None


@expansions("aten::tile")
def _tile(F: Any, x: Any, dims: Any) -> Any:
    """Copies along the last axes."""
    if not isinstance(dims, list | tuple):
        return None
    return F.repeat(x, [1] * (x.ndim - len(dims)) + list(dims))


@expansions("aten::flipud")
def _flipud(F: Any, x: Any) -> Any:
    """Rows from the last to the first."""
    return F.flip(x, [0]) if x.ndim else None


@expansions("aten::fliplr")
def _fliplr(F: Any, x: Any) -> Any:
    """Columns from the last to the first."""
    return F.flip(x, [1]) if x.ndim > 1 else None


@expansions("aten::tensor_split")
def _tensor_split(F: Any, x: Any, sections: Any, dim: Any = 0) -> Any:
    """Sections that end at known indices, or a known number of parts as equal as they can be."""
    if type(dim) is not int or not -x.ndim <= dim < x.ndim:
        return None
    size = x.shape[dim]
    if isinstance(sections, list | tuple) and all(type(p) is int for p in sections):
        starts, ends = [0, *sections], [*sections, size]
    elif type(sections) is int and sections > 0:
        each, left = size // sections, size % sections
        edges = [each * k + F.minimum(left, k) for k in range(sections + 1)]
        starts, ends = edges[:-1], edges[1:]
    else:
        return None
    return [F.slice(x, dim, start, end, 1) for start, end in zip(starts, ends, strict=True)]


def _split_along(dim: int, F: Any, x: Any, sections: Any) -> Any:
    """The parts along one axis; a number of parts divides it."""
    axis = 0 if dim == 1 and x.ndim == 1 else dim
    if axis >= x.ndim or (type(sections) is int and sections < 1):
        return None
    if type(sections) is int:
        F.require(x.shape[axis] % sections == 0)
    return _tensor_split(F, x, sections, axis)


for _dim, _name in enumerate(("vsplit", "hsplit", "dsplit")):
    expansions(f"aten::{_name}")(partial(_split_along, _dim))


@expansions("aten::channel_shuffle")
def _channel_shuffle(F: Any, x: Any, groups: Any) -> Any:
    """The first channels of all groups, then the second ones, and so on."""
    if x.ndim < 3 or type(groups) is not int or groups < 1:
        return None
    batch, channels, *rest = x.shape
    F.require(channels % groups == 0)
    grouped = F.reshape(x, [batch, groups, channels // groups, *rest])
    return F.reshape(F.contiguous(F.transpose(grouped, 1, 2)), [batch, channels, *rest])


@expansions("aten::rot90")
def _rot90(F: Any, x: Any, k: Any = 1, dims: Any = (0, 1)) -> Any:
    """Turns by a known number of right angles from the first axis to the second."""
    axes = [d % x.ndim for d in dims if type(d) is int and -x.ndim <= d < x.ndim] if x.ndim > 1 else []
    if type(k) is not int or len(axes) != 2 or len(dims) != 2 or axes[0] == axes[1]:
        return None
    if k % 2 == 0:
        return F.flip(x, axes) if k % 4 else F.clone(x, memory_format=0)
    return F.transpose(F.flip(x, [axes[1] if k % 4 == 1 else axes[0]]), *axes)


@expansions("aten::nonzero_numpy")
def _nonzero_numpy(F: Any, x: Any) -> Any:
    """The indexes of what is not zero, an axis a tensor."""
    if not x.ndim:
        return None
    indexes = F.nonzero(x)
    return [F.select(indexes, 1, axis) for axis in range(x.ndim)]


@expansions("aten::diagflat")
def _diagflat(F: Any, x: Any, offset: Any = 0) -> Any:
    """All elements on a diagonal."""
    return F.diag(F.reshape(x, [-1]), offset)


@expansions("aten::broadcast_tensors")
def _broadcast_tensors(F: Any, tensors: Any) -> Any:
    """Each seen in the sizes that all have together."""
    if not isinstance(tensors, list | tuple) or not tensors:
        return None
    sizes = common_sizes(F, *tensors)
    return [F.expand(t, sizes) for t in tensors]


@expansions("aten::block_diag")
def _block_diag(F: Any, tensors: Any) -> Any:
    """Rows with zeros on both sides."""
    is_plain = isinstance(tensors, list | tuple) and tensors and all(t.ndim <= 2 for t in tensors)
    if not is_plain or len({t.dtype for t in tensors}) > 1:
        return None
    blocks = [_at_least(2, F, t) for t in tensors]
    widths = [block.shape[1] for block in blocks]
    rows, left, right = [], 0, reduce(operator.add, widths)
    for block, width in zip(blocks, widths, strict=True):
        right = right - width
        rows.append(F.constant_pad_nd(block, [left, right], 0))
        left = left + width
    return F.cat(rows, 0)


@expansions("aten::cartesian_prod")
def _cartesian_prod(F: Any, tensors: Any) -> Any:
    """A grid's coordinates, side by side."""
    if not isinstance(tensors, list | tuple) or len(tensors) < 2 or any(t.ndim != 1 for t in tensors):
        return None
    if len({t.dtype for t in tensors}) > 1:
        return None
    return F.stack([F.reshape(grid, [-1]) for grid in meshgrid(F, tensors)], 1)


@expansions("aten::combinations")
def _combinations(F: Any, x: Any, r: Any = 2, with_replacement: Any = False) -> Any:
    """Single elements, or pairs where a triangle says so."""
    if x.ndim != 1 or type(r) is not int or r not in (1, 2) or not isinstance(with_replacement, bool):
        return None
    if r == 1:
        return F.clone(F.unsqueeze(x, 1))
    size = x.shape[0]
    pairs = F.nonzero(F.triu(F.ones([size, size], dtype=bool_), 0 if with_replacement else 1))
    return F.index(x, [F.contiguous(pairs)])


def _copied(view: str, F: Any, x: Any, *arguments: Any) -> Any:
    """What a view shows, in memory of its own."""
    body = expansions.get(f"aten::{view}")
    shown = getattr(F, view)(x, *arguments) if body is None else body(F, x, *arguments)
    return None if shown is None else F.clone(shown, memory_format=0)


for _name in (
    "alias", "detach", "diagonal", "narrow", "permute", "select", "slice", "squeeze", "t", "transpose", "unfold",
    "unsqueeze", "view",
):  # fmt: skip
    expansions(f"aten::{_name}_copy")(partial(_copied, _name))


@expansions("aten::expand_copy")
def _expand_copy(F: Any, x: Any, sizes: Any, implicit: Any = False) -> Any:
    """`expand_copy`: a copy of the tensor broadcast to the sizes."""
    return F.clone(F.alias(F.expand(x, sizes)), memory_format=0)


@expansions("aten::pad_sequence")
def _pad_sequence(F: Any, tensors: Any, batch_first: Any = False, value: Any = 0.0, side: Any = "right") -> Any:
    """Side by side, the shorter ones filled up."""
    if not tensors or not isinstance(batch_first, bool) or side not in ("left", "right"):
        return None
    rank = tensors[0].ndim
    if not rank or any(t.ndim != rank for t in tensors):
        return None
    lengths = [t.shape[0] for t in tensors]
    longest = reduce(F.maximum, lengths)
    padded = []
    for tensor, length in zip(tensors, lengths, strict=True):
        missing = longest - length
        borders = [0, missing] if side == "right" else [missing, 0]
        padded.append(F.constant_pad_nd(tensor, [0, 0] * (rank - 1) + borders, value))
    return F.stack(padded, 0 if batch_first else 1)
