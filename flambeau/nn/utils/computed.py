"""Attributes of one module that are computed whenever they are read, in Python and in programs.

The module gets a class of its own, which has them as properties. Copies of the module share the class, so it is never
changed: who gets another attribute, or loses one, gets another class.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

SCRIPT = "__flambeau_text__"
"""The attribute of a property's getter with the text that it is in programs; its names are the getter's."""
KIND = "__flambeau_kind__"
"""The attribute of a property's getter that says what for it is computed."""
NO_PICKLE = "Serialization of parametrized modules is only supported through state_dict()"
FLAT = "{module} reads all its weights at once: '{name}' cannot be computed from others. Write it with cells"
_OWN = "_computed_here"
"""The table of properties, in a class that is one module's."""


def put(module: Module, class_name: str, name: str, computed: property) -> None:
    """Give a module a property. Its class gets a name, if this is the first."""
    cls = type(module)
    own = vars(cls).get(_OWN)
    base = cls if own is None else cls.__mro__[1]
    module.__class__ = _made(class_name if own is None else cls.__name__, base, {**(own or {}), name: computed})


def drop(module: Module, name: str) -> None:
    """Take a property away; without any, the class is what it was in the beginning."""
    cls = type(module)
    left = {n: p for n, p in vars(cls)[_OWN].items() if n != name}
    module.__class__ = _made(cls.__name__, cls.__mro__[1], left) if left else cls.__mro__[1]


def _made(name: str, base: type[Module], computed: dict[str, property]) -> type[Module]:
    members: dict[str, Any] = {
        "__module__": base.__module__, "__reduce__": _refuse_pickle, "__copy__": _copied,
        "__deepcopy__": lambda self, memo: _copied(self, memo), _OWN: computed, **computed,
    }  # fmt: skip
    subclass: type[Module] = type(name, (base,), members)
    subclass.__qualname__ = name
    return subclass


def _copied(self: Module, memo: dict[int, Any] | None = None) -> Module:
    copied = object.__new__(type(self))
    if memo is not None:
        memo[id(self)] = copied
    vars(copied).update(vars(self) if memo is None else deepcopy(vars(self), memo))
    return copied


def _refuse_pickle(self: Module) -> Any:
    raise RuntimeError(NO_PICKLE)


def compute(module: Module, name: str, kind: str, make: Callable[[Any], Tensor], text: str) -> None:
    """Let an attribute be what `make` gives for the module; in programs, what `text` says over `self`, which may use
    the names that are global where `make` is written. `kind` says what it is for."""
    setattr(make, SCRIPT, f"def {name}(self):\n    return {text}\n")
    setattr(make, KIND, kind)
    put(module, type(module).__name__, name, property(make))


def refuse_flat(module: Module, name: str) -> None:
    """Raise RuntimeError for a weight of a module that reads all of them at once, whatever its attributes are."""
    if name in vars(module).get("_flat_weights_names", ()):
        raise RuntimeError(FLAT.format(module=type(module).__name__, name=name))


def computed_as(module: Module, name: str) -> str | None:
    """What an attribute is computed for; None for one that is not."""
    purpose = vars(type(module)).get(_OWN, {}).get(name)
    kind: str | None = getattr(purpose.fget, KIND, None) if isinstance(purpose, property) else None
    return kind
