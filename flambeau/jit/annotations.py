"""Types that signatures use and `typing` does not have.

>>> BroadcastingList2[int].__name__
'BroadcastingList2'
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from flambeau.frontend.annotations import type_of
from flambeau.schema.types import TENSOR, Type


class BroadcastingList:
    """`BroadcastingListN[T]`: a list of `N`, or one `T` that stands for a list of `N` equal ones."""

    def __init__(self, size: int, element: Any = None) -> None:
        self.__name__ = f"BroadcastingList{size}"
        self.size = size
        self.__origin__ = list
        self.__args__ = () if element is None else (element,)

    def __getitem__(self, element: Any) -> BroadcastingList:
        return BroadcastingList(self.size, element)

    def __repr__(self) -> str:
        return self.__name__


BroadcastingList1: Final = BroadcastingList(1)
BroadcastingList2: Final = BroadcastingList(2)
BroadcastingList3: Final = BroadcastingList(3)
BroadcastingList4: Final = BroadcastingList(4)
BroadcastingList5: Final = BroadcastingList(5)
BroadcastingList6: Final = BroadcastingList(6)


def get_signature(fn: Callable[..., Any]) -> tuple[list[Type], Type] | None:
    """The types of parameters and result that annotations give a function; None if it has none.

    >>> get_signature(lambda x: x) is None
    True
    """
    signature = inspect.signature(fn, eval_str=True)
    given = [p.annotation for p in signature.parameters.values()]
    if all(a is inspect.Parameter.empty for a in (*given, signature.return_annotation)):
        return None
    return [_type(a) for a in given], _type(signature.return_annotation)


def _type(annotation: Any) -> Type:
    return TENSOR if annotation is inspect.Parameter.empty else type_of(annotation)
