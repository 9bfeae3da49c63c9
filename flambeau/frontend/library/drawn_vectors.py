"""Vectors of distributions, as NumPy's `RandomState` draws them: the same numbers from the same state.

Each is made of single numbers: a Dirichlet vector of gamma ones, counts of a multinomial trial of binomial ones.

L. Devroye, Non-Uniform Random Variate Generation, 1986.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def dirichlet(alpha: Any, sizes: list[int]) -> Any:
    """Vectors of numbers that add up to 1, as many as there are places of such sizes, a vector a row. Raises
    ValueError for weights that are not above 0.
    """
    weights = np.asarray(alpha) * 1.0
    if not np.all(weights > 0):
        raise ValueError("alpha <= 0")
    count, k = places_of(sizes), len(weights)
    out = np.empty((count, k))
    for i in range(count):
        total = 0.0
        for j in range(k):
            out[i, j] = np.random.standard_gamma(float(weights[j]))
            total += out[i, j]
        for j in range(k):
            out[i, j] *= 1 / total
    return out


def multinomial(n: int, pvals: Any, sizes: list[int]) -> Any:
    """How often each outcome comes up in `n` trials, for as many times as there are places of such sizes, a time a row.
    Raises ValueError for probabilities that add up to more than 1, or are none.
    """
    p = np.asarray(pvals) * 1.0
    count, k = places_of(sizes), len(p)
    if n < 0:
        raise ValueError("n < 0")
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
    if np.sum(p[: k - 1]) > 1.0 + 1e-12:
        raise ValueError("sum(pvals[:-1]) > 1.0")
    out = np.zeros((count, k), dtype=np.int64)
    for i in range(count):
        left, rest = n, 1.0
        for j in range(k - 1):
            out[i, j] = np.random.binomial(left, min(float(p[j]) / rest, 1.0))
            left -= int(out[i, j])
            if left <= 0:
                break
            rest -= float(p[j])
        if left > 0:
            out[i, k - 1] = left
    return out


def places_of(sizes: list[int]) -> int:
    """How many places an array of such sizes has."""
    count = 1
    for size in sizes:
        count *= size
    return count
