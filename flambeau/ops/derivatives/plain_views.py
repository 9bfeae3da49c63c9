"""Gradients of plain arrays at once, of what shows or picks a part of a tensor: zeros with the gradient where the part
was. See `plain_arrays`.

>>> at_index(np.ones(2, np.float32), [2, 3], 1, 0)
array([[1., 0., 0.],
       [1., 0., 0.]], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from flambeau.ops.derivatives.plain_arrays import Array, spread_rows
from flambeau.ops.families.element_loops import FLOATS
from flambeau.tensor.array_library import np


def at_index(grad: Array, sizes: Sequence[int], dim: int, index: int) -> Array | None:
    """Zeros with `grad` at one index of a dimension that is gone."""
    return _written(grad, sizes, dim, index)


def at_slice(
    grad: Array, sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> Array | None:
    """Zeros with `grad` at a slice of a dimension."""
    return _written(grad, sizes, dim, slice(start, end, step))


def _written(grad: Array, sizes: Sequence[int], dim: int, where: Any) -> Array | None:
    result = np.zeros(sizes, grad.dtype)
    shown = result[(*(slice(None),) * (dim % len(sizes)), where, ...)]
    if shown.shape != grad.shape:
        return None
    shown[...] = grad
    return result


def under_mask(grad: Array, sizes: Sequence[int], mask: Array) -> Array | None:
    """Zeros with the elements of `grad`, one after another, where a mask of all elements holds."""
    if mask.dtype != np.bool_ or mask.shape != tuple(sizes):
        return None
    result = np.zeros(sizes, grad.dtype)
    result[mask] = grad
    return result


def at_indices(grad: Array, sizes: Sequence[int], *indices: Array | None) -> Array | None:
    """Zeros with `grad` added where integers of neighbouring dimensions, or a mask of the first ones, picked it."""
    taken = [dim for dim, index in enumerate(indices) if index is not None]
    if not taken or taken[-1] - taken[0] + 1 != len(taken) or grad.dtype not in FLOATS or not grad.size:
        return None
    arrays: list[Any] = [indices[dim] for dim in taken]
    first = arrays[0]
    if first.dtype == np.bool_:
        if len(indices) > 1 or tuple(sizes[: first.ndim]) != first.shape:
            return None
        result = np.zeros(sizes, grad.dtype)
        result[first] = grad
        return result
    if any(a.dtype != np.int64 or not a.ndim for a in arrays):
        return None
    return _added(grad, sizes, taken[0], arrays)


def _added(grad: Array, sizes: Sequence[int], begin: int, arrays: Sequence[Array]) -> Array | None:
    """The same by rows: those of all dimensions up to the last one that is picked from, counted together."""
    end = begin + len(arrays)
    numbers: Array | None = None
    for size, index in zip(sizes[begin:end], arrays, strict=True):
        from_front = np.where(index < 0, index + size, index)
        numbers = from_front if numbers is None else numbers * size + from_front
    assert numbers is not None
    lead, rest = tuple(sizes[:begin]), tuple(sizes[end:])
    if grad.shape != (*lead, *numbers.shape, *rest):
        return None
    if lead:
        starts = np.arange(prod(lead)).reshape(*lead, *[1] * numbers.ndim) * prod(sizes[begin:end])
        numbers = starts + numbers
    result = spread_rows(grad, (prod(sizes[:end]), *rest), numbers)
    return None if result is None else result.reshape(sizes)
