"""NumPy's functions of sorted elements: medians, quantiles, distinct elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.distinct_lines import unique_lines
from flambeau.frontend.library.static import Static


def median(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """The middle of the elements, or the mean of the middle two; nan if there is one, or nothing.

    Raises ValueError for `keepdims` of all of more than three axes.
    """
    if axis is not None:
        lines = np.sort(np.moveaxis(a, axis, -1)) * 1.0
        return np.moveaxis(middle(lines[None])[..., None][0], -1, axis) if keepdims else middle(lines)
    elif not keepdims:
        return middle(np.sort(a.reshape(-1)) * 1.0)
    elif a.ndim == 1:
        return middle(np.sort(a.reshape(1, -1)) * 1.0)
    elif a.ndim == 2:
        return middle(np.sort(a.reshape(1, 1, -1)) * 1.0)
    elif a.ndim == 3:
        return middle(np.sort(a.reshape(1, 1, 1, -1)) * 1.0)
    else:
        raise ValueError("np.median with keepdims takes axis= here for more than three axes")


def middle(x: Any) -> Any:
    """The median of elements that ascend along the last axis."""
    n = x.shape[-1]
    if x.ndim == 1:
        if n == 0 or np.isnan(x[n - 1]):
            return x.sum() * np.nan
        return (x[(n - 1) // 2] + x[n // 2]) * 0.5
    else:
        if n == 0:
            return x.sum(axis=-1) * np.nan
        both = (x[..., (n - 1) // 2] + x[..., n // 2]) * 0.5
        return np.where(np.isnan(x[..., n - 1]), x[..., n - 1], both)


def quantile(a: Any, q: Any, axis: Static = None, method: Static = "linear", keepdims: Static = False) -> Any:
    """The element that a fraction `q` of the others is below: between its neighbours by their distance, or one of them
    by the method `lower`, `higher` or `nearest`, or halfway, `midpoint`.

    Raises ValueError for other methods, and for `keepdims` of all axes.
    """
    x = np.sort(a.reshape(-1) if axis is None else np.moveaxis(a, axis, -1))
    if keepdims and axis is None:
        raise ValueError("np.quantile with keepdims takes axis= here")
    elif isinstance(q, np.ndarray | list):
        levels = np.asarray(q) * 1.0
        lines = as_numbers_between(x, np.ones(1, dtype=levels.dtype), method)
        out = np.empty((len(levels), *lines.shape[:-1]), dtype=lines.dtype)
        for i in range(len(levels)):
            out[i] = between(lines, float(levels[i]), method)
        return out
    elif keepdims:
        lines = as_numbers_between(x, 1.0, method)
        return np.moveaxis(between(lines[None], float(q), method)[..., None][0], -1, axis)
    else:
        return between(as_numbers_between(x, 1.0, method), float(q), method)


def percentile(a: Any, q: Any, axis: Static = None, method: Static = "linear", keepdims: Static = False) -> Any:
    """`quantile` in hundredths."""
    if isinstance(q, list):
        return quantile(a, np.asarray(q) / 100, axis, method, keepdims)
    else:
        return quantile(a, q / 100, axis, method, keepdims)


def as_numbers_between(x: Any, one: Any, method: Static) -> Any:
    """Elements of a dtype that has what lies between them and `one`, where the method gives that."""
    if method == "lower" or method == "higher" or method == "nearest":
        return x
    else:
        return x * one


def share_of(position: float, method: Static) -> float:
    """How much of the gap behind the element before a position counts. Raises ValueError for an unknown method."""
    part = position - int(position)
    if method == "linear":
        return part
    elif method == "lower":
        return 0.0
    elif method == "higher":
        return 0.0 if part == 0.0 else 1.0
    elif method == "midpoint":
        return 0.0 if part == 0.0 else 0.5
    elif method == "nearest":  # of two as near, the one whose place is even
        return 1.0 if part > 0.5 or (part == 0.5 and int(position) % 2 == 1) else 0.0
    else:
        raise ValueError("np.quantile takes the methods linear, lower, higher, midpoint and nearest here")


def between(x: Any, q: float, method: Static = "linear") -> Any:
    """The quantile of elements that ascend along the last axis. Raises ValueError for a fraction that is none, and
    IndexError for nothing.
    """
    if not 0.0 <= q <= 1.0:
        raise ValueError("Quantiles must be in the range [0, 1]")
    last = x.shape[-1] - 1
    if last < 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    position = q * last
    low = min(int(position), last)
    high = min(low + 1, last)
    part = share_of(position, method)
    if method == "lower" or method == "higher" or method == "nearest":
        index = high if part > 0.5 else low
        if x.ndim == 1:
            return x[last] if x[last] != x[last] else x[index]
        else:
            return np.where(x[..., last] != x[..., last], x[..., last], x[..., index])
    elif x.ndim == 1:
        if np.isnan(x[last]):
            return x[last]
        distance = x[high] - x[low]
        return x[high] - distance * (1.0 - part) if part >= 0.5 else x[low] + distance * part
    else:
        above, below = x[..., high], x[..., low]
        value = above - (above - below) * (1.0 - part) if part >= 0.5 else below + (above - below) * part
        return np.where(np.isnan(x[..., last]), x[..., last], value)


def partition(a: Any, kth: Any, axis: Static = -1) -> Any:
    """The elements in order, all of them: those before the places `kth` are not above those behind."""
    check_places(kth, a.size if axis is None else a.shape[axis])
    return np.sort(a.reshape(-1)) if axis is None else np.sort(a, axis=axis)


def argpartition(a: Any, kth: Any, axis: Static = -1) -> Any:
    """Where the elements are in order, all of them."""
    check_places(kth, a.size if axis is None else a.shape[axis])
    return np.argsort(a.reshape(-1)) if axis is None else np.argsort(a, axis=axis)


def check_places(kth: Any, size: int) -> None:
    """Raise ValueError for places that are not there."""
    for index in (kth,) if isinstance(kth, int) else kth:
        if index >= size or index < -size:
            raise ValueError(f"kth(={index}) out of bounds ({size})")


def unique(ar: Any, axis: Static = None) -> Any:
    """The distinct elements in order; nans are one."""
    if axis is not None:
        return unique_lines(ar, axis)[0]
    else:
        x = np.sort(ar.reshape(-1))
        out = np.empty_like(x)
        count = 0
        for i in range(len(x)):
            if i == 0 or (x[i] != x[i - 1] and not (x[i] != x[i] and x[i - 1] != x[i - 1])):
                out[count] = x[i]
                count += 1
        return out[:count].copy()


def unique_counts(ar: Any, axis: Static = None) -> Any:
    """The distinct elements in order, and how often each is there."""
    if axis is not None:
        parts = unique_lines(ar, axis)
        return parts[0], parts[3]
    else:
        values = unique(ar)
        return values, counts_of(np.sort(ar.reshape(-1)), len(values))


def counts_of(x: Any, count: int) -> Any:
    """How often each of so many distinct elements is among these, which ascend."""
    counts = np.zeros(count, dtype=np.int64)
    at = -1
    for i in range(len(x)):
        if i == 0 or (x[i] != x[i - 1] and not (x[i] != x[i] and x[i - 1] != x[i - 1])):
            at += 1
        counts[at] += 1
    return counts


def unique_inverse(ar: Any, axis: Static = None) -> Any:
    """The distinct elements in order, and for each element its position among them."""
    if axis is not None:
        parts = unique_lines(ar, axis)
        return parts[0], parts[2]
    else:
        flat = ar.reshape(-1)
        order = np.argsort(flat)
        x = flat[order]
        positions = np.zeros(len(x), dtype=np.int64)
        at = -1
        for i in range(len(x)):
            if i == 0 or (x[i] != x[i - 1] and not (x[i] != x[i] and x[i - 1] != x[i - 1])):
                at += 1
            positions[order[i]] = at
        return unique(ar), positions.reshape(ar.shape)


def unique_index(ar: Any, axis: Static = None) -> Any:
    """The distinct elements in order, and where each is first."""
    if axis is not None:
        parts = unique_lines(ar, axis)
        return parts[0], parts[1]
    else:
        flat = ar.reshape(-1)
        order = np.argsort(flat)
        x = flat[order]
        values = unique(ar)
        firsts = np.zeros(len(values), dtype=np.int64)
        at = -1
        for i in range(len(x)):
            if i == 0 or (x[i] != x[i - 1] and not (x[i] != x[i] and x[i - 1] != x[i - 1])):
                at += 1
                firsts[at] = order[i]
        return values, firsts


def unique_index_inverse(ar: Any, axis: Static = None) -> Any:
    """The distinct elements in order, where each is first, and for each element its position among them."""
    if axis is not None:
        parts = unique_lines(ar, axis)
        return parts[0], parts[1], parts[2]
    else:
        values, firsts = unique_index(ar)
        return values, firsts, unique_inverse(ar)[1]


def unique_index_counts(ar: Any, axis: Static = None) -> Any:
    """The distinct elements in order, where each is first, and how often it is there."""
    if axis is not None:
        parts = unique_lines(ar, axis)
        return parts[0], parts[1], parts[3]
    else:
        values, firsts = unique_index(ar)
        return values, firsts, unique_counts(ar)[1]


def unique_inverse_counts(ar: Any, axis: Static = None) -> Any:
    """The distinct elements in order, for each element its position among them, and how often each is there."""
    if axis is not None:
        parts = unique_lines(ar, axis)
        return parts[0], parts[2], parts[3]
    else:
        values, inverse = unique_inverse(ar)
        return values, inverse, unique_counts(ar)[1]


def unique_all(ar: Any, axis: Static = None) -> Any:
    """The distinct elements in order, where each is first, for each element its place, and how often each is there."""
    if axis is not None:
        parts = unique_lines(ar, axis)
        return parts[0], parts[1], parts[2], parts[3]
    else:
        values, firsts = unique_index(ar)
        return values, firsts, unique_inverse(ar)[1], unique_counts(ar)[1]
