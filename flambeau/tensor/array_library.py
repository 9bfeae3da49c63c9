"""NumPy, as kernels over arrays use it: what they make lies where the arrays of the call lie.

Functions of NumPy that are given arrays of another library hand the call on to it. Those that make arrays of numbers
alone cannot tell; here they ask whether an operator runs on a device at the moment, and its library makes the array.
Everything else is NumPy's own.

>>> np.zeros(2).tolist()
[0.0, 0.0]
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy

from flambeau.util import array_address
from flambeau.util.float_errors import errstate
from flambeau.util.inversions import PLACES_ON_DEVICE

__all__ = [
    "add_at", "address_of", "as_strided", "copy_into", "device_view", "empty_in_order", "is_host_array",
    "is_on_device", "is_outside", "may_look", "np", "on_device", "on_host",
]  # fmt: skip


class _Place(threading.local):
    """The library of the device that an operator runs on in this thread; None on the host."""

    library: Any = None
    operator = ""
    """The operator's name."""


_place = _Place()
_MAKERS: Final = (
    "arange", "array", "asarray", "ascontiguousarray", "asfortranarray", "empty", "eye", "full", "identity", "indices",
    "linspace", "ones", "tri", "zeros",
)  # fmt: skip
"""Functions that make arrays of what may be no array."""


class _ArrayLibrary(ModuleType):
    """NumPy, with other functions that make arrays from the moment on when an operator runs on a device."""

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)


def _maker(name: str) -> Callable[..., Any]:
    on_host = getattr(numpy, name)

    def make(*args: Any, **kwargs: Any) -> Any:
        if _place.library is None:
            return on_host(*args, **kwargs)
        return getattr(_place.library, name)(*args, **kwargs)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = on_host.__doc__
    return make


@contextmanager
def on_device(library: Any, operator: str = "") -> Iterator[None]:
    """Within the block, this thread's kernels, of an operator, make arrays with a library of a device.

    >>> with on_device(numpy):
    ...     is_on_device()
    True
    """
    if library is not None and np.asarray is numpy.asarray:
        np.__dict__.update({name: _maker(name) for name in _MAKERS})
    before = _place.library, _place.operator
    _place.library, _place.operator = library, operator
    try:
        yield
    finally:
        _place.library, _place.operator = before


def is_on_device() -> bool:
    """Whether this thread's kernels make arrays with a library of a device.

    >>> is_on_device()
    False
    """
    return _place.library is not None


def on_host() -> AbstractContextManager[None]:
    """Within the block, this thread's kernels make arrays with NumPy.

    >>> with on_host():
    ...     is_on_device()
    False
    """
    return on_device(None)


def is_host_array(value: Any) -> bool:
    """Whether a value is an array of NumPy, or one of its scalars.

    >>> is_host_array(np.ones(2)), is_host_array([1.0])
    (True, False)
    """
    return isinstance(value, numpy.ndarray | numpy.generic)


def address_of(array: Any) -> int:
    """The address of the first element of an array, of NumPy or a device.

    >>> rows = numpy.ones((2, 4), numpy.float32)
    >>> address_of(rows[1]) - address_of(rows)
    16
    """
    return array_address.address_of(array) if isinstance(array, numpy.ndarray) else int(array.data.ptr)


def copy_into(target: Any, source: Any) -> None:
    """Write the elements of one array into another of the same dtype and size.

    Copies of the C library go by one instruction of the processor. Some processors take ten times as long for that
    where the target begins up to two vectors behind the source, but for whole pages; so those go another way.

    >>> target = numpy.zeros(2)
    >>> copy_into(target, numpy.ones(2))
    >>> target.tolist()
    [1.0, 1.0]
    """
    if target.nbytes >= _LEAST_COPIED and is_host_array(target) and is_host_array(source):
        lie_in_one = target.flags.c_contiguous and source.flags.c_contiguous and target.shape == source.shape
        if lie_in_one and 0 < (address_of(target) - address_of(source)) % _PAGE < _VECTORS:
            words = [one.reshape(-1).view(numpy.uint8) for one in (source, target)]
            numpy.bitwise_or(words[0], 0, out=words[1])
            return
    target[...] = source


_UNSIGNED: Final[dict[Any, Any]] = {
    numpy.dtype(numpy.int64): numpy.dtype(numpy.uint64), numpy.dtype(numpy.int32): numpy.dtype(numpy.uint32),
}  # fmt: skip
_PAGE, _VECTORS, _LEAST_COPIED = 4096, 64, 1 << 15


def add_at(array: Any, indices: Any, values: Any) -> None:
    """Add values to an array at indices, those that are named twice twice; of the device that an operator runs on.

    >>> counts = np.zeros(3)
    >>> add_at(counts, [0, 2, 2], 1.0)
    >>> counts.tolist()
    [1.0, 0.0, 2.0]
    """
    (_place.library or numpy).add.at(array, indices, values)


def may_look(array: Any) -> bool:
    """Whether elements may be looked at: not on a device while its work is captured, where nobody can wait for it.

    >>> may_look(numpy.ones(2))
    True
    """
    if isinstance(array, numpy.ndarray):
        return True
    return _place.library is None or not _place.library.cuda.get_current_stream().is_capturing()


def is_outside(indices: Any, low: int, high: int) -> bool:
    """Whether an index is outside of `low <= index < high`. On a device none is said to be: it looks itself, and the
    next wait for it raises.

    >>> is_outside(np.array([0, 3]), 0, 3), is_outside(np.array([0, 2]), 0, 3)
    (True, False)
    """
    if not indices.size:
        return False
    if isinstance(indices, numpy.ndarray):
        if indices.size == 1:
            return not low <= indices.item() < high
        unsigned: Any = _UNSIGNED.get(indices.dtype) if low == 0 else None
        if unsigned is not None:  # negative ones are large then
            return int(numpy.maximum.reduce(indices.view(unsigned), axis=None)) >= high
        largest, least = numpy.maximum.reduce(indices, axis=None), numpy.minimum.reduce(indices, axis=None)
        return int(largest) >= high or int(least) < low
    if low < high and PLACES_ON_DEVICE.implementation(indices, low, high, _place.operator):
        return False
    return may_look(indices) and bool(((indices < low) | (indices >= high)).any())


def empty_in_order(sizes: Any, dtype: Any, byte_strides: Any) -> Any:
    """A new array of the device that an operator runs on, with these strides, which leave no gaps.

    Example: within an operator's kernel on a device, a matrix whose columns lie side by side:

        empty_in_order((3, 4), "float32", (4, 12))
    """
    library = _place.library
    return library.ndarray(tuple(sizes), dtype, library.cuda.alloc(_reach(sizes, dtype, byte_strides)), byte_strides)


def _reach(sizes: Any, dtype: Any, byte_strides: Any) -> int:
    if 0 in sizes:
        return 0
    ends = [(n - 1) * s for n, s in zip(sizes, byte_strides, strict=True)]
    return int(sum(ends)) + int(numpy.dtype(dtype).itemsize)


def as_strided(array: Any, shape: Any, strides: Any) -> Any:
    """A view of an array, of NumPy or a device, with other sizes and strides in bytes.

    >>> as_strided(np.arange(3), (2, 2), (8, 8)).tolist()
    [[0, 1], [1, 2]]
    """
    if type(array) is numpy.ndarray:
        return numpy.lib.stride_tricks.as_strided(array, shape, strides)
    return device_view(array, shape, strides, array.dtype)


def device_view(array: Any, shape: Any, strides: Any, dtype: Any, address: int | None = None) -> Any:
    """A view of an array of a device with other sizes, strides in bytes and dtype; from another address if one is
    given.

    Example: the second row of a matrix of float32 on a device:

        device_view(x, x.shape[1:], x.strides[1:], x.dtype, x.data.ptr + x.strides[0])
    """
    begin = array.data if address is None else array.data + (address - array.data.ptr)
    return type(array)(tuple(shape), dtype, begin, tuple(strides))


if TYPE_CHECKING:
    import numpy as np
else:
    np = _ArrayLibrary("numpy")
    np.__dict__.update({k: v for k, v in vars(numpy).items() if not k.startswith("__")})
    np.errstate = errstate
