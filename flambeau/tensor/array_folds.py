"""Functions of two numbers folded over arrays: along dimensions, step by step, and into named places.

On the host these are the methods of NumPy's functions. The library of a device has few of them; what it lacks is
written here with those that it has, in a number of steps that grows with the logarithm of the length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy

from flambeau.tensor.array_library import add_at, is_host_array, np

Array = numpy.ndarray[Any, Any]

_AS_METHODS: Final = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
"""Methods of a device's arrays that fold dimensions away, by the function."""
_AS_SCANS: Final = {"add": "cumsum", "multiply": "cumprod"}
_ADDS: Final = frozenset(("float16", "float32", "float64", "complex64", "complex128", "int32", "uint32", "uint64"))
"""Dtypes that a device adds up in memory without sorting."""


def reduced(function: numpy.ufunc, array: Array, axis: int | tuple[int, ...] | None = None, **options: Any) -> Any:
    """A function folded over dimensions; `options` are `dtype`, `keepdims` and `initial`.

    >>> int(reduced(np.maximum, np.zeros((0, 2)), 0, initial=3)[0])
    3
    """
    if is_host_array(array):
        reduce: Any = function.reduce
        return reduce(array, axis=axis, **options)
    initial = options.pop("initial", None)
    if initial is not None and not array.size:
        shape = numpy.empty(array.shape, numpy.bool_).any(axis, keepdims=options.get("keepdims", False)).shape
        return np.full(shape, initial, array.dtype)
    result = getattr(array, _AS_METHODS[function.__name__])(axis=axis, **options)
    return result if initial is None else function(result, array.dtype.type(initial))


def accumulated(function: numpy.ufunc, array: Array, axis: int) -> Any:
    """A function folded along a dimension, with every step on the way.

    >>> accumulated(np.maximum, np.array([1, 3, 2]), 0).tolist()
    [1, 3, 3]
    """
    if is_host_array(array):
        return function.accumulate(array, axis=axis)
    if function.__name__ in _AS_SCANS:
        return getattr(np, _AS_SCANS[function.__name__])(array, axis=axis)
    folded = array.copy()
    rows = np.moveaxis(folded, axis, 0)
    step = 1
    while step < len(rows):
        rows[step:] = function(rows[:-step], rows[step:])
        step *= 2
    return folded


def fold_into(function: numpy.ufunc, target: Array, index: Any, values: Any) -> None:
    """`target[index] = function(target[index], values)`, where indices that are named twice count twice.

    >>> counts = np.zeros(3, np.int64)
    >>> fold_into(np.add, counts, np.array([0, 2, 2]), 1)
    >>> counts.tolist()
    [1, 0, 2]
    """
    if is_host_array(target):
        function.at(target, index, values)
        return
    indices = np.arange(target.size).reshape(target.shape)[index]
    spread = np.broadcast_to(np.asarray(values, target.dtype), indices.shape).reshape(-1)
    flat = np.ascontiguousarray(target).reshape(-1)
    folded = _adder(flat.dtype) if function.__name__ == "add" else None
    if folded is None:
        flat = _fold_sorted(function, flat, indices.reshape(-1), spread)
    else:
        flat = folded(flat, indices.reshape(-1), spread)
    target[...] = flat.reshape(target.shape)


def _adder(dtype: numpy.dtype[Any]) -> Callable[[Any, Any, Any], Any] | None:
    """Adds values at indices of a flat array, in no order; None for dtypes that are none of a device's."""
    if dtype.name == "int64":
        return lambda flat, indices, values: _added(flat, indices, values, numpy.uint64)
    return (lambda flat, indices, values: _added(flat, indices, values, dtype)) if dtype.name in _ADDS else None


def _added(flat: Any, indices: Any, values: Any, seen_as: Any) -> Any:
    result = flat.copy()
    add_at(result.view(seen_as), indices, np.ascontiguousarray(values).view(seen_as))
    return result


def _fold_sorted(function: numpy.ufunc, flat: Any, indices: Any, values: Any) -> Any:
    """Values folded in at indices of a flat array, in the order of the values: those of an index are brought together,
    and each takes in the one `step` before it until the last of an index has them all."""
    if not indices.size:
        return flat
    order = np.argsort(indices)
    where, folded = indices[order], values[order]
    step = 1
    while step < len(where):
        together = function(folded[:-step], folded[step:]).astype(flat.dtype, copy=False)
        folded[step:] = np.where(where[step:] == where[:-step], together, folded[step:])
        step *= 2
    is_last = np.ones(len(where), numpy.bool_)
    is_last[:-1] = where[1:] != where[:-1]
    longer = np.concatenate([flat, flat[:1]])
    spots = np.where(is_last, where, len(flat))
    longer[spots] = function(longer[spots], folded).astype(flat.dtype, copy=False)
    return longer[:-1]
