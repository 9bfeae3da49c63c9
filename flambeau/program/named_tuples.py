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
from flambeau.util.kept_on import KeptOn

_classes: dict[tuple[str, tuple[str, ...]], type] = {}
_makers: KeptOn[type, Any] = KeptOn()
_users: WeakValueDictionary[str, type] = WeakValueDictionary()
REDEFINED = (
    "Can't redefine NamedTuple: {name} is the name of two classes with different fields, and programs know them by "
    "name. Give one another name"
)


def register_class(type_: TupleType, python: type) -> None:
    """Let values of `type_` be instances of the user's own class.

    Raises RuntimeError for a class that differs in its fields from another one of its name.
    """
    assert type_.name is not None
    known = _users.get(type_.name)
    if known is not None and known is not python and _declared(known) != _declared(python):
        raise RuntimeError(REDEFINED.format(name=type_.name))
    _users[type_.name] = python


def _declared(python: type) -> tuple[Any, ...]:
    annotations = getattr(python, "__annotations__", {})
    return getattr(python, "_fields", ()), tuple((n, str(a)) for n, a in annotations.items())


def user_class(type_: TupleType) -> type | None:
    """The user's own class of a named tuple type; None where there is none."""
    cls = None if type_.name is None else _users.get(type_.name)
    return cls if getattr(cls, "_fields", None) == type_.fields else None


def tuple_class(type_: TupleType) -> Any:
    """The class of a named tuple type: the user's, or one made for it."""
    assert type_.name is not None
    return class_of_fields(type_.name, type_.fields)


def class_of_fields(name: str, fields: tuple[str, ...]) -> Any:
    """The class of this name with these fields: the user's, or one made for it."""
    cls = _users.get(name)
    if cls is None or getattr(cls, "_fields", ()) != fields:
        cls = _classes.get((name, fields))
    if cls is None:
        cls = _classes[name, fields] = namedtuple(name.rpartition(".")[2], fields)
    return cls


def maker_of_fields(name: str, fields: tuple[str, ...]) -> Any:
    """What makes an instance of that class of its items: always the same object for one class."""
    cls = class_of_fields(name, fields)
    maker = _makers.get(cls)
    if maker is None:
        maker = _makers[cls] = cls._make
    return maker
