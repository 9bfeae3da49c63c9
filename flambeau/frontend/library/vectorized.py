"""`np.vectorize` and `np.fromfunction`: a function of numbers, called for each element, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np


def each_of_one(function: Any, a: Any) -> Any:
    """What a function gives for each element of an array. Raises ValueError for none, whose dtype nothing tells."""
    flat = a.reshape(-1)
    check(len(flat))
    out = np.full(len(flat), function(flat[0]))
    for i in range(1, len(flat)):
        out[i] = function(flat[i])
    return out.reshape(a.shape)


def each_of_two(function: Any, a: Any, b: Any) -> Any:
    """What a function gives for the elements of two arrays, or an array and a number, side by side."""
    x, y = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    left, right = x.reshape(-1), y.reshape(-1)
    check(len(left))
    out = np.full(len(left), function(left[0], right[0]))
    for i in range(1, len(left)):
        out[i] = function(left[i], right[i])
    return out.reshape(x.shape)


def each_of_three(function: Any, a: Any, b: Any, c: Any) -> Any:
    """What a function gives for the elements of three arrays, or numbers among them, side by side."""
    x, y, z = np.broadcast_arrays(np.asarray(a), np.asarray(b), np.asarray(c))
    one, two, three = x.reshape(-1), y.reshape(-1), z.reshape(-1)
    check(len(one))
    out = np.full(len(one), function(one[0], two[0], three[0]))
    for i in range(1, len(one)):
        out[i] = function(one[i], two[i], three[i])
    return out.reshape(x.shape)


def check(count: int) -> None:
    """Raise ValueError for arrays without elements."""
    if count == 0:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")


def fromfunction(function: Any, shape: Any) -> Any:
    """What a function gives of the arrays that say of each place where it is along the first axis, and so on. Raises
    ValueError for more axes than three.
    """
    if len(shape) == 1:
        return function(np.arange(shape[0]))
    elif len(shape) == 2:
        rows, columns = np.meshgrid(np.arange(shape[0]), np.arange(shape[1]), indexing="ij")
        return function(rows, columns)
    elif len(shape) == 3:
        x, y, z = np.meshgrid(np.arange(shape[0]), np.arange(shape[1]), np.arange(shape[2]), indexing="ij")
        return function(x, y, z)
    else:
        raise ValueError("np.fromfunction takes up to three axes here")


def fromfunction_of_floats(function: Any, shape: Any) -> Any:
    """`np.fromfunction`, whose indexes are floats unless a dtype is given."""
    if len(shape) == 1:
        return function(np.arange(shape[0]) * 1.0)
    elif len(shape) == 2:
        rows, columns = np.meshgrid(np.arange(shape[0]) * 1.0, np.arange(shape[1]) * 1.0, indexing="ij")
        return function(rows, columns)
    else:
        return fromfunction(lambda x, y, z: function(x * 1.0, y * 1.0, z * 1.0), shape)
