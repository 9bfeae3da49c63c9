"""Folds of functions of two that are no operators: a loop over the elements, or over the lines along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static


def reduced(function: Any, identity: Static, a: Any, axis: Static = 0, keepdims: Static = False) -> Any:
    """What a function makes of the first two, then of that and the third, and so on: of nothing its identity. Raises
    ValueError for nothing where it has none.
    """
    if axis is None:
        return reduced(function, identity, a.reshape(-1), 0, keepdims)
    elif keepdims:
        return np.moveaxis(reduced(function, identity, np.moveaxis(a, axis, 0)[:, None], 0), 0, axis)
    else:
        lines = np.moveaxis(a, axis, 0)
        if len(lines) == 0:
            if identity is None:
                raise ValueError("zero-size array to reduction operation which has no identity")
            else:
                return np.full((1, *lines.shape[1:]), identity, dtype=a.dtype)[0]
        total = np.asarray(lines[0]).copy() if a.ndim > 1 else lines[0]
        for i in range(1, len(lines)):
            total = function(total, lines[i])
        return total


def accumulated(function: Any, a: Any, axis: Static = 0) -> Any:
    """All that `reduced` comes by on its way along an axis."""
    lines = np.moveaxis(a, axis, 0)
    totals = np.empty_like(lines)
    for i in range(len(lines)):
        totals[i] = lines[i] if i == 0 else function(totals[i - 1], lines[i])
    return np.moveaxis(totals, 0, axis)


def reduced_parts(function: Any, array: Any, indices: Any, axis: Static = 0) -> Any:
    """The folds of the parts of an array along an axis that begin at indices, each up to the next: one line where the
    next is not behind it. Raises IndexError for an index that is not there.
    """
    lines = np.moveaxis(array, axis, 0)
    begins = np.asarray(indices)
    totals = np.zeros((len(begins), *lines.shape[1:]), dtype=array.dtype)
    for k in range(len(begins)):
        begin, end = part(begins, k, len(lines))
        totals[k] = lines[begin]
        for i in range(begin + 1, end):
            totals[k] = function(totals[k], lines[i])
    return np.moveaxis(totals, 0, axis)


def summed_parts(function: Any, array: Any, indices: Any, axis: Static = 0) -> Any:
    """The sums of parts, whose elements are added as `np.sum` adds them."""
    if array.ndim == 1:
        begins = np.asarray(indices)
        totals = np.zeros(len(begins), dtype=array.dtype)
        for k in range(len(begins)):
            begin, end = part(begins, k, len(array))
            totals[k] = array[begin]
            if end > begin + 1:
                totals[k] += array[begin + 1 : end].sum()
        return totals
    else:
        return reduced_parts(function, array, indices, axis)


def part(begins: Any, k: int, size: int) -> Any:
    """Where a part begins and ends. Raises IndexError for one that is not there."""
    begin = int(begins[k])
    if begin < 0 or begin >= size:
        raise IndexError(f"index {begin} out-of-bounds in reduceat [0, {size})")
    return begin, int(begins[k + 1]) if k + 1 < len(begins) else size
