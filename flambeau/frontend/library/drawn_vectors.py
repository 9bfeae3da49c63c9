"""Vectors of distributions, as NumPy's `RandomState` draws them: the same numbers from the same state.

A Dirichlet vector is made of gamma numbers.

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


def places_of(sizes: list[int]) -> int:
    """How many places an array of such sizes has."""
    count = 1
    for size in sizes:
        count *= size
    return count
