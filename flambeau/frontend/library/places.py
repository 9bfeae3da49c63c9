"""NumPy's functions of places in arrays, and of orders by several keys, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np


def lexsort(keys: Any) -> Any:
    """The order by several keys, the last of which counts most."""
    order = np.argsort(keys[0], kind="stable")
    for key in keys[1:]:
        order = order[np.argsort(key[order], kind="stable")]
    return order


def setxor1d(ar1: Any, ar2: Any) -> Any:
    """The distinct elements that one of both has, in order."""
    ours, theirs = np.unique(np.asarray(ar1)), np.unique(np.asarray(ar2))
    return np.sort(np.concatenate((ours[~np.isin(ours, theirs)], theirs[~np.isin(theirs, ours)])))


def unravel_index(indices: Any, shape: Any) -> Any:
    """The row and the column of places in a flat matrix. Raises ValueError for one that is not there."""
    rows, columns = shape
    if isinstance(indices, np.ndarray):
        if len(indices) > 0 and (int(indices.min()) < 0 or int(indices.max()) >= rows * columns):
            raise ValueError(f"index is out of bounds for array with size {rows * columns}")
    elif indices < 0 or indices >= rows * columns:
        raise ValueError(f"index {indices} is out of bounds for array with size {rows * columns}")
    return indices // columns, indices % columns


def ravel_multi_index(multi_index: Any, dims: Any) -> Any:
    """The places in a flat matrix of rows and columns. Raises ValueError for one that is not there."""
    row, column = multi_index
    rows, columns = dims
    if isinstance(row, np.ndarray):
        if np.any((row < 0) | (row >= rows) | (column < 0) | (column >= columns)):
            raise ValueError("invalid entry in coordinates array")
    elif row < 0 or row >= rows or column < 0 or column >= columns:
        raise ValueError("invalid entry in coordinates array")
    return row * columns + column


def indices(dimensions: Any) -> Any:
    """The row, and the column, of each place of a matrix."""
    rows, columns = dimensions
    grid = np.zeros((2, rows, columns), dtype=np.int64)
    grid[0] = np.arange(rows).reshape(-1, 1)
    grid[1] = np.arange(columns)
    return grid


def put(a: Any, ind: Any, v: Any) -> None:
    """A number, or the elements of an array of as many, written at places of a flat array."""
    flat = a.reshape(-1)
    flat[ind] = v


def place(arr: Any, mask: Any, vals: Any) -> None:
    """The elements of an array, over and over, written where a mask holds. Raises ValueError for none."""
    if len(vals) == 0:
        raise ValueError("Cannot insert from an empty array!")
    flat, where = arr.reshape(-1), mask.reshape(-1)
    k = 0
    for i in range(len(flat)):
        if where[i]:
            flat[i] = vals[k % len(vals)]
            k += 1


def diag_indices_from(arr: Any) -> Any:
    """The places of the diagonal of a matrix: rows, and columns."""
    return np.diag_indices(len(arr))


def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """The places at and below a diagonal of a matrix: rows, and columns."""
    return np.tril_indices(arr.shape[0], k, arr.shape[1])


def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """The places at and above a diagonal of a matrix: rows, and columns."""
    return np.triu_indices(arr.shape[0], k, arr.shape[1])


def histogram2d(x: Any, y: Any, bins: int = 10) -> Any:
    """How many points are in each of so many times so many tiles of one size, and their edges in both directions."""
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    across, down = np.histogram(x, bins)[1], np.histogram(y, bins)[1]
    counts = np.zeros((bins, bins))
    for i in range(len(x)):
        row, column = in_bin(x[i], across), in_bin(y[i], down)
        if row >= 0 and column >= 0:
            counts[row, column] += 1
    return counts, across, down


def in_bin(value: Any, edges: Any) -> int:
    """Between which edges a number is; the last bin has its upper edge too. -1 for a number outside."""
    last = len(edges) - 1
    if not edges[0] <= value <= edges[last]:
        return -1
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if value >= edges[middle]:
            low = middle
        else:
            high = middle
    return low


def histogram_bin_edges(a: Any, bins: int = 10, range: Any = None) -> Any:
    """The edges of so many bins of one width."""
    return np.histogram(a, bins, range)[1]


def cbrt(x: Any) -> Any:
    """The real number whose third power is an element."""
    cube = np.copysign(x, x)  # in the dtype of floats that ints have
    root = np.copysign(np.abs(cube) ** (1.0 / 3.0), cube)
    return np.where((cube == 0) | ~np.isfinite(root), root, root - (root - cube / (root * root)) / 3.0)


def isneginf(x: Any) -> Any:
    """Which elements are minus infinity. Raises TypeError for complex numbers."""
    if np.iscomplexobj(x):
        raise TypeError("This operation is not supported for complex values because it would be ambiguous.")
    return np.isinf(x) & (x < 0)


def isposinf(x: Any) -> Any:
    """Which elements are infinity. Raises TypeError for complex numbers."""
    if np.iscomplexobj(x):
        raise TypeError("This operation is not supported for complex values because it would be ambiguous.")
    return np.isinf(x) & (x > 0)


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays of as many axes have equal elements, one of them repeated as often as it takes."""
    return bool((a1 == a2).all())


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """What times a matrix is nearest to a vector, or to the columns of a matrix: that, the sums of squares left, the
    rank and the singular values.
    """
    m, n = a.shape
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    small = 2.220446049250313e-16 * max(m, n) if rcond is None else float(rcond)
    rank = 0
    for value in s:
        if value > small * s[0]:
            rank += 1
    parts = u[:, :rank].T @ b
    x = vh[:rank].T @ (parts / s[:rank] if b.ndim == 1 else parts / s[:rank].reshape(-1, 1))
    squares = (b - a @ x).reshape(m, -1) ** 2
    left = squares.sum(axis=0)
    return x, left if rank == n and m > n else left[:0], rank, s


def whole_matrix_power(a: Any, n: int) -> Any:
    """The product of so many equal matrices of integers. Raises ValueError for a count below 0, and for matrices that
    are not square.
    """
    if n < 0:
        raise ValueError("a matrix of integers to a power below 0 is one of floats: write x.astype(np.float64)")
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    result = np.zeros_like(a)
    for i in range(a.shape[-1]):
        result[..., i, i] = 1
    square = a.copy()
    while n > 0:
        if n % 2 == 1:
            result = result @ square
        n = n // 2
        if n > 0:
            square = square @ square
    return result


def choose(a: Any, choices: Any) -> Any:
    """Of each place the element of the array that an index picks. Raises ValueError for an index of none."""
    if np.any((a < 0) | (a >= len(choices))):
        raise ValueError("invalid entry in choice array")
    out = np.zeros_like(choices[0])
    for k, choice in enumerate(choices):
        out = np.where(a == k, choice, out)
    return out
