"""`Tensor.storage()`: the memory behind a tensor as a row of elements of its dtype.

>>> import flambeau
>>> memory = flambeau.ones(2, 3)[1].storage()
>>> len(memory), memory[0], memory.dtype
(6, 1.0, flambeau.float32)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.storage import HOME, Storage
from flambeau.tensor.tensor import Tensor, install_method

ON_DEVICE: Final = "the elements of memory on '{device}' are written through tensors: tensor[i] = value"
STEPS: Final = "Trying to slice with a step of {step}, but only a step of 1 is supported"
INDEX: Final = "can't index a {name} with {index}"
RANGE: Final = "index {index} out of range for storage of size {size}"


class TypedStorage:
    """One extent of memory as elements of a dtype, shared with all tensors that look at it.

    It is read by index, slice and iteration, and written by index, `fill_` and `copy_`, which counts as a write through
    a tensor. Raises IndexError and TypeError as lists do, RuntimeError for slices with steps, for memory that may not
    be written, and for writes to memory on a device.

    Args:
        storage: the memory.
        dtype: of the elements.

    >>> import flambeau
    >>> x = flambeau.zeros(3)
    >>> memory = x.storage()
    >>> memory[1] = 4
    >>> x.tolist(), memory.tolist()
    ([0.0, 4.0, 0.0], [0.0, 4.0, 0.0])
    """

    __slots__ = ("_storage", "dtype")

    def __init__(self, storage: Storage, dtype: DType) -> None:
        self._storage = storage
        self.dtype = dtype
        """Of the elements."""

    def _elements(self) -> np.ndarray[Any, Any]:
        """The elements, as the host reads them."""
        return np.frombuffer(self._storage.host_bytes(), self.dtype.numpy, len(self))

    def _written(self) -> np.ndarray[Any, Any]:
        """The elements, to be written: the write is counted."""
        if self._storage.device.type != "cpu":
            raise RuntimeError(ON_DEVICE.format(device=self._storage.device))
        refuse_writing(self._storage.version)
        if self._storage.version >= 0:
            self._storage.version += 1
        return self._storage.bytes[: self.nbytes()].view(self.dtype.numpy)

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._storage.device

    def untyped(self) -> Storage:
        """The memory itself, in bytes."""
        return self._storage

    def size(self) -> int:
        """The number of elements."""
        return len(self)

    def nbytes(self) -> int:
        """The length in bytes."""
        return len(self) * self.element_size()

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._storage.data_ptr()

    def tolist(self) -> list[Any]:
        """The elements as numbers of Python."""
        elements: list[Any] = self._elements().tolist()
        return elements

    def clone(self) -> TypedStorage:
        """A copy in new memory."""
        return TypedStorage(Storage(self._elements().copy()), self.dtype)

    def fill_(self, value: Any) -> TypedStorage:
        """Make every element this number; the storage itself.

        Args:
            value: a number.
        """
        self._written()[...] = value
        return self

    def copy_(self, source: TypedStorage | Sequence[Any]) -> TypedStorage:
        """Take the elements of another storage of this size, converted; the storage itself. Raises RuntimeError for one
        of another size.

        Args:
            source: a storage, or a sequence of numbers.
        """
        if len(source) != len(self):
            raise RuntimeError(f"size mismatch: {len(self)} elements cannot take {len(source)}")
        values = source._elements().copy() if isinstance(source, TypedStorage) else source
        self._written()[...] = values
        return self

    def __len__(self) -> int:
        return self._storage.nbytes() // self.element_size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> Any:
        position = self._place(index)
        if isinstance(position, slice):
            return TypedStorage(Storage(self._elements()[position].copy()), self.dtype)
        return self._elements()[position].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        position = self._place(index)
        self._written()[position] = value

    def _place(self, index: Any) -> Any:
        """An index from the beginning, or a slice without steps."""
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(STEPS.format(step=index.step))
            return index
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(INDEX.format(name=type(self).__name__, index=type(index)))
        if not -len(self) <= index < len(self):
            raise IndexError(RANGE.format(index=index, size=len(self)))
        return index % len(self)

    def __repr__(self) -> str:
        lines = "\n".join(f" {value}" for value in self)
        name = f"{HOME}.{type(self).__name__}(dtype={self.dtype}, device={self.device}) of size {len(self)}"
        return f"{lines}\n[{name}]"


def storage(self: Tensor) -> TypedStorage:
    """The memory behind the tensor as a row of elements, shared with all views.

    >>> import flambeau
    >>> flambeau.arange(4).reshape(2, 2).mT.storage().tolist()
    [0, 1, 2, 3]
    """
    return TypedStorage(self._storage, self.dtype)


install_method("storage", storage)


def is_storage(obj: Any) -> bool:
    """Whether `obj` is memory behind tensors: bytes, or a row of elements.

    Args:
        obj: anything.

    >>> import flambeau
    >>> is_storage(flambeau.ones(2).storage()), is_storage(flambeau.ones(2).untyped_storage()), is_storage([1.0])
    (True, True, False)
    """
    return isinstance(obj, TypedStorage | Storage)
