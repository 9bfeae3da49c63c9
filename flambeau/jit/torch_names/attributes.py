"""Attributes of nodes by the kinds that TorchScript's users name them by: `node.i("value")`, `node.s_("name", "f")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ir.constants import TensorLiteral, is_tensor
from flambeau.ir.graph import Graph
from flambeau.ir.node import Node
from flambeau.schema.types import Type

UNDEFINED = "required keyword attribute '{name}' is undefined"
WRONG_KIND = "required keyword attribute '{name}' has the wrong type: its kind is {found}, not {wanted}"
_KINDS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("i", lambda v: isinstance(v, int)),
    ("f", lambda v: isinstance(v, float)),
    ("c", lambda v: isinstance(v, complex)),
    ("s", lambda v: isinstance(v, str)),
    ("t", lambda v: is_tensor(v) or isinstance(v, TensorLiteral)),
    ("g", lambda v: isinstance(v, Graph)),
    ("ty", lambda v: isinstance(v, Type)),
)


def kind_of(value: Any) -> str:
    """The kind of an attribute: `i`, `f`, `c`, `s`, `t`, `g` or `ty`, with an `s` behind it for lists; else `ival`.

    >>> kind_of(3), kind_of([1.5]), kind_of({})
    ('i', 'fs', 'ival')
    """
    for kind, holds in _KINDS:
        if holds(value):
            return kind
        if isinstance(value, list) and value and all(map(holds, value)):
            return f"{kind}s"
    return "ival"


def _getter(kind: str) -> Any:
    def get(self: Attributes, name: str) -> Any:
        held = self._attributes()
        if name not in held:
            raise RuntimeError(UNDEFINED.format(name=name))
        value = held[name]
        if kind == "ival" or kind_of(value) == kind or (value == [] and kind.endswith("s")):
            return value
        raise RuntimeError(WRONG_KIND.format(name=name, found=kind_of(value), wanted=kind))

    get.__doc__ = f"The attribute of kind `{kind}`. Raises RuntimeError for one of another kind, or if there is none."
    return get


def _setter(kind: str) -> Any:
    def put(self: Attributes, name: str, value: Any) -> Any:
        self._attributes()[name] = value
        return self

    put.__doc__ = f"Give the node an attribute of kind `{kind}`."
    return put


class Attributes:
    """The part of a node that holds its attributes."""

    ours: Node

    def _attributes(self) -> dict[str, Any]:
        return self.ours.attributes

    i, f, c, s, t, g, ty = map(_getter, ("i", "f", "c", "s", "t", "g", "ty"))
    fs, cs, ss, ts, gs, tys, ival = map(_getter, ("fs", "cs", "ss", "ts", "gs", "tys", "ival"))
    i_, f_, c_, s_, t_, g_, ty_ = map(_setter, ("i", "f", "c", "s", "t", "g", "ty"))
    is_, fs_, cs_, ss_, ts_, gs_, tys_, ival_ = map(_setter, ("is", "fs", "cs", "ss", "ts", "gs", "tys", "ival"))

    def kindOf(self, name: str) -> str:
        """The kind of an attribute. Raises RuntimeError if there is none of that name."""
        return kind_of(self.ival(name))

    def hasAttribute(self, name: str) -> bool:
        """Whether there is an attribute of that name."""
        return name in self._attributes()

    def hasAttributes(self) -> bool:
        """Whether there is any attribute."""
        return bool(self._attributes())

    def attributeNames(self) -> list[str]:
        """The names of all attributes."""
        return list(self._attributes())

    def removeAttribute(self, name: str) -> Any:
        """Take an attribute away. Raises RuntimeError if there is none."""
        self.ival(name)
        del self._attributes()[name]
        return self

    def copyAttributes(self, other: Attributes) -> Any:
        """Have the attributes of another node, and no others."""
        given = dict(other._attributes())
        self._attributes().clear()
        self._attributes().update(given)
        return self


setattr(Attributes, "is", _getter("is"))
