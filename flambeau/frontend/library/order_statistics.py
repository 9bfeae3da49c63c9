"""NumPy's functions of sorted elements: medians, quantiles, distinct elements."""

from __future__ import annotations

from typing import Any

import numpy as np


def median(a: Any) -> Any:
    """The middle of the elements, or the mean of the middle two; nan if there is one, or nothing."""
    x = np.sort(a.reshape(-1)) * 1.0
    n = len(x)
    if n == 0 or np.isnan(x[n - 1]):
        return x.sum() * np.nan
    return (x[(n - 1) // 2] + x[n // 2]) * 0.5


def quantile(a: Any, q: Any) -> Any:
    """The element that a fraction `q` of the others is below, between its neighbours by their distance."""
    x = np.sort(a.reshape(-1)) * 1.0
    if isinstance(q, np.ndarray):
        places = q * 1.0
        out = np.empty(len(places), dtype=x.dtype)
        for i in range(len(places)):
            out[i] = between(x, float(places[i]))
        return out
    return between(x, float(q))


def percentile(a: Any, q: Any) -> Any:
    """`quantile` in hundredths."""
    return quantile(a, q / 100)


def between(x: Any, q: float) -> Any:
    """The quantile of sorted elements. Raises ValueError for a fraction that is none, IndexError for nothing."""
    if not 0.0 <= q <= 1.0:
        raise ValueError("Quantiles must be in the range [0, 1]")
    last = len(x) - 1
    if last < 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if np.isnan(x[last]):
        return x[last]
    place = q * last
    low = min(int(place), last)
    high = min(low + 1, last)
    part = place - low
    distance = x[high] - x[low]
    return x[high] - distance * (1.0 - part) if part >= 0.5 else x[low] + distance * part


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
