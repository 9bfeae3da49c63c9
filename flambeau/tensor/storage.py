"""The memory behind tensors.

A `Storage` is the extent of memory that one or more tensors look at. It is found from the first array that was
wrapped; views address it in bytes from its beginning. Its `version` counts writes, so that whoever saved a tensor can
tell that it changed.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import numpy as np

from flambeau.schema.device import CPU, Device
from flambeau.tensor.array_library import address_of
from flambeau.tensor.grad_mode import mode, refuse_writing


class _Memory:
    """An array interface over an extent, which keeps the owner of the memory alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: np.ndarray[Any, Any], address: int, nbytes: int) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, not owner.flags.writeable),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


HOME: Final = "flambeau.storage"
STEPS: Final = "Trying to slice with a step of {step}, but only a step of 1 is supported"
INDEX: Final = "can't index a {name} with {index}"
RANGE: Final = "index {index} out of range for storage of size {size}"
ON_DEVICE: Final = "the elements of memory on '{device}' are written through tensors: tensor[i] = value"
NO_BYTES: Final = "UntypedStorage() takes a number of bytes, or a sequence of them, but got {kind}"
NO_MULTIPLE: Final = "the length of data is not a multiple of {size}"
OTHER_SIZE: Final = "size does not match, self was {mine} bytes but src was {theirs} bytes"


def place(index: Any, size: int, name: str) -> Any:
    """An index from the beginning, or a slice without steps, among `size` elements of a storage.

    >>> place(-1, 3, "UntypedStorage")
    2
    """
    if isinstance(index, slice):
        if index.step not in (None, 1):
            raise RuntimeError(STEPS.format(step=index.step))
        return index
    if isinstance(index, bool) or not isinstance(index, int):
        raise TypeError(INDEX.format(name=name, index=type(index)))
    if not -size <= index < size:
        raise IndexError(RANGE.format(index=index, size=size))
    return index % size


def _new_bytes(contents: Any) -> np.ndarray[Any, Any]:
    """Memory for so many bytes, or with these."""
    if isinstance(contents, int):
        return np.zeros(contents, np.uint8)
    try:
        return np.array(list(contents), np.uint8)
    except (TypeError, ValueError):
        raise TypeError(NO_BYTES.format(kind=type(contents).__name__)) from None


class Storage:
    """One extent of memory as bytes, shared with all tensors that look at it.

    Tensors give theirs by `untyped_storage()`. It is read by index, slice and iteration, and written by index, `fill_`
    and `copy_`, which counts as a write through a tensor. One made of an array shares the array's memory.

    Args:
        base: the array whose memory it is; or how many bytes there are; or a sequence of bytes.

    >>> import flambeau
    >>> x = flambeau.zeros(3)
    >>> memory = x.untyped_storage()
    >>> isinstance(memory, flambeau.UntypedStorage), memory.nbytes(), memory.data_ptr() == x.data_ptr()
    (True, 12, True)
    >>> flambeau.UntypedStorage([1, 2, 255])[1:].tolist()
    [2, 255]
    """

    __slots__ = ("__weakref__", "_bytes", "base", "version")
    has_data: ClassVar[bool] = True
    """Whether there are elements."""

    base: np.ndarray[Any, Any]
    """The array this storage was made from: it owns the memory or refers to its owner."""
    version: int
    """How many times the memory was written through a tensor; less than 0 if it was made in `inference_mode()`."""

    def __init__(self, base: Any = 0) -> None:
        self.base = base if isinstance(base, np.ndarray) else _new_bytes(base)
        self.version = mode.first_version
        self._bytes: np.ndarray[Any, Any] | None = None

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return CPU

    @property
    def address(self) -> int:
        """The address of the first byte."""
        return address_of(self.base)

    def counted_apart(self, version: int | None = None) -> Storage:
        """The same memory with a count of writes of its own, from `version` on, or from 0. Memory without data, or of a
        device, has one count."""
        if type(self) is not Storage:
            return self
        result = Storage(self.base)
        result.version = min(self.version, 0) if version is None else version
        return result

    @property
    def identity(self) -> int:
        """The same number for storages of the same memory, while one of them lives."""
        return id(self.base) if type(self) is Storage else id(self)

    @property
    def owner(self) -> Any:
        """The object that owns the memory: one for all storages made of views of one array."""
        array: Any = self.base
        while isinstance(array, np.ndarray) and array.base is not None:
            array = array.base
        return array

    def nbytes(self) -> int:
        """The length of the extent in bytes: up to the last element that `base` reaches."""
        base = self.base
        if base.size == 0:
            return 0
        return int(sum((n - 1) * s for n, s in zip(base.shape, base.strides, strict=True)) + base.itemsize)

    def size(self) -> int:
        """Bytes of the memory, as `nbytes()`."""
        return self.nbytes()

    @property
    def is_writeable(self) -> bool:
        """Whether the owner of the memory allows writes."""
        return self.base.flags.writeable

    @property
    def bytes(self) -> np.ndarray[Any, Any]:
        """The whole extent as one row of bytes."""
        if self._bytes is None:
            if self.base.size == 0:
                self._bytes = np.empty(0, np.uint8)
            else:
                self._bytes = np.asarray(_Memory(self.base, self.address, self.nbytes()))
        return self._bytes

    def host_bytes(self) -> Any:
        """The bytes of the whole extent, as the host can read them."""
        return self.bytes.data

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self.address

    # -- bytes one by one ---------------------------------------------------------------------------------------------

    def written(self) -> np.ndarray[Any, Any]:
        """The bytes, to be written: the write is counted."""
        if self.device.type != "cpu":
            raise RuntimeError(ON_DEVICE.format(device=self.device))
        refuse_writing(self.version)
        if self.version >= 0:
            self.version += 1
        return self.bytes

    def element_size(self) -> int:
        """Bytes per element: one."""
        return 1

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return list(self.host_bytes())

    def fill_(self, value: int) -> Storage:
        """Make every byte this number; the storage itself."""
        self.written()[...] = value
        return self

    def copy_(self, source: Storage, non_blocking: bool = False) -> Storage:
        """Take the bytes of memory of the same length; the storage itself. Raises RuntimeError for another length."""
        if len(self) != len(source):
            raise RuntimeError(OTHER_SIZE.format(mine=len(self), theirs=len(source)))
        self.written()[...] = np.frombuffer(source.host_bytes(), np.uint8)
        return self

    def clone(self) -> Storage:
        """A copy in new memory."""
        return Storage(np.frombuffer(self.host_bytes(), np.uint8).copy())

    def byteswap(self, dtype: Any) -> None:
        """Reverse the bytes of each element of a dtype, in place. Raises RuntimeError where the last one is incomplete.

        >>> import flambeau
        >>> memory = Storage([1, 2, 3, 4])
        >>> memory.byteswap(flambeau.int16)
        >>> memory.tolist()
        [2, 1, 4, 3]
        """
        if len(self) % dtype.itemsize:
            raise RuntimeError(NO_MULTIPLE.format(size=dtype.itemsize))
        width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        rows = self.written().reshape(-1, width)
        rows[...] = rows[:, ::-1].copy()

    def untyped(self) -> Storage:
        """The storage itself."""
        return self

    def cpu(self) -> Storage:
        """The memory as the host has it: the storage itself, or a copy of what is on a device."""
        return self if self.device.type == "cpu" else self.clone()

    def type(self) -> str:
        """What it is, in words."""
        return f"{HOME}.UntypedStorage"

    @property
    def is_cuda(self) -> bool:
        """Whether it is memory of a GPU."""
        return self.device.type == "cuda"

    def __getitem__(self, index: Any) -> Any:
        at = place(index, len(self), "flambeau.UntypedStorage")
        return Storage(self.bytes[at]) if isinstance(at, slice) else int(self.bytes[at])

    def __setitem__(self, index: Any, value: Any) -> None:
        at = place(index, len(self), "flambeau.UntypedStorage")
        self.written()[at] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __len__(self) -> int:
        return self.nbytes()

    def __reduce__(self) -> tuple[builtins.type[Storage], tuple[np.ndarray[Any, Any]]]:
        return (Storage, (self.bytes.copy(),))

    def __deepcopy__(self, memo: dict[int, Any]) -> Storage:
        result = memo[id(self)] = Storage(self.bytes.copy())
        return result

    def __repr__(self) -> str:
        lines = "".join(f" {byte}\n" for byte in self.bytes.tolist())
        return f"{lines}[{HOME}.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
