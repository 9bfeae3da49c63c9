"""NumPy's functions of sorted elements: medians, quantiles, distinct elements."""

from __future__ import annotations

from typing import Any

import numpy as np


def median(a: Any, axis: Any = None) -> Any:
    """The middle of the elements, or the mean of the middle two; nan if there is one, or nothing."""
    if axis is None:
        return middle(np.sort(a.reshape(-1)) * 1.0)
    else:
        return middle(np.sort(np.moveaxis(a, axis, -1)) * 1.0)


def median_kept(a: Any, axis: Any = None) -> Any:
    """The median, with the axes it was taken along as axes of one element; of all axes, for up to three.

    Raises ValueError for all of more.
    """
    if axis is not None:
        lines = np.sort(np.moveaxis(a, axis, -1)) * 1.0
        return np.moveaxis(middle(lines[None])[..., None][0], -1, axis)
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


def quantile(a: Any, q: Any, axis: Any = None) -> Any:
    """The element that a fraction `q` of the others is below, between its neighbours by their distance."""
    if axis is None:
        x = np.sort(a.reshape(-1)) * 1.0
        if isinstance(q, np.ndarray | list):
            levels = np.asarray(q) * 1.0
            out = np.empty(len(levels), dtype=x.dtype)
            for i in range(len(levels)):
                out[i] = between(x, float(levels[i]))
            return out
        return between(x, float(q))
    else:
        return between(np.sort(np.moveaxis(a, axis, -1)) * 1.0, float(q))


def percentile(a: Any, q: Any, axis: Any = None) -> Any:
    """`quantile` in hundredths."""
    if isinstance(q, list):
        return quantile(a, np.asarray(q) / 100, axis)
    else:
        return quantile(a, q / 100, axis)


def between(x: Any, q: float) -> Any:
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
    part = position - low
    if x.ndim == 1:
        if np.isnan(x[last]):
            return x[last]
        distance = x[high] - x[low]
        return x[high] - distance * (1.0 - part) if part >= 0.5 else x[low] + distance * part
    else:
        above, below = x[..., high], x[..., low]
        value = above - (above - below) * (1.0 - part) if part >= 0.5 else below + (above - below) * part
        return np.where(np.isnan(x[..., last]), x[..., last], value)


def unique(ar: Any) -> Any:
    """The distinct elements in order; nans are one."""
    x = np.sort(ar.reshape(-1))
    out = np.empty_like(x)
    count = 0
    for i in range(len(x)):
        if i == 0 or (x[i] != x[i - 1] and not (x[i] != x[i] and x[i - 1] != x[i - 1])):
            out[count] = x[i]
            count += 1
    return out[:count].copy()


def unique_counts(ar: Any) -> Any:
    """The distinct elements in order, and how often each is there."""
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


def unique_inverse(ar: Any) -> Any:
    """The distinct elements in order, and for each element its position among them."""
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


def unique_index(ar: Any) -> Any:
    """The distinct elements in order, and where each is first."""
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


def unique_index_inverse(ar: Any) -> Any:
    """The distinct elements in order, where each is first, and for each element its position among them."""
    values, firsts = unique_index(ar)
    return values, firsts, unique_inverse(ar)[1]


def unique_index_counts(ar: Any) -> Any:
    """The distinct elements in order, where each is first, and how often it is there."""
    values, firsts = unique_index(ar)
    return values, firsts, unique_counts(ar)[1]


def unique_inverse_counts(ar: Any) -> Any:
    """The distinct elements in order, for each element its position among them, and how often each is there."""
    values, inverse = unique_inverse(ar)
    return values, inverse, unique_counts(ar)[1]


def unique_all(ar: Any) -> Any:
    """The distinct elements in order, where each is first, for each element its place, and how often each is there."""
    values, firsts = unique_index(ar)
    return values, firsts, unique_inverse(ar)[1], unique_counts(ar)[1]
