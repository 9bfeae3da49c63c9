"""NumPy's functions that make arrays of numbers at distances and places of matrices, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static


def spaced(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: Static = False) -> Any:
    """Numbers at one distance from the first to the last, which is left out without `endpoint`; with `retstep` the
    distance too. Raises ValueError for fewer than none.
    """
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    parts = num - 1 if endpoint else num
    first = float(start)
    delta = float(stop) - first
    y = np.arange(num).astype(np.float64)
    if parts > 0:
        step = delta / parts
        y = y / parts * delta + first if step == 0.0 else y * step + first
    else:
        y = y * delta + first
    if endpoint and num > 1:
        y[num - 1] = float(stop)
    if retstep:
        return y, delta / parts if parts > 0 else np.nan
    else:
        return y


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0) -> Any:
    """`base` to the power of numbers at one distance."""
    return base ** spaced(start, stop, num, endpoint)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    """Numbers each of which is as many times the one before. Raises ValueError for an end that is zero."""
    first, last = float(start), float(stop)
    if first == 0.0 or last == 0.0:
        raise ValueError("Geometric sequence cannot include zero")
    sign = 1.0 if first > 0.0 else -1.0
    if first != first:
        sign = first
    ends = np.array([first / sign, last / sign])
    powers = np.log10(ends)
    y = logspace(powers[0], powers[1], num, endpoint)
    if num > 0:
        y[0] = ends[0]
    if endpoint and num > 1:
        y[num - 1] = ends[1]
    return y * sign


def tri(N: int, M: Any = None, k: int = 0, dtype: Static = None) -> Any:  # noqa: N803
    """Ones at and below a diagonal, zeros above."""
    columns = N if M is None else M
    if dtype is None:
        return np.tril(np.ones((N, columns)), k)
    else:
        return np.tril(np.ones((N, columns), dtype=dtype), k)


def tril_indices(n: int, k: int = 0, m: Any = None) -> Any:
    """The indices at and below a diagonal of a matrix: rows, and columns."""
    return np.nonzero(tri(n, m, k))


def triu_indices(n: int, k: int = 0, m: Any = None) -> Any:
    """The indices at and above a diagonal of a matrix: rows, and columns."""
    return np.nonzero(1.0 - tri(n, m, k - 1))


def diag_indices(n: int) -> Any:
    """The indices of the diagonal of a matrix: rows, and columns."""
    indices = np.arange(n)
    return indices, indices
