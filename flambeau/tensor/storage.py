"""The memory behind tensors.

A `Storage` is the extent of memory that one or more tensors look at. It is found from the first array that was
wrapped; views address it in bytes from its beginning. Its `version` counts writes, so that whoever saved a tensor can
tell that it changed.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np

from flambeau.schema.device import CPU, Device
from flambeau.tensor.array_library import address_of
from flambeau.tensor.grad_mode import mode


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


class Storage:
    """One extent of memory as bytes, shared with all tensors that look at it.

    Tensors give theirs by `untyped_storage()`. One made of an array shares the array's memory, and keeps it alive.

    Args:
        base: the array whose memory it is.

    >>> import flambeau
    >>> x = flambeau.zeros(3)
    >>> memory = x.untyped_storage()
    >>> isinstance(memory, flambeau.UntypedStorage), memory.nbytes(), memory.data_ptr() == x.data_ptr()
    (True, 12, True)
    """

    __slots__ = ("__weakref__", "_bytes", "base", "version")
    has_data: ClassVar[bool] = True
    """Whether there are elements."""

    base: np.ndarray[Any, Any]
    """The array this storage was made from: it owns the memory or refers to its owner."""
    version: int
    """How many times the memory was written through a tensor; less than 0 if it was made in `inference_mode()`."""

    def __init__(self, base: np.ndarray[Any, Any]) -> None:
        self.base = base
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
        """The same."""
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

    def __len__(self) -> int:
        return self.nbytes()

    def __reduce__(self) -> tuple[type[Storage], tuple[np.ndarray[Any, Any]]]:
        return (Storage, (self.bytes.copy(),))

    def __deepcopy__(self, memo: dict[int, Any]) -> Storage:
        result = memo[id(self)] = Storage(self.bytes.copy())
        return result

    def __repr__(self) -> str:
        lines = "".join(f" {byte}\n" for byte in self.bytes.tolist())
        return f"{lines}[{HOME}.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
