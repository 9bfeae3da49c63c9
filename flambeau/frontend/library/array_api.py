"""NumPy's functions under the names of the Python array API standard, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static


def astype(x: Any, dtype: Static, copy: Static = True) -> Any:
    """The array in another dtype; with copy=False itself, if it has that dtype."""
    return x.astype(dtype, copy=copy)


def matrix_transpose(x: Any) -> Any:
    """A view of each matrix with its rows as columns. Raises ValueError for arrays of fewer than two axes."""
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return np.swapaxes(x, -1, -2)


def unstack(x: Any, axis: Static = 0) -> Any:
    """Views of the parts of one place along an axis, in a list."""
    lines = np.moveaxis(x, axis, 0)
    return [lines[k] for k in range(len(lines))]


def vecdot(x1: Any, x2: Any, axis: Static = -1) -> Any:
    """The products of vectors along an axis, the first ones conjugated. Raises ValueError for vectors of different
    sizes.
    """
    left, right = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(f"vecdot: vectors have {left.shape[-1]} and {right.shape[-1]} elements")
    products = left.conj() * right
    return np.sum(products, axis=-1, dtype=products.dtype)


def matvec(x1: Any, x2: Any) -> Any:
    """Each matrix times each vector, with what comes before these axes broadcast."""
    return np.matmul(x1, x2) if x2.ndim == 1 else np.matmul(x1, x2[..., np.newaxis])[..., 0]


def vecmat(x1: Any, x2: Any) -> Any:
    """Each vector, conjugated, times each matrix, with what comes before these axes broadcast."""
    left = x1.conj()  # of real numbers, themselves
    return np.matmul(left, x2) if x1.ndim == 1 else np.matmul(left[..., np.newaxis, :], x2)[..., 0, :]


def cumulative_sum(x: Any, *, axis: Static = None, dtype: Static = None, include_initial: Static = False) -> Any:
    """The running sums along an axis, with `include_initial` behind a 0. Raises ValueError where an array of more than
    one axis is told none.
    """
    check_axis(x, axis)
    sums = np.cumsum(x, axis=axis, dtype=dtype)
    return behind(0, sums, axis) if include_initial else sums


def cumulative_prod(x: Any, *, axis: Static = None, dtype: Static = None, include_initial: Static = False) -> Any:
    """The running products along an axis, with `include_initial` behind a 1. Raises ValueError where an array of more
    than one axis is told none.
    """
    check_axis(x, axis)
    products = np.cumprod(x, axis=axis, dtype=dtype)
    return behind(1, products, axis) if include_initial else products


def check_axis(x: Any, axis: Static) -> None:
    """Raise ValueError where there are several axes, and none is said."""
    if axis is None and x.ndim > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")


def behind(first: int, x: Any, axis: Static) -> Any:
    """An array with a number before the first place along an axis."""
    if axis is None:
        return np.concatenate((np.full(1, first, dtype=x.dtype), x))
    else:
        lines = np.moveaxis(x, axis, 0)
        line = np.full((1, *lines.shape[1:]), first, dtype=x.dtype)
        return np.moveaxis(np.concatenate((line, lines)), 0, axis)


def diagonal(x: Any, offset: int = 0) -> Any:
    """The diagonal of each matrix, in the last axis."""
    return np.diagonal(x, offset, -2, -1)


def trace(x: Any, offset: int = 0, dtype: Static = None) -> Any:
    """The sum of the diagonal of each matrix."""
    return np.sum(np.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


def outer(x1: Any, x2: Any) -> Any:
    """Each element of a vector times each of another. Raises ValueError for arrays of other than one axis."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim} and {x2.ndim}")
    return np.outer(x1, x2)


def cross(x1: Any, x2: Any, axis: Static = -1) -> Any:
    """The products of vectors of three numbers that stand upright on both. Raises ValueError for vectors of others."""
    left, right = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    if left.shape[-1] != 3 or right.shape[-1] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return np.moveaxis(np.cross(left, right), -1, axis)


def tensorsolve(a: Any, b: Any) -> Any:
    """The array whose product with `a` over all its axes is `b`. Raises LinAlgError where there is no such one."""
    columns = a.shape[b.ndim :]
    return np.linalg.solve(a.reshape(b.size, b.size), b.reshape(-1)).reshape(columns)
