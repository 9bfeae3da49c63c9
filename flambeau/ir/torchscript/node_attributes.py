"""Attributes of nodes by the kinds that TorchScript's users name them by: `node.i("value")`, `node.s_("name", "f")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ir.kinds import HIDDEN
from flambeau.ir.torchscript.attribute_kinds import given, kind_of
from flambeau.ir.torchscript.types import Type
from flambeau.schema import types as t

UNDEFINED = "required keyword attribute '{name}' is undefined"
WRONG_KIND = "required keyword attribute '{name}' has the wrong type: its kind is {kind}, not {wanted}"


def _same(value: Any) -> Any:
    return value


def _types_of(values: list[t.Type]) -> list[Type]:
    return [Type.of(v) for v in values]


_SHOWN: Final[dict[str, Callable[[Any], Any]]] = {"ty": Type.of, "tys": _types_of}
"""What users see of what a node has, by kinds."""


def _getter(kind: str) -> Any:
    def get(self: Any, name: str) -> Any:
        if name not in self.attributes:
            raise RuntimeError(UNDEFINED.format(name=name))
        value = self.attributes[name]
        if kind == "ival" or kind_of(value) == kind or (value == [] and kind.endswith("s")):
            return _SHOWN.get(kind, _same)(value)
        raise RuntimeError(WRONG_KIND.format(name=name, kind=kind_of(value), wanted=kind))

    get.__doc__ = f"The attribute of kind `{kind}`. Raises RuntimeError for one of another kind, or if there is none."
    return get


def _setter(kind: str) -> Any:
    def put(self: Any, name: str, value: Any) -> Any:
        self.attributes[name] = given(kind, value)
        return self

    put.__doc__ = f"Give the node an attribute of kind `{kind}`. Raises TypeError for a value of another kind."
    return put


class AttributeMethods:
    """The methods of a node that read and write its attributes."""

    __slots__ = ()

    i, f, c, s, t, g, ty = map(_getter, ("i", "f", "c", "s", "t", "g", "ty"))
    fs, cs, ss, ts, gs, tys, ival = map(_getter, ("fs", "cs", "ss", "ts", "gs", "tys", "ival"))
    i_, f_, c_, s_, t_, g_, ty_ = map(_setter, ("i", "f", "c", "s", "t", "g", "ty"))
    is_, fs_, cs_, ss_, ts_, gs_, tys_, ival_ = map(_setter, ("is", "fs", "cs", "ss", "ts", "gs", "tys", "ival"))
    z, zs = _getter("t"), _getter("ts")
    vars()["is"] = _getter("is")  # a keyword of Python's, so users say getattr(node, "is")

    def z_(self: Any, name: str, value: Any) -> Any:
        """Give the node a tensor of one element as an attribute, without axes."""
        return self.t_(name, value.reshape([]))

    def zs_(self: Any, name: str, values: Any) -> Any:
        """Give the node a list of tensors of one element each as an attribute, without axes."""
        return self.ts_(name, [value.reshape([]) for value in values])

    def kindOf(self, name: str) -> str:
        """The kind of an attribute. Raises RuntimeError if there is none of that name."""
        return kind_of(self.ival(name))

    def hasAttribute(self: Any, name: str) -> bool:
        """Whether there is an attribute of that name."""
        return name in self.attributes

    def hasAttributes(self: Any) -> bool:
        """Whether there is any attribute, of those that its text shows."""
        return bool(self.attributeNames())

    def attributeNames(self: Any) -> list[str]:
        """The names of all attributes that its text shows."""
        return [name for name in self.attributes if name not in HIDDEN]

    def removeAttribute(self: Any, name: str) -> Any:
        """Take an attribute away. Raises RuntimeError if there is none."""
        self.ival(name)
        del self.attributes[name]
        return self

    def copyAttributes(self: Any, other: Any) -> Any:
        """Have the attributes of another node, and no others."""
        attributes = dict(other.attributes)
        self.attributes.clear()
        self.attributes.update(attributes)
        return self
