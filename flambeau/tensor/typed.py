"""The old names of tensors with a dtype, `FloatTensor` and its like: constructors, and classes for `isinstance`.

New programs write `flambeau.tensor(data, dtype=flambeau.float32)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.tensor.create import tensor
from flambeau.tensor.tensor import Tensor, wrap


class TypedTensor(type):
    """A class whose instances are the tensors of one dtype.

    >>> x = LongTensor([1, 2])
    >>> x.dtype.name, isinstance(x, LongTensor), isinstance(x, FloatTensor)
    ('int64', True, False)
    """

    dtype: DType

    def __call__(cls, *given: Any) -> Any:
        """Of one sequence, its elements; of sizes, uninitialised memory; of nothing, an empty vector."""
        if len(given) == 1 and not isinstance(given[0], int):
            return tensor(given[0], dtype=cls.dtype)
        if not all(isinstance(size, int) for size in given):
            cls._refuse(given)
        return wrap(np.empty(given or (0,), cls.dtype.numpy))

    def _refuse(cls, given: tuple[Any, ...]) -> NoReturn:
        found = ", ".join(type(g).__name__ for g in given)
        raise TypeError(f"{cls.__name__} takes one sequence of numbers, or sizes, got ({found})")

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype


def _typed(name: str, dtype: DType) -> Any:
    doc = f"The {dtype.name} tensors: `{name}([1, 2])` holds these numbers, `{name}(2, 3)` is memory of these sizes."
    return TypedTensor(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "flambeau"})


FloatTensor: Final = _typed("FloatTensor", dtypes.float32)
DoubleTensor: Final = _typed("DoubleTensor", dtypes.float64)
HalfTensor: Final = _typed("HalfTensor", dtypes.float16)
BFloat16Tensor: Final = _typed("BFloat16Tensor", dtypes.bfloat16)
ByteTensor: Final = _typed("ByteTensor", dtypes.uint8)
CharTensor: Final = _typed("CharTensor", dtypes.int8)
ShortTensor: Final = _typed("ShortTensor", dtypes.int16)
IntTensor: Final = _typed("IntTensor", dtypes.int32)
LongTensor: Final = _typed("LongTensor", dtypes.int64)
BoolTensor: Final = _typed("BoolTensor", dtypes.bool_)

TYPED_TENSORS: Final[Mapping[str, Any]] = {
    cls.__name__: cls
    for cls in (
        FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor, ShortTensor, IntTensor,
        LongTensor, BoolTensor,
    )
}  # fmt: skip
"""All of them by name."""
