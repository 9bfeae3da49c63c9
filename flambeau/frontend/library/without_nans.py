"""NumPy's folds that leave nans out."""

from __future__ import annotations

from typing import Any

import numpy as np


def nansum(a: Any) -> Any:
    """The sum of the others."""
    return present(a).sum()


def nanmean(a: Any) -> Any:
    """The mean of the others; nan if there is none."""
    return present(a).mean()


def nanmax(a: Any) -> Any:
    """The largest of the others; nan if there is none."""
    x = present(a)
    return x.max() if len(x) > 0 or a.size == 0 else a.max()


def nanmin(a: Any) -> Any:
    """The smallest of the others; nan if there is none."""
    x = present(a)
    return x.min() if len(x) > 0 or a.size == 0 else a.min()


def nanstd(a: Any) -> Any:
    """The standard deviation of the others."""
    return present(a).std()


def nanvar(a: Any) -> Any:
    """The variance of the others."""
    return present(a).var()


def nanprod(a: Any) -> Any:
    """The product of the others."""
    return present(a).prod()


def nanmedian(a: Any) -> Any:
    """The median of the others; nan if there is none."""
    return np.median(present(a))


def nancumsum(a: Any) -> Any:
    """The running sums of the elements in their order, a nan being 0."""
    x = a.reshape(-1)
    return np.where(np.isnan(x), 0, x).astype(x.dtype).cumsum()


def nanargmax(a: Any) -> Any:
    """Where the largest of the others is first. Raises ValueError if there is none."""
    x = a.reshape(-1)
    if len(present(a)) == 0:
        raise ValueError("All-NaN slice encountered")
    return np.where(np.isnan(x), -np.inf, x).argmax()


def nanargmin(a: Any) -> Any:
    """Where the smallest of the others is first. Raises ValueError if there is none."""
    x = a.reshape(-1)
    if len(present(a)) == 0:
        raise ValueError("All-NaN slice encountered")
    return np.where(np.isnan(x), np.inf, x).argmin()


def present(a: Any) -> Any:
    """The elements that are no nans."""
    x = a.reshape(-1)
    out = np.empty_like(x)
    count = 0
    for i in range(len(x)):
        if x[i] == x[i]:
            out[count] = x[i]
            count += 1
    return out[:count]


def nancumprod(a: Any) -> Any:
    """The running product of a flat array, nan as 1."""
    return np.cumprod(np.where(np.isnan(a), 1.0, a).reshape(-1))


def nanquantile(a: Any, q: Any) -> Any:
    """`np.quantile` of what is no nan; nan if there is nothing else."""
    flat = a.reshape(-1)
    known = flat[~np.isnan(flat)]
    return np.quantile(known if len(known) > 0 else flat, q)


def nanpercentile(a: Any, q: Any) -> Any:
    """`np.percentile` of what is no nan; nan if there is nothing else."""
    flat = a.reshape(-1)
    known = flat[~np.isnan(flat)]
    return np.percentile(known if len(known) > 0 else flat, q)
