"""To and from other libraries without copying: NumPy arrays and DLPack."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau.schema.argument_rules import to_dtype
from flambeau.schema.dtype import DType, from_numpy_dtype
from flambeau.tensor.tensor import Tensor, install_method, wrap


def from_numpy(array: Any) -> Tensor:
    """A tensor on the array's memory, with its sizes and strides (0 included).

    A read-only array gives a tensor that can be read; writing to it is refused. Raises TypeError for anything but an
    array and for dtypes that no tensor has, ValueError for negative strides.

    >>> from_numpy(np.zeros((2, 3), np.float32)).stride()
    (3, 1)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    from_numpy_dtype(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    if any(s % array.itemsize for s in array.strides):
        raise ValueError(
            f"given numpy array has byte strides {array.strides} that are not a multiple of the element byte size "
            f"{array.itemsize}. Copy the array first, with array.copy()."
        )
    return wrap(np.asarray(array))


def _from_function(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """What NumPy's functions make of a tensor is one: `np.sin(x)`. Truths are bytes, as PyTorch gives them."""
    result = np.asarray(array)
    if result.dtype == np.bool_:
        result = result.astype(np.uint8)
    return from_numpy(result) if result.dtype.kind in "biufc" else array


install_method("__array_wrap__", _from_function)
NO_ELEMENTS = "both buffer length ({length}) and count ({count}) must not be 0"
WRONG_OFFSET = "offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
NO_MULTIPLE = (
    "buffer length ({left} bytes) after offset ({offset} bytes) must be a multiple of element size ({size}): pass count"
)
TOO_FEW = (
    "requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual "
    "buffer length ({length} bytes)"
)


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A vector on the memory of an object with a buffer: `bytes`, a `bytearray`, an array of Python's, mapped memory.

    Memory that is read-only, as that of `bytes`, gives a tensor that can be read; writing to it is refused.

    Args:
        buffer: the object.
        dtype: of the elements, in the byte order of this machine.
        count: how many elements; all by default.
        offset: bytes before the first one.
        requires_grad: record gradients.

    Raises TypeError for an object without a buffer, ValueError for a count or an offset beyond it, and where no whole
    number of elements is left.

    >>> import flambeau
    >>> frombuffer(bytes([1, 0, 2, 0]), dtype=flambeau.int16)
    tensor([1, 2], dtype=flambeau.int16)
    """
    wanted = to_dtype(dtype)
    length, size = memoryview(buffer).nbytes, wanted.itemsize
    if length == 0 or count == 0:
        raise ValueError(NO_ELEMENTS.format(length=length, count=count))
    if not 0 <= offset < length:
        raise ValueError(WRONG_OFFSET.format(offset=offset, length=length))
    left = length - offset
    if count < 0 and left % size:
        raise ValueError(NO_MULTIPLE.format(left=left, offset=offset, size=size))
    if count > 0 and count * size > left:
        raise ValueError(TOO_FEW.format(count=count, size=size, offset=offset, length=length))
    array = np.frombuffer(memoryview(buffer).cast("B"), wanted.numpy, count if count > 0 else left // size, offset)
    result = wrap(array)
    return result.requires_grad_() if requires_grad else result


def from_numpy_or_copy(array: np.ndarray[Any, Any]) -> Tensor:
    """`from_numpy`, but an array whose strides no tensor can have is copied."""
    if any(s < 0 or s % array.itemsize for s in array.strides):
        array = array.copy()
    return from_numpy(array)


FOREIGN_GRADIENTS = (
    "a tensor of PyTorch that asks for gradients was given: they do not reach it through Flambeau; pass x.detach(), or "
    "make the parameters tensors of Flambeau"
)
ON_DEVICES: list[Callable[[Any], Tensor | None]] = []
"""What takes arrays of other libraries on a device: gives a tensor on their memory, or None for those of the host."""
FOREIGN_DEVICE = (
    "a tensor of {library} on {device!r} was given: only memory of the CPU and of CUDA devices is shared; pass x.cpu()"
)


def is_foreign(value: Any) -> bool:
    """Whether a value is an array or tensor of a library other than NumPy that can be shared.

    >>> is_foreign(np.ones(2)), is_foreign([1, 2])
    (False, False)
    """
    cls = type(value)
    is_array = hasattr(cls, "__dlpack__") or hasattr(cls, "__cuda_array_interface__")
    return is_array and not isinstance(value, Tensor | np.ndarray)


def from_array(array: Any) -> Tensor:
    """A tensor on the memory of an array of NumPy, or of another library that exports DLPack.

    Memory of a CUDA device is shared there. Raises TypeError for what asks for gradients or is elsewhere, and for
    dtypes that no tensor has.
    """
    if isinstance(array, np.ndarray):
        return from_numpy_or_copy(array)
    if getattr(array, "requires_grad", False):
        raise TypeError(FOREIGN_GRADIENTS)
    for take in ON_DEVICES:
        shared = take(array)
        if shared is not None:
            return shared
    device = getattr(array, "device", None)
    if getattr(device, "type", "cpu") != "cpu":
        raise TypeError(FOREIGN_DEVICE.format(library=type(array).__module__.partition(".")[0], device=str(device)))
    return from_dlpack(array)


USED_CAPSULE = (
    "from_dlpack received an invalid capsule: one that holds no tensor, or one whose tensor was taken already. Each "
    "to_dlpack(x) is for one from_dlpack(capsule)"
)


def from_dlpack(source: Any) -> Tensor:
    """A tensor on the memory of any object that exports DLPack (arrays and tensors of other libraries), on the CPU or a
    CUDA device.

    Raises BufferError when the exporter refuses, TypeError for an object that exports nothing.

    Args:
        source: an object with `__dlpack__`, or a capsule.

    >>> import flambeau, numpy as np
    >>> flambeau.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    for take in ON_DEVICES:
        shared = take(source)
        if shared is not None:
            return shared
    if type(source).__name__ == "PyCapsule":
        try:
            array = np.from_dlpack(_Exporter(source))
        except ValueError as error:
            raise RuntimeError(USED_CAPSULE) from error
        return from_numpy_or_copy(_writable(array))
    if not hasattr(source, "__dlpack__"):
        raise TypeError(f"expected an object with __dlpack__, got {type(source).__name__}")
    return from_numpy_or_copy(np.from_dlpack(source))


class _Exporter:
    """The object that a capsule may have come from."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _writable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory to write to: NumPy lets nobody write to what came in a capsule without a version, though all that
    may be written come so."""
    if array.flags.writeable or not array.size:
        return array
    low, high = np.lib.array_utils.byte_bounds(array)
    memory: Any = (ctypes.c_char * (high - low)).from_address(low)
    memory.array = array  # the memory lives as long as this does
    return np.ndarray(array.shape, array.dtype, memory, array.ctypes.data - low, array.strides)


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule on the tensor's memory.

    Args:
        tensor: the tensor whose memory is shared.

    >>> type(to_dlpack(wrap(np.ones(2)))).__name__
    'PyCapsule'
    """
    return tensor.__dlpack__()
