"""`Tensor.storage()`: the memory behind a tensor as a row of elements of its dtype.

>>> import flambeau
>>> memory = flambeau.ones(2, 3)[1].storage()
>>> len(memory), memory[0], memory.dtype
(6, 1.0, flambeau.float32)
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.create import tensor
from flambeau.tensor.defaults import float_dtype
from flambeau.tensor.storage import HOME, Storage, place
from flambeau.tensor.tensor import Tensor, install_method, wrap

FORMS: Final = (
    "{name}() takes a number of elements, a sequence of them, or wrap_storage=memory, with dtype= of the elements, but "
    "got {what}"
)
ORDERS: Final = {"little": "<", "big": ">", "native": "="}
ORDER: Final = "invalid byte_order '{order}' (expected 'big', 'little' or 'native')"
NO_MULTIPLE: Final = "buffer size ({count}) must be a multiple of element size ({size})"
PAST_END: Final = "buffer has only {count} elements after offset {offset}, but specified a size of {wanted}"


class TypedStorage:
    """One extent of memory as elements of a dtype, shared with all tensors that look at it.

    It is read by index, slice and iteration, and written by index, `fill_` and `copy_`, which counts as a write through
    a tensor. Raises IndexError and TypeError as lists do, RuntimeError for slices with steps, for memory that may not
    be written, and for writes to memory on a device.

    Args:
        data: the elements, or how many there are.
        wrap_storage: the memory, in place of elements.
        dtype: of the elements; the default dtype where nothing is said.

    >>> import flambeau
    >>> x = flambeau.zeros(3)
    >>> memory = x.storage()
    >>> memory[1] = 4
    >>> x.tolist(), memory.tolist()
    ([0.0, 4.0, 0.0], [0.0, 4.0, 0.0])
    >>> flambeau.TypedStorage([1, 2], dtype=flambeau.int16).float().tolist()
    [1.0, 2.0]
    """

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(
        self, data: Sequence[Any] | builtins.int = (), *, wrap_storage: Storage | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        self.dtype = float_dtype() if dtype is None else dtype
        """Of the elements."""
        if wrap_storage is not None and not isinstance(wrap_storage, Storage):
            raise RuntimeError(FORMS.format(name=name, what=f"wrap_storage={type(wrap_storage).__name__}"))
        if wrap_storage is not None and dtype is None:
            raise RuntimeError(FORMS.format(name=name, what="wrap_storage without dtype"))
        self._untyped_storage = Storage(_elements_of(data, self.dtype, name)) if wrap_storage is None else wrap_storage

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str = "native", count: builtins.int = -1, offset: builtins.int = 0, *,
        dtype: DType | None = None,
    ) -> TypedStorage:  # fmt: skip
        """The elements that lie as bytes in a buffer, in memory of their own.

        Args:
            buffer: bytes, or what has such memory.
            byte_order: `"little"`, `"big"` or `"native"`.
            count: how many elements; -1 for all that there are.
            offset: how many bytes are passed over.
            dtype: of the elements.

        Raises ValueError for another order, and where elements are missing or incomplete.

        >>> import flambeau
        >>> flambeau.IntStorage.from_buffer(b"abcd", "big").tolist()
        [1633837924]
        """
        kind = float_dtype() if dtype is None else dtype
        if byte_order not in ORDERS:
            raise ValueError(ORDER.format(order=byte_order))
        data, size = memoryview(buffer).cast("B")[offset:], kind.itemsize
        if count < 0 and len(data) % size:
            raise ValueError(NO_MULTIPLE.format(count=len(data), size=size))
        if count * size > len(data):
            raise ValueError(PAST_END.format(count=len(data) // size, offset=offset, wanted=count))
        taken = Storage(np.frombuffer(data[: count * size] if count >= 0 else data, np.uint8).copy())
        if byte_order != "native" and byte_order != sys.byteorder:
            taken.byteswap(kind)
        return TypedStorage(wrap_storage=taken, dtype=kind)

    def _elements(self) -> np.ndarray[Any, Any]:
        """The elements, as the host reads them."""
        return np.frombuffer(self._untyped_storage.host_bytes(), self.dtype.numpy, len(self))

    def _written(self) -> np.ndarray[Any, Any]:
        """The elements, to be written: the write is counted."""
        return self._untyped_storage.written()[: self.nbytes()].view(self.dtype.numpy)

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._untyped_storage.device

    def untyped(self) -> Storage:
        """The memory itself, in bytes."""
        return self._untyped_storage

    def size(self) -> builtins.int:
        """The number of elements."""
        return len(self)

    def nbytes(self) -> builtins.int:
        """The length in bytes."""
        return len(self) * self.element_size()

    def element_size(self) -> builtins.int:
        """Bytes per element."""
        return self.dtype.itemsize

    def data_ptr(self) -> builtins.int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def tolist(self) -> list[Any]:
        """The elements as numbers of Python."""
        elements: list[Any] = self._elements().tolist()
        return elements

    def clone(self) -> TypedStorage:
        """A copy in new memory."""
        return self._of(self._elements().copy(), self.dtype)

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

    # -- the same elements otherwise ----------------------------------------------------------------------------------

    def _of(self, elements: np.ndarray[Any, Any], dtype: DType) -> TypedStorage:
        return TypedStorage(wrap_storage=Storage(elements), dtype=dtype)

    def type(self, dtype: DType | str | None = None) -> Any:
        """What it is, in words (`flambeau.FloatStorage`); or its elements in another dtype, itself for its own."""
        if dtype is None:
            return f"flambeau.{self.dtype.display}Storage"
        wanted = dtype if isinstance(dtype, DType) else _named(dtype)
        return self if wanted is self.dtype else self.to(wanted)

    def to(self, dtype: DType) -> TypedStorage:
        """A copy of the elements in a dtype."""
        return self._of(wrap(self._elements()).to(dtype)._array, dtype)

    def bool(self) -> TypedStorage:
        """The elements as bools."""
        return self.to(dtypes.bool_)

    def byte(self) -> TypedStorage:
        """The elements as uint8."""
        return self.to(dtypes.uint8)

    def char(self) -> TypedStorage:
        """The elements as int8."""
        return self.to(dtypes.int8)

    def short(self) -> TypedStorage:
        """The elements as int16."""
        return self.to(dtypes.int16)

    def int(self) -> TypedStorage:
        """The elements as int32."""
        return self.to(dtypes.int32)

    def long(self) -> TypedStorage:
        """The elements as int64."""
        return self.to(dtypes.int64)

    def half(self) -> TypedStorage:
        """The elements as float16."""
        return self.to(dtypes.float16)

    def bfloat16(self) -> TypedStorage:
        """The elements as bfloat16."""
        return self.to(dtypes.bfloat16)

    def float(self) -> TypedStorage:
        """The elements as float32."""
        return self.to(dtypes.float32)

    def double(self) -> TypedStorage:
        """The elements as float64."""
        return self.to(dtypes.float64)

    def complex_float(self) -> TypedStorage:
        """The elements as complex64."""
        return self.to(dtypes.complex64)

    def complex_double(self) -> TypedStorage:
        """The elements as complex128."""
        return self.to(dtypes.complex128)

    def cpu(self) -> TypedStorage:
        """The elements as the host has them: the storage itself, or a copy of what is on a device."""
        return self if self.device.type == "cpu" else self.clone()

    @property
    def is_cuda(self) -> builtins.bool:
        """Whether it is memory of a GPU."""
        return self._untyped_storage.is_cuda

    @property
    def is_sparse(self) -> builtins.bool:
        """Whether only some elements are stored: never."""
        return False

    def pickle_storage_type(self) -> str:
        """The name that archives have for such memory: `FloatStorage`."""
        return f"{self.dtype.display}Storage"

    def __len__(self) -> builtins.int:
        return self._untyped_storage.nbytes() // self.element_size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: builtins.int | slice) -> Any:
        position = place(index, len(self), type(self).__name__)
        if isinstance(position, slice):
            return self._of(self._elements()[position].copy(), self.dtype)
        return self._elements()[position].item()

    def __setitem__(self, index: builtins.int | slice, value: Any) -> None:
        position = place(index, len(self), type(self).__name__)
        self._written()[position] = value

    def __repr__(self) -> str:
        lines = "\n".join(f" {value}" for value in self)
        name = f"{HOME}.{type(self).__name__}(dtype={self.dtype}, device={self.device}) of size {len(self)}"
        return f"{lines}\n[{name}]"


def _elements_of(data: Any, dtype: DType, name: str) -> np.ndarray[Any, Any]:
    """Memory for so many elements, or with these."""
    if isinstance(data, builtins.int):
        return np.zeros(data, dtype.numpy)
    if isinstance(data, str | bytes) or not hasattr(data, "__len__"):
        raise TypeError(FORMS.format(name=name, what=type(data).__name__))
    return tensor(list(data), dtype=dtype)._array


def _named(name: str) -> DType:
    """The dtype that the name of a class of storages means, `flambeau.LongStorage`."""
    for dtype in (*dtypes.ALL, *dtypes.QUANTIZED):
        if name.rpartition(".")[2] == f"{dtype.display}Storage":
            return dtype
    raise ValueError(f"no storage is called {name!r}")


def storage(self: Tensor) -> TypedStorage:
    """The memory behind the tensor as a row of elements, shared with all views.

    >>> import flambeau
    >>> flambeau.arange(4).reshape(2, 2).mT.storage().tolist()
    [0, 1, 2, 3]
    """
    return TypedStorage(wrap_storage=self._storage, dtype=self.dtype)


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
