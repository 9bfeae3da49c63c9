"""The old names of memory with a dtype, `FloatStorage` and its like: constructors, and classes for `isinstance`.

New programs write `flambeau.TypedStorage(data, dtype=flambeau.float32)`.

>>> import flambeau
>>> flambeau.LongStorage([1, 2]).tolist(), isinstance(flambeau.ones(2).storage(), flambeau.FloatStorage)
([1, 2], True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.tensor.storage import Storage
from flambeau.tensor.typed_storage import TypedStorage


class _OfOneDtype(type):
    """Says of memory whether its elements are of the dtype of a class."""

    dtype: DType

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, TypedStorage) and (cls is _LegacyStorage or value.dtype is cls.dtype)


class _LegacyStorage(TypedStorage, metaclass=_OfOneDtype):
    """Memory of one dtype, which the class says: what is made is a `TypedStorage`."""

    def __new__(cls, data: Sequence[Any] | int = (), *, wrap_storage: Storage | None = None) -> Any:
        if wrap_storage is not None:
            return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype)
        return TypedStorage(data, dtype=cls.dtype)

    @classmethod
    def from_buffer(  # type: ignore[override]  # the class says the dtype
        cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0
    ) -> TypedStorage:
        """The elements that lie as bytes in a buffer, in memory of their own; see `TypedStorage.from_buffer`."""
        return TypedStorage.from_buffer(buffer, byte_order, count, offset, dtype=cls.dtype)


def _class_of(dtype: DType) -> Any:
    name = f"{dtype.display}Storage"
    doc = (
        f"Memory of {dtype.name}: `{name}([1])` has this element, `{name}(2)` has two.\n\nArgs:\n    data: elements, "
        f"or how many.\n    wrap_storage: memory whose elements they are.\n\nExample:\n    flambeau.{name}(2)"
    )
    return _OfOneDtype(name, (_LegacyStorage,), {"dtype": dtype, "__doc__": doc, "__module__": "flambeau"})


BFloat16Storage: Final = _class_of(dtypes.bfloat16)
BoolStorage: Final = _class_of(dtypes.bool_)
ByteStorage: Final = _class_of(dtypes.uint8)
CharStorage: Final = _class_of(dtypes.int8)
ComplexDoubleStorage: Final = _class_of(dtypes.complex128)
ComplexFloatStorage: Final = _class_of(dtypes.complex64)
DoubleStorage: Final = _class_of(dtypes.float64)
FloatStorage: Final = _class_of(dtypes.float32)
HalfStorage: Final = _class_of(dtypes.float16)
IntStorage: Final = _class_of(dtypes.int32)
LongStorage: Final = _class_of(dtypes.int64)
ShortStorage: Final = _class_of(dtypes.int16)
