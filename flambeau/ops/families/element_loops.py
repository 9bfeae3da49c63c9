"""Loops over elements that NumPy has no quick way for: written in the language, compiled when there is enough to do.

A loop is a function of arrays and numbers whose text is Python's too, which is what it means.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

from flambeau.tensor.array_library import is_on_device, np
from flambeau.util.inversions import ELEMENT_LOOPS

LEAST: Final = 1 << 7
"""Elements from which compiled loops run: equal calls go the same way from the first on."""
FLOATS: Final = (np.dtype(np.float32), np.dtype(np.float64))


def loop_for(function: Callable[..., None], work: int) -> Callable[..., None] | None:
    """The native form of a loop, for calls with so many elements; None where NumPy is to do it.

    >>> loop_for(add_slices, 10) is None
    True
    """
    return ELEMENT_LOOPS.implementation(function) if work >= LEAST and not is_on_device() else None


def add_slices(
    target: np.ndarray,
    index: np.ndarray,
    source: np.ndarray,
    outer: int,
    inner: int,
) -> None:
    """target[i, index[k]] += source[i, k] of rows of `inner` elements, all arrays being flat."""
    rows, taken = len(target) // (outer * inner), len(index)
    for i in range(outer):
        for k in range(taken):
            to = (i * rows + index[k]) * inner
            at = (i * taken + k) * inner
            for j in range(inner):
                target[to + j] += source[at + j]


def add_elements(target: np.ndarray, index: np.ndarray, source: np.ndarray) -> None:
    """target[index[k]] += source[k] of flat arrays."""
    for k in range(len(index)):
        target[index[k]] += source[k]


def add_along_loop(
    target: np.ndarray,
    index: np.ndarray,
    source: np.ndarray,
    outer: int,
    inner: int,
) -> None:
    """target[i, index[i, k, j], j] += source[i, k, j] of flat arrays."""
    rows, taken = len(target) // (outer * inner), len(index) // (outer * inner)
    for i in range(outer):
        for k in range(taken):
            at = (i * taken + k) * inner
            for j in range(inner):
                target[(i * rows + index[at + j]) * inner + j] += source[at + j]


def add_along_rows(target: np.ndarray, index: np.ndarray, source: np.ndarray) -> None:
    """target[i, index[i, k]] += source[i, k]."""
    for i in range(len(index)):
        for k in range(index.shape[1]):
            target[i, index[i, k]] += source[i, k]


def put_along_loop(
    target: np.ndarray,
    index: np.ndarray,
    source: np.ndarray,
    outer: int,
    inner: int,
) -> None:
    """target[i, index[i, k, j], j] = source[i, k, j] of flat arrays."""
    rows, taken = len(target) // (outer * inner), len(index) // (outer * inner)
    for i in range(outer):
        for k in range(taken):
            at = (i * taken + k) * inner
            for j in range(inner):
                target[(i * rows + index[at + j]) * inner + j] = source[at + j]


def put_along_rows(target: np.ndarray, index: np.ndarray, source: np.ndarray) -> None:
    """target[i, index[i, k]] = source[i, k]."""
    for i in range(len(index)):
        for k in range(index.shape[1]):
            target[i, index[i, k]] = source[i, k]


def largest_along_loop(
    target: np.ndarray,
    index: np.ndarray,
    source: np.ndarray,
    outer: int,
    inner: int,
) -> None:
    """target[i, index[i, k, j], j] = max(that, source[i, k, j]) of flat arrays; nan counts as largest."""
    rows, taken = len(target) // (outer * inner), len(index) // (outer * inner)
    for i in range(outer):
        for k in range(taken):
            at = (i * taken + k) * inner
            for j in range(inner):
                to, one = (i * rows + index[at + j]) * inner + j, source[at + j]
                if one > target[to] or one != one:
                    target[to] = one


def smallest_along_loop(
    target: np.ndarray,
    index: np.ndarray,
    source: np.ndarray,
    outer: int,
    inner: int,
) -> None:
    """The same of the smallest; nan counts as smallest."""
    rows, taken = len(target) // (outer * inner), len(index) // (outer * inner)
    for i in range(outer):
        for k in range(taken):
            at = (i * taken + k) * inner
            for j in range(inner):
                to, one = (i * rows + index[at + j]) * inner + j, source[at + j]
                if one < target[to] or one != one:
                    target[to] = one


def add_along(target: np.ndarray[Any, Any], index: np.ndarray[Any, Any], source: Any, dim: int) -> bool:
    """`scatter_add` of places that are there by a native loop; whether it was done."""
    return _along(add_along_rows, add_along_loop, target, index, source, dim)


def put_along(target: np.ndarray[Any, Any], index: np.ndarray[Any, Any], source: Any, dim: int) -> bool:
    """`scatter` of places that are there by a native loop; whether it was done."""
    return _along(put_along_rows, put_along_loop, target, index, source, dim)


def fold_along(
    target: np.ndarray[Any, Any], index: np.ndarray[Any, Any], source: Any, dim: int, fold: np.ufunc
) -> bool:
    """`scatter_reduce` into places that are there by a native loop; whether there is one, and it was done."""
    if fold is np.add:
        return add_along(target, index, source, dim)
    loop = largest_along_loop if fold is np.maximum else smallest_along_loop if fold is np.minimum else None
    return loop is not None and _along(loop, loop, target, index, source, dim)


def _along(
    by_rows: Callable[..., None], by_parts: Callable[..., None], target: np.ndarray[Any, Any],
    index: np.ndarray[Any, Any], source: Any, dim: int,
) -> bool:  # fmt: skip
    if not _go_together(target, index, source, dim):
        return False
    outer, inner = prod(target.shape[:dim]), prod(target.shape[dim + 1 :])
    is_of_rows = inner == 1 and by_rows is not by_parts
    function = by_rows if is_of_rows else by_parts
    loop = loop_for(function, index.size)
    if loop is None or np.may_share_memory(target, source) or np.may_share_memory(target, index):
        return False
    read = np.ascontiguousarray(index, np.int64), np.ascontiguousarray(source)
    if is_of_rows:
        loop(*(one.reshape(outer, -1) for one in (target, *read)))
    else:
        loop(target.reshape(-1), *(one.reshape(-1) for one in read), outer, inner)
    return True


def _go_together(target: np.ndarray[Any, Any], index: np.ndarray[Any, Any], source: Any, dim: int) -> bool:
    """Whether loops take such arrays: floats of one dtype, whose sizes along the other dimensions are equal."""
    if target.dtype not in FLOATS or not target.flags.c_contiguous or source.dtype != target.dtype or not target.size:
        return False
    others = [one.shape[:dim] + one.shape[dim + 1 :] for one in (target, index)]
    return others[0] == others[1] and bool(source.shape == index.shape)


def places_of(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[int, Any, int, tuple[int, ...]] | None:
    """An index as (how many slices before it, positions among the slices, elements behind each, the shape of what it
    names): of arrays of integers for the first dimensions, or of one array behind whole dimensions. None for others,
    and for positions that are not there.
    """
    lead = 0
    while lead < len(index) and isinstance(index[lead], slice) and index[lead] == slice(None):
        lead += 1
    arrays = [np.asarray(one) for one in index[lead:]]
    if not arrays or (lead and len(arrays) > 1) or any(a.dtype.kind != "i" for a in arrays):
        return None
    positions: Any = 0
    for one, size in zip(arrays, shape[lead:], strict=False):
        least, most = (int(one.min()), int(one.max())) if one.size else (0, 0)
        if least < -size or most >= size:
            return None
        positions = positions * size + (np.where(one < 0, one + size, one) if least < 0 else one)
    end = lead + len(arrays)
    whole = (*shape[:lead], *positions.shape, *shape[end:])
    return prod(shape[:lead]), positions, prod(shape[end:]), whole


def add_rows_at(target: np.ndarray[Any, Any], index: Any, rows: np.ndarray[Any, Any]) -> bool:
    """`target[index] += rows` for a vector of places from 0 on that are known to be there, those named twice count
    twice, by a native loop; whether it was done."""
    if target.dtype not in FLOATS or not target.flags.c_contiguous or not rows.flags.c_contiguous:
        return False
    inner = prod(target.shape[1:])
    loop = loop_for(add_slices if inner > 1 else add_elements, rows.size)
    if loop is None:
        return False
    flat = np.ascontiguousarray(index, np.int64)
    loop(target.reshape(-1), flat, rows.reshape(-1), *((1, inner) if inner > 1 else ()))
    return True


def add_at(target: np.ndarray[Any, Any], index: Any, values: Any) -> bool:
    """`target[index] += values`, positions that are named twice count twice, by a native loop; whether it was done."""
    if target.dtype not in FLOATS or not target.flags.c_contiguous or not isinstance(values, np.ndarray):
        return False
    if values.dtype != target.dtype or values.size < LEAST:
        return False
    flat_places = places_of(index if isinstance(index, tuple) else (index,), target.shape)
    if flat_places is None:
        return False
    count, positions, inner, shape = flat_places
    loop = loop_for(add_slices if count * inner > 1 else add_elements, values.size)
    if loop is None:
        return False
    source = np.ascontiguousarray(np.broadcast_to(values, shape)).reshape(-1)
    flat = np.ascontiguousarray(positions, np.int64).reshape(-1)
    loop(target.reshape(-1), flat, source, *((count, inner) if count * inner > 1 else ()))
    return True
