"""Python classes for named tuple types, so that what a program returns has the fields its type says.

>>> from flambeau.schema.types import INT, TupleType
>>> tuple_class(TupleType((INT, INT), "__torch__.Point", ("x", "y")))(1, 2)
Point(x=1, y=2)
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any
from weakref import WeakValueDictionary

from flambeau.schema.types import TupleType

_classes: dict[tuple[str, tuple[str, ...]], type] = {}
_users: WeakValueDictionary[tuple[str, tuple[str, ...]], type] = WeakValueDictionary()


def register_class(type_: TupleType, python: type) -> None:
    """Let values of `type_` be instances of the user's own class."""
    assert type_.name is not None
    _users[type_.name, type_.fields] = python


def tuple_class(type_: TupleType) -> Any:
    """The class of a named tuple type: the user's, or one made for it."""
    assert type_.name is not None
    key = (type_.name, type_.fields)
    found = _users.get(key) or _classes.get(key)
    if found is None:
        found = _classes[key] = namedtuple(type_.name.rpartition(".")[2], type_.fields)
    return found
