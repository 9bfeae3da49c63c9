"""Tensors on a device: their class, and the ways from and to the host and CuPy's arrays."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.cuda import library
from flambeau.cuda.allocator import used_by
from flambeau.cuda.devices import device as using
from flambeau.cuda.pinned import keep_until_copied
from flambeau.cuda.storage import TO_DEVICE, TO_HOST, CudaStorage, copy
from flambeau.cuda.streams import Stream
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import index, layout, observer
from flambeau.tensor.bridge import ON_DEVICES
from flambeau.tensor.settled import CLASSES, COPIES, settle
from flambeau.tensor.storage import Storage
from flambeau.tensor.subclasses import disabled_function, overrides_dispatch, overrides_functions
from flambeau.tensor.tensor import Array, Tensor, view_of, window, wrap

CUDA_KIND: Final = 2
"""Memory of CUDA devices, as DLPack numbers it."""
NO_NUMPY: Final = (
    "can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
)


def on_host(self: Tensor) -> Tensor:
    """A copy on the host, when the device has done what it was given before, with the same strides where elements lie
    without gaps, and row-major else."""
    array = self._array
    order = [s // array.itemsize for s in array.strides]
    if not array.size or layout.is_non_overlapping_and_dense(array.shape, order):
        source = self
    else:
        source, order = adopted(lent(self).copy(), self.device), list(layout.contiguous_strides(array.shape))
    memory = np.empty(array.size * array.itemsize, np.uint8)
    copy(memory.ctypes.data, source.data_ptr(), memory.nbytes, TO_HOST, self.device)
    return wrap(np.ndarray(array.shape, array.dtype, memory, 0, [s * array.itemsize for s in order]))


COPIES[CudaStorage] = on_host


def on_device(self: Tensor, device: Device, *, waits: bool = True) -> Tensor:
    """A copy of a tensor of the host on a device, with the same strides where elements lie without gaps."""
    array = self._array
    order: Sequence[int] = [s // array.itemsize for s in array.strides]
    if not layout.is_non_overlapping_and_dense(array.shape, order):
        array, order = np.ascontiguousarray(array).reshape(array.shape), layout.contiguous_strides(array.shape)
    result = empty(array.shape, self.dtype, device, order)
    copy(result.data_ptr(), array.ctypes.data, array.nbytes, TO_DEVICE, device, waits=waits)
    if not waits:
        with using(device.index):
            keep_until_copied(self)
    return result


def empty(sizes: Sequence[int], dtype: DType, device: Device, strides: Sequence[int] | None = None) -> Tensor:
    """A tensor in new memory of a device with these strides (in elements; row-major if None), not initialised.

    Raises RuntimeError for negative sizes, MemoryError for more memory than there is.
    """
    if any(s < 0 for s in sizes):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {list(sizes)}")
    steps = layout.contiguous_strides(sizes) if strides is None else strides
    storage = CudaStorage(device, layout.min_storage_elements(sizes, steps) * dtype.itemsize)
    return in_storage(storage, sizes, steps, dtype.numpy)


def in_storage(storage: Storage, sizes: Sequence[int], strides: Sequence[int], dtype: Any, offset: int = 0) -> Tensor:
    """A tensor in a storage of a device, beginning `offset` bytes into it; strides count elements."""
    byte_strides = [s * dtype.itemsize for s in strides]
    memory: Any = bytearray() if 0 in sizes else storage.bytes
    array = np.ndarray(tuple(sizes), dtype, memory, 0 if 0 in sizes else offset, byte_strides)
    return settle(window(array, storage))


def lent(tensor: Tensor) -> Any:
    """The tensor as an array of CuPy on the same memory."""
    cupy, array = library.cupy(), tensor._array
    with using(tensor.device.index):
        if not array.size:
            return cupy.empty(array.shape, array.dtype)
        memory = cupy.cuda.UnownedMemory(array.ctypes.data, _reach(array), tensor._storage, tensor.device.index)
        return cupy.ndarray(array.shape, array.dtype, cupy.cuda.MemoryPointer(memory, 0), array.strides)


def _reach(array: Array) -> int:
    """Bytes from the first to behind the last element."""
    return int(sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) + array.itemsize)


def adopted(array: Any, device: Device, storage: Storage | None = None) -> Tensor:
    """An array of CuPy as a tensor on the same memory: that of a storage which it lies in, or its own."""
    if any(s < 0 for s in array.strides):
        array = array.copy()
    strides = [s // array.dtype.itemsize for s in array.strides]
    address = int(array.data.ptr)
    if storage is None or not array.size:
        reach = _reach(array) if array.size else 0
        storage, offset = CudaStorage(device, reach, array, address), 0
        if not array.size:
            strides = list(layout.contiguous_strides(array.shape))
    else:
        offset = address - storage.address
    return in_storage(storage, array.shape, strides, array.dtype, offset)


# The class


@observer.seen("item")
def _item(self: Tensor) -> Any:
    return on_host(self).item() if self._array.size == 1 else Tensor.item(self)


@observer.seen("tolist")
def _tolist(self: Tensor) -> Any:
    return on_host(self).tolist()


def _no_array(self: Tensor, *_: Any, **options: Any) -> Any:
    if options.get("force"):
        return on_host(self).numpy()
    raise TypeError(NO_NUMPY.format(device=self.device))


def _dlpack(self: Tensor, **options: Any) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return lent(self).__dlpack__(**options)


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    return CUDA_KIND, self.device.index or 0


def _interface(self: Tensor) -> dict[str, Any]:
    array = self._array
    typestr = array.dtype.str if array.dtype.kind != "V" else lent(self).__cuda_array_interface__["typestr"]
    return {
        "shape": array.shape, "typestr": typestr, "data": (self.data_ptr(), False), "version": 3,
        "strides": None if array.flags.c_contiguous else array.strides,
    }  # fmt: skip


def _reduce(self: Tensor) -> tuple[Any, ...]:
    cls: Any = type(self)
    extent = (tuple(self._array.shape), self.stride(), self.storage_offset() * self.itemsize)
    return _rebuild, (cls._plain_class, self._storage, self.dtype, *extent, self.requires_grad)


def _rebuild(
    cls: type[Tensor],
    storage: Storage,
    dtype: DType,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    requires_grad: bool,
) -> Tensor:
    """The tensor on a device that was pickled."""
    result = object.__new__(cls)
    Tensor.__init__(result, in_storage(storage, sizes, strides, dtype.numpy, offset)._array, storage)
    settle(result)
    return result.requires_grad_() if requires_grad else result


def _record_stream(self: Tensor, stream: Stream) -> None:
    """Keep the memory, when nobody has it any more, until a stream that uses it has got past."""
    if self.numel():
        used_by(self.data_ptr(), stream.device_index, stream.cuda_stream)


_MEMBERS: Final[dict[str, Any]] = {
    "record_stream": _record_stream,
    "item": _item, "tolist": _tolist, "numpy": _no_array, "__array__": _no_array, "__buffer__": _no_array,
    "__dlpack__": _dlpack, "__dlpack_device__": _dlpack_device, "__cuda_array_interface__": property(_interface),
    "__getitem__": index.get_item_by_operators, "_has_own_kernels": True, "_is_on_device": True, "__reduce__": _reduce,
    "__slots__": (),
}  # fmt: skip
"""What tensors on a device do otherwise."""


@functools.lru_cache(maxsize=256)
def cuda_class(cls: Any) -> Any:
    """The class of tensors on a device that are otherwise of class `cls`: a `Parameter` on a device is one still."""
    own = dict(_MEMBERS) | {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    if not overrides_functions(cls):
        own["__flambeau_function__"] = staticmethod(disabled_function)
        if not overrides_dispatch(cls):
            own["_is_plain_on_device"] = True
    own["_plain_class"] = cls
    return type(cls.__name__, (cls,), own)


@functools.partial(CLASSES.__setitem__, CudaStorage)
def _class_for(storage: Storage, cls: type) -> type:
    return cuda_class(cls)  # type: ignore[no-any-return]


@ON_DEVICES.append
def shared(array: Any) -> Tensor | None:
    """A tensor on the memory of an array of another library that is on a CUDA device; None for others.

    Raises RuntimeError where no device can be used.
    """
    if isinstance(array, Tensor | np.ndarray):
        return None
    if hasattr(array, "__dlpack_device__"):
        kind, index = array.__dlpack_device__()
        if kind != CUDA_KIND:
            return None
        with using(index):
            return adopted(library.cupy().from_dlpack(array), Device("cuda", index))
    if not hasattr(array, "__cuda_array_interface__"):
        return None
    device_array = library.cupy().asarray(array)
    return adopted(device_array, Device("cuda", int(device_array.device.id)))


def is_on_device(value: Any) -> bool:
    """Whether a value is a tensor on a CUDA device."""
    return isinstance(value, Tensor) and isinstance(value._storage, CudaStorage)


def shown(tensor: Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Tensor:
    """A view of a tensor on a device, as `view_of` gives one."""
    return settle(view_of(tensor, sizes, strides, offset))
