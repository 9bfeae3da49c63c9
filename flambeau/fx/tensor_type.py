"""Types of tensors by their sizes, some of which may be unknown, and the order that gradual typing has on them.

>>> TensorType((1, Dyn, 3))
TensorType[(1, Dyn, 3)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class _Unknown:
    """Any type, and any size."""

    __name__ = "_DynType"

    def __repr__(self) -> str:
        return "Dyn"

    def __reduce__(self) -> str:
        return "Dyn"


Dyn: Final = _Unknown()
"""Stands for a type or a size that is not known."""


class TensorType:
    """The type of tensors of some sizes.

    Args:
        dim: the sizes: numbers, or `Dyn`.

    >>> TensorType((2, Dyn)) == TensorType((2, Dyn)), TensorType([2]).__args__
    (True, (2,))
    """

    def __init__(self, dim: Sequence[Any]) -> None:
        self.__origin__ = TensorType
        self.__args__ = tuple(dim)

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self.__args__ == other.__args__

    def __hash__(self) -> int:
        return hash((TensorType, self.__args__))

    @staticmethod
    def __class_getitem__(dim: Any) -> TensorType:
        return TensorType(dim if isinstance(dim, tuple) else (dim,))


def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether two types, or sizes, may be those of one value: they agree wherever both are known.

    >>> is_consistent(TensorType((2, Dyn)), TensorType((Dyn, 3))), is_consistent(TensorType((2,)), TensorType((3,)))
    (True, False)
    """
    if t1 is Dyn or t2 is Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return _agree(t1, t2, is_consistent)
    return bool(t1 == t2)


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether the first type says all that the second one says, and perhaps more.

    >>> is_more_precise(TensorType((2, 3)), TensorType((2, Dyn))), is_more_precise(Dyn, TensorType((2,)))
    (True, False)
    """
    if t2 is Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return _agree(t1, t2, is_more_precise)
    return bool(t1 == t2)


def _agree(t1: TensorType, t2: TensorType, compare: Any) -> bool:
    return len(t1.__args__) == len(t2.__args__) and all(map(compare, t1.__args__, t2.__args__))
