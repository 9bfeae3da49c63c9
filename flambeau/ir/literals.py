"""Stand-ins for constants that the text of a graph cannot carry: tensors, members of enums, objects."""

from __future__ import annotations

from typing import Any

from flambeau.schema.dtype import DType
from flambeau.util.record import dataclass


@dataclass(frozen=True)
class TensorLiteral:
    """A tensor constant as parsed text shows it. Printed tensors do not carry all their digits, hence no data."""

    text: str
    """`{3}`, ` 1  2 [ CPULongType{2} ]` or `<Tensor>`."""
    dtype: DType | None = None
    shape: tuple[int, ...] | None = None
    value: complex | None = None
    """The element of a one-element tensor, which text does carry."""


@dataclass(frozen=True)
class EnumMember:
    """A member of an enum whose Python class is not at hand."""

    class_name: str
    name: str


@dataclass(frozen=True)
class Opaque:
    """Text for an object that has no literal: `<Graph>`, `object(0x5581)`."""

    text: str


def is_tensor(value: Any) -> bool:
    """Whether a constant is a tensor or stands for one: anything with a `DType` as `dtype` and a `shape`."""
    if isinstance(value, TensorLiteral):
        return True
    return isinstance(getattr(value, "dtype", None), DType) and hasattr(value, "shape")
