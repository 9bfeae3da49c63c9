"""CuPy's functions that make arrays: of nothing, of numbers, of the host's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cuda.pretended import calls
from tests.cuda.pretended.arena import arena
from tests.cuda.pretended.arrays import ndarray
from tests.cuda.pretended.calls import call, is_array
from tests.cuda.pretended.engine import engine
from tests.cuda.pretended.streams import current


def asarray(a: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> Any:
    """The array itself, if it is the device's and has the dtype; else a new one with its elements."""
    return array(a, dtype, copy=False, order=order)


def array(
    obj: Any, dtype: Any = None, copy: bool = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = False,
) -> Any:  # fmt: skip
    """A new array with these elements."""
    if subok:
        raise NotImplementedError("subok is not supported yet")
    if is_array(obj):
        found = obj if dtype is None or np.dtype(dtype) == obj.dtype else obj.astype(dtype)
        found = found.copy(order or "K") if copy and found is obj else found
    elif hasattr(obj, "__cuda_array_interface__"):
        found = _by_interface(obj)
        found = found.copy() if copy else found
        found = found if dtype is None else found.astype(dtype, copy=False)
    elif isinstance(obj, list | tuple) and any(map(is_array, calls.walk(obj))):
        found = call(lambda items: np.array(items, dtype), (obj,), {}, "array")
    else:
        source = np.array(obj, dtype, order=order or "K")
        found = calls.like(source)
        target = calls.bare(found)
        calls.write(found, [], lambda: target.on_host.__setitem__(..., source))
    return found.reshape((1,) * (ndmin - found.ndim) + found.shape) if found.ndim < ndmin else found


def _by_interface(obj: Any) -> Any:
    from tests.cuda.pretended.allocation import MemoryPointer, UnownedMemory

    known = obj.__cuda_array_interface__
    dtype, shape, strides = np.dtype(known["typestr"]), known["shape"], known.get("strides")
    pointer = known["data"][0]
    region = arena.regions[arena.device_of(pointer) or 0]
    size = region.start + region.total - pointer if pointer else 0
    return ndarray(shape, dtype, MemoryPointer(UnownedMemory(pointer, size, obj), 0), strides)


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """A copy on the host."""
    return a.get(stream, order, out) if is_array(a) else np.asarray(a, order=order)


def empty(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    return ndarray(shape, dtype, order=order)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Any:
    if dtype is None:
        dtype = fill_value.dtype if is_array(fill_value) else np.asarray(fill_value).dtype
    result = empty(shape, dtype, order)
    result.fill(fill_value)
    return result


def zeros(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    return full(shape, 0, dtype, order)


def ones(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    return full(shape, 1, dtype, order)


def empty_like(prototype: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    """An array with the layout of another; for one of the host, too."""
    if subok is not None:
        raise TypeError("subok is not supported yet")
    calls.check_devices([prototype] if is_array(prototype) else [])
    if not is_array(prototype):
        prototype = asarray(prototype)
    seen = np.lib.stride_tricks.as_strided(np.zeros(1, prototype.dtype), prototype.shape, prototype.strides)
    return calls.like(np.empty_like(seen, dtype, order=order or "K", shape=shape))


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> Any:
    result = empty_like(a, dtype, order, subok, shape)
    result.fill(fill_value)
    return result


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    return full_like(a, 0, dtype, order, subok, shape)


def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    return full_like(a, 1, dtype, order, subok, shape)


def from_dlpack(array: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array on the memory of another library's."""
    from tests.cuda.pretended.capsules import array_of

    kind, index = array.__dlpack_device__()
    if kind != 2 or index != engine.device:
        raise TypeError(f"expected an array of device {engine.device}, got one of {(kind, index)}")
    return array_of(array.__dlpack__(stream=current().ptr or 1))
