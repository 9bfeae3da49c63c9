"""Elements that integers and masks name, as `index`, `index_put`, `gather` and their like: what plans have in the place
of `take`, `masked_select`, `index_fill`, `put`, `take_along_dim`, `masked_scatter`, `isin` and `repeat_interleave`.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

import math
from functools import partial, reduce
from typing import Any

from flambeau.ops.families.expansion_tables import expansions
from flambeau.schema.dtype import bool_, float32, float64, int32, int64

_INDEXES = (int32, int64)
_LARGEST: dict[Any, float] = {float32: 3.4e38, float64: math.inf}
"""Numbers up to these a dtype takes as they are, or rounded."""


def is_axis(x: Any, dim: Any) -> bool:
    """Whether a number is known and an axis of a tensor."""
    return type(dim) is int and -x.ndim <= dim < x.ndim


def _is_exact(x: Any, value: Any) -> bool:
    """Whether a number is one that a tensor surely takes."""
    if isinstance(value, bool) or x.dtype is bool_:
        return isinstance(value, bool) and x.dtype is bool_
    if x.dtype in _LARGEST:
        return isinstance(value, int | float) and (not math.isfinite(value) or abs(value) <= _LARGEST[x.dtype])
    return x.dtype in _INDEXES and type(value) is int and abs(value) < 1 << 31


def _is_known(size: Any) -> bool:
    """Whether it is known of a size whether it is 1."""
    return isinstance(size == 1, bool)


def common_sizes(F: Any, *tensors: Any) -> list[Any]:
    """The sizes of several tensors broadcast together."""
    rank = max(t.ndim for t in tensors)
    columns = zip(*([1] * (rank - t.ndim) + t.shape for t in tensors), strict=True)
    return [reduce(partial(_common, F), column) for column in columns]


def _common(F: Any, one: Any, other: Any) -> Any:
    """The size that two have together."""
    if not _is_known(one) or not _is_known(other):
        return F.broadcast_size(one, other)
    if one == 1:
        return other
    if other != 1:
        F.require(one == other)
    return one


@expansions("aten::take")
def _take(F: Any, x: Any, index: Any) -> Any:
    """Elements of all that there are, in order."""
    return F.index(F.reshape(x, [-1]), [index]) if index.dtype is int64 else None


@expansions("aten::masked_select")
def _masked_select(F: Any, x: Any, mask: Any) -> Any:
    """What a mask shows, after both are broadcast."""
    if mask.dtype is not bool_:
        return None
    sizes = common_sizes(F, x, mask) or [1]
    return F.index(F.expand(x, sizes), [F.expand(mask, sizes)])


@expansions("aten::index_fill")
def _index_fill(F: Any, x: Any, dim: Any, index: Any, value: Any) -> Any:
    """Slices of one number, written where a vector says; negative places count from the end."""
    is_tensor = hasattr(value, "ndim")
    if not is_axis(x, dim) or index.ndim > 1 or index.dtype not in _INDEXES:
        return None
    if (value.ndim or value.dtype is not x.dtype) if is_tensor else not _is_exact(x, value):
        return None
    axis = dim % x.ndim
    sizes = x.shape
    indices = F.to(F.reshape(index, [-1]), int64)
    indices = F.where(F.lt(indices, 0), F.add(indices, sizes[axis]), indices)
    sizes[axis] = indices.shape[0]
    shown = [1] * x.ndim
    slices = F.reshape(value, shown) if is_tensor else F.full(shown, value, dtype=x.dtype)
    return F.index_copy_(F.clone(x), axis, indices, F.expand(slices, sizes))


@expansions("aten::put")
def _put(F: Any, x: Any, index: Any, source: Any, accumulate: Any = False) -> Any:
    """Elements by their number in order, as one place along each axis."""
    if not x.ndim or index.dtype is not int64 or source.dtype is not x.dtype or not isinstance(accumulate, bool):
        return None
    count, at = x.numel(), F.reshape(index, [-1])
    F.require(index.numel() == source.numel())
    F.require(F.holds(F.all(F.logical_and(F.ge(at, -count), F.lt(at, count)))))
    at = F.where(F.lt(at, 0), F.add(at, count), at)
    indices = []
    for size in reversed(x.shape):
        indices.append(F.remainder(at, size))
        at = F.div(at, size, rounding_mode="floor")
    return F.index_put_(F.clone(x), indices[::-1], F.reshape(source, [-1]), accumulate)


@expansions("aten::take_along_dim")
def _take_along_dim(F: Any, x: Any, index: Any, dim: Any = None) -> Any:
    """`gather` of operands that are broadcast; along an axis, negative places count from the end."""
    if index.dtype is not int64 or (dim is not None and (not is_axis(x, dim) or index.ndim != x.ndim)):
        return None
    if dim is None:
        return F.gather(F.reshape(x, [-1]), 0, F.reshape(index, [-1]))
    axis = dim % x.ndim
    sizes, index_sizes = x.shape, index.shape
    count = sizes[axis]
    sizes[axis] = index_sizes[axis]
    for k, (one, other) in enumerate(zip(sizes, index_sizes, strict=True)):
        if k != axis:
            sizes[k] = _common(F, one, other)
    index_sizes = list(sizes)
    sizes[axis] = count
    F.require(F.holds(F.all(F.logical_and(F.ge(index, -count), F.lt(index, count)))))
    index = F.where(F.lt(index, 0), F.add(index, count), index)
    return F.gather(F.expand(x, sizes), axis, F.expand(index, index_sizes))


@expansions("aten::masked_scatter")
def _masked_scatter(F: Any, x: Any, mask: Any, source: Any) -> Any:
    """As many elements from the first on as a mask holds, written where it does."""
    if mask.dtype is not bool_ or source.dtype is not x.dtype or not x.ndim or x.dtype.is_complex:
        return None
    sizes = common_sizes(F, x, mask)
    shown = F.expand(mask, sizes)
    count = F.number(F.sum(shown))
    F.require(count <= source.numel())
    first = F.slice(F.reshape(source, [-1]), 0, 0, count, 1)
    return F.index_put_(F.clone(F.expand(x, sizes)), [shown], first)


@expansions("aten::isin")
def _isin(F: Any, elements: Any, tests: Any, assume_unique: Any = False, invert: Any = False) -> Any:
    """Whether what is found in order is the element itself; nan is not."""
    if not isinstance(invert, bool):
        return None
    one_of = _is_one_of(F, elements, tests)
    return F.logical_not(one_of) if one_of is not None and invert else one_of


def _is_one_of(F: Any, elements: Any, tests: Any) -> Any:
    tensors = [t for t in (elements, tests) if hasattr(t, "ndim")]
    if len({t.dtype for t in tensors}) > 1 or not all(t.dtype in (float32, float64, *_INDEXES) for t in tensors):
        return None
    if len(tensors) < 2:
        number = tests if hasattr(elements, "ndim") else elements
        if not _is_exact(tensors[0], number) or (tensors[0].dtype is float32 and float32.numpy.type(number) != number):
            return None
        return F.any(F.eq(tests, elements)) if tensors[0] is tests else F.eq(elements, tests)
    if not elements.ndim:
        return F.any(F.eq(tests, elements))
    ordered, _ = F.sort(F.reshape(tests, [-1]), 0)
    count = ordered.shape[0]

    def in_order() -> Any:
        at = F.clamp_max(F.searchsorted(ordered, elements), count - 1)
        return F.eq(F.index(ordered, [at]), elements)

    return F.either(count == 0, lambda: F.zeros(elements.shape, dtype=bool_), in_order)


@expansions("aten::repeat_interleave")
def _repeat_interleave(F: Any, x: Any, *arguments: Any) -> Any:
    """Slices that are shown several times, or of which numbers in order say how often."""
    if len(arguments) == 1:
        return None if arguments[0] is not None or x.ndim != 1 else _numbers_repeated(F, x)
    repeats, dim, size = arguments
    if size is not None or (dim is not None and not is_axis(x, dim)):
        return None
    if dim is None:
        x, dim = F.reshape(x, [-1]), 0
    axis = dim % x.ndim
    if hasattr(repeats, "ndim"):
        if repeats.ndim != 1 or repeats.dtype not in _INDEXES or repeats.shape[0] == 1:
            return None
        F.require(repeats.shape[0] == x.shape[axis])
        return F.index_select(x, axis, _numbers_repeated(F, repeats))
    F.require(repeats >= 0)
    shape = x.shape
    shown = F.expand(F.unsqueeze(x, axis + 1), [*shape[: axis + 1], repeats, *shape[axis + 1 :]])
    return F.reshape(shown, [*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]])


def _numbers_repeated(F: Any, repeats: Any) -> Any:
    """The numbers from 0 on, each as often as a vector says."""
    if repeats.dtype not in _INDEXES:
        return None
    F.require(F.holds(F.all(F.ge(repeats, 0))))
    ends = F.cumsum(F.to(repeats, int64), 0)
    total = F.number(F.sum(repeats))
    return F.to(F.searchsorted(ends, F.arange(total, dtype=int64), right=True), repeats.dtype)
