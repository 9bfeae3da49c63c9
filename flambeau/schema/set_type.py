"""The type of sets, which TorchScript does not have: Python's own sets, of items that can be hashed.

>>> from flambeau.schema.types import INT
>>> str(SetType(INT)), SetType(INT).annotation
('Set(int)', 'Set[int]')
"""

from __future__ import annotations

from flambeau.schema.types import ListType, TensorType, Type, is_key
from flambeau.util.record import dataclass


@dataclass(frozen=True)
class SetType(Type):
    """A mutable set of one element type; invariant."""

    kind = "SetType"
    element: Type

    @property
    def contained(self) -> tuple[Type, ...]:
        return (self.element,)

    def with_contained(self, new: tuple[Type, ...]) -> Type:
        return SetType(*new)


def is_item(type_: Type) -> bool:
    """Whether values of the type may be items of sets: what keys of dicts may be, but tensors."""
    return is_key(type_) and not isinstance(type_, TensorType)


def as_list(type_: Type) -> Type:
    """The list of what is in a set."""
    return ListType(type_.contained[0])
