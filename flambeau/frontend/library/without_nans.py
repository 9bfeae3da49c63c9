"""NumPy's folds that leave nans out."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static

ALL_NANS = "All-NaN slice encountered"


def nansum(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """The sum of the others."""
    return np.sum(zeroed(a), axis=axis, keepdims=keepdims)


def nanprod(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """The product of the others."""
    return np.prod(np.where(np.isnan(a), 1, a).astype(a.dtype), axis=axis, keepdims=keepdims)


def nanmean(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """The mean of the others; nan if there is none."""
    x = a * 1.0
    return np.sum(zeroed(x), axis=axis, keepdims=keepdims) / count_of(x, axis, keepdims)


def nanvar(a: Any, axis: Static = None, ddof: Static = 0, keepdims: Static = False) -> Any:
    """The variance of the others, with `ddof` less than their count below; nan if there are not more."""
    x = a * 1.0
    apart = x - np.sum(zeroed(x), axis=axis, keepdims=True) / count_of(x, axis, True)
    apart = np.where(np.isnan(x), 0, apart).astype(x.dtype)
    free = count_of(x, axis, keepdims) - ddof
    total = np.sum(apart * apart, axis=axis, keepdims=keepdims)
    if axis is None and not keepdims:
        return total / free if free > 0 else total * np.nan
    else:
        return np.where(free > 0, total / free, np.nan).astype(x.dtype)


def nanstd(a: Any, axis: Static = None, ddof: Static = 0, keepdims: Static = False) -> Any:
    """The standard deviation of the others, as `nanvar` counts them."""
    return np.sqrt(nanvar(a, axis, ddof, keepdims))


def nanmax(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """The largest of the others; nan if there is none."""
    return extreme(np.max, -np.inf, a, axis, keepdims)


def nanmin(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """The smallest of the others; nan if there is none."""
    return extreme(np.min, np.inf, a, axis, keepdims)


def extreme(fold: Any, neutral: float, a: Any, axis: Static, keepdims: Static) -> Any:
    """What a fold, to which one number is neutral, gives of the others."""
    if (a * 1.0).dtype != a.dtype:  # whole numbers
        return fold(a, axis=axis, keepdims=keepdims)
    elif axis is None and not keepdims:
        x = present(a)
        return fold(x) if len(x) > 0 or a.size == 0 else fold(a)
    elif a.ndim == 1 and not keepdims:
        x = present(a)
        return fold(x, axis=axis) if len(x) > 0 or a.size == 0 else fold(a, axis=axis)
    else:
        none = np.all(np.isnan(a), axis=axis, keepdims=keepdims)
        most = fold(np.where(np.isnan(a), neutral, a).astype(a.dtype), axis=axis, keepdims=keepdims)
        return np.where(none, np.nan, most).astype(a.dtype)


def nanargmax(a: Any, axis: Static = None) -> Any:
    """Where the largest of the others is first. Raises ValueError if there is none."""
    if np.any(np.all(np.isnan(a), axis=axis)):
        raise ValueError(ALL_NANS)
    return np.argmax(np.where(np.isnan(a), -np.inf, a), axis=axis)


def nanargmin(a: Any, axis: Static = None) -> Any:
    """Where the smallest of the others is first. Raises ValueError if there is none."""
    if np.any(np.all(np.isnan(a), axis=axis)):
        raise ValueError(ALL_NANS)
    return np.argmin(np.where(np.isnan(a), np.inf, a), axis=axis)


def nancumsum(a: Any, axis: Static = None) -> Any:
    """The running sums, a nan being 0: of all elements in their order, or along an axis."""
    return np.cumsum(zeroed(a), axis=axis)


def nancumprod(a: Any, axis: Static = None) -> Any:
    """The running products, a nan being 1: of all elements in their order, or along an axis."""
    return np.cumprod(np.where(np.isnan(a), 1, a).astype(a.dtype), axis=axis)


def nanmedian(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """The median of the others; nan if there is none. Raises ValueError for `keepdims` of all axes."""
    if axis is None:
        if keepdims:
            raise ValueError("np.nanmedian with keepdims takes axis= here")
        else:
            return np.median(present(a))
    else:
        x = np.sort(np.moveaxis(a, axis, -1)) * 1.0
        count = np.sum(~np.isnan(x), axis=-1, keepdims=True)
        below = np.take_along_axis(x, np.maximum((count - 1) // 2, 0), axis=-1)
        above = np.take_along_axis(x, np.minimum(count // 2, x.shape[-1] - 1), axis=-1)
        middle = np.where(below == above, below, (below + above) / 2).astype(x.dtype)
        return np.moveaxis(middle, -1, axis) if keepdims else middle[..., 0]


def nanpercentile(a: Any, q: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """`nanquantile` in hundredths."""
    if isinstance(q, list):
        return nanquantile(a, np.asarray(q) / 100, axis, keepdims)
    else:
        return nanquantile(a, q / 100, axis, keepdims)


def nanquantile(a: Any, q: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """`np.quantile` of the others; nan if there is none."""
    if axis is None and not keepdims:
        flat = a.reshape(-1) * 1.0
        known = flat[~np.isnan(flat)]
        return np.quantile(known if len(known) > 0 else np.full(1, np.nan, dtype=flat.dtype), q)
    elif axis is None:
        raise ValueError("np.nanquantile with keepdims takes axis= here")
    elif isinstance(q, np.ndarray | list):
        levels = np.asarray(q) * 1.0
        wide = a.astype(np.float64)  # the dtype of levels in an array
        first = below_of(wide, 0.5, axis, keepdims)
        out = np.empty((len(levels), *first.shape), dtype=first.dtype)
        for i in range(len(levels)):
            out[i] = below_of(wide, float(levels[i]), axis, keepdims)
        return out
    else:
        return below_of(a, float(q), axis, keepdims)


def below_of(a: Any, q: float, axis: Static, keepdims: Static) -> Any:
    """The quantile of the others along an axis: nans come last, so each line has a last of its own."""
    x = np.sort(np.moveaxis(a, axis, -1)) * 1.0
    last = np.maximum(np.sum(~np.isnan(x), axis=-1, keepdims=True) - 1, 0)
    position = last * q
    low = position.astype(np.int64)
    high = np.minimum(low + 1, last)
    below, above = np.take_along_axis(x, low, axis=-1), np.take_along_axis(x, high, axis=-1)
    part = (position - low).astype(x.dtype)
    gap = above - below
    kept = np.where(part >= 0.5, above - gap * (1 - part), below + gap * part)
    return np.moveaxis(kept, -1, axis) if keepdims else kept[..., 0]


def zeroed(a: Any) -> Any:
    """The elements, 0 in the place of nans."""
    return np.where(np.isnan(a), 0, a).astype(a.dtype)


def count_of(x: Any, axis: Static, keepdims: Static) -> Any:
    """How many are no nans, in the dtype of the elements."""
    return np.sum((~np.isnan(x)).astype(x.dtype), axis=axis, keepdims=keepdims)


def present(a: Any) -> Any:
    """The elements that are no nans."""
    x = a.reshape(-1)
    return x[~np.isnan(x)]
