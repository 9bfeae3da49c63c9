"""What operators do that put elements, as they are or converted, into new memory or into their first argument, in the
words in which native code asks about operators by themselves.

>>> from flambeau.schema import registry
>>> from flambeau.schema.dtype import float32
>>> from flambeau.schema.types import TensorType
>>> registry.get("aten::clone").kernel.meaning.predict_dtype(TensorType(dtype=float32), None)
flambeau.float32
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.schema.dtype import Category, DType, bool_, float32, float64, int64
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import FloatType, IntType, TensorType
from flambeau.tensor.array_library import np
from flambeau.util.record import dataclass

Gives = Callable[..., "DType | None"]
"""From the types of tensors and numbers, and what other arguments are, the dtype of the elements that are written; None
for calls that Python runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CopiedElements:
    """What is known of one overload."""

    schema: FunctionSchema
    gives: Gives
    source: int | None
    """The position of the argument whose elements, or number, are written; None for zeros."""
    code_at: int | None = None
    """The position of the code of the dtype that they become, if calls name one."""

    @property
    def raw(self) -> tuple[int, ...]:
        """The positions of tensors that are not converted before: what is written is, at last."""
        return self.values

    @property
    def values(self) -> tuple[int, ...]:
        """The positions of the arguments that are written."""
        return () if self.source is None else (self.source,)

    def scalar(self, s: Any, *values: Any) -> Any:
        """What is written, of the values of all arguments."""
        if self.source is None:
            return 0
        elements = values[self.source]
        is_flag = self.code_at is not None and values[self.code_at] == bool_.code
        return np.not_equal(elements, 0) if is_flag else elements

    def predict_dtype(self, *types: Any) -> DType | None:
        """The dtype that is written."""
        return self.gives(*types)

    def predict_compute(self, *types: Any) -> DType | None:
        """The same: nothing is computed."""
        return self.gives(*types)


def converted(source: TensorType, target: DType | None) -> DType | None:
    """`target` where elements become that without a look at each: neither bools nor, of fractions, integers; else
    None."""
    own = source.dtype
    if own is None or target is None or own is target:
        return target
    is_wider = own.category <= target.category <= Category.FLOAT
    return target if is_wider and target.category != Category.BOOL else None


def of_number(source: Any, target: DType | None) -> DType | None:
    """`target` where it has room for all numbers of a type: Python refuses finite ones that it has no room for."""
    rooms = {FloatType: (float64,), IntType: (int64, float32, float64)}
    return target if target in rooms.get(type(source), ()) else None
