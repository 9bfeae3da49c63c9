"""Objects of classes that an archive defines, as Python sees them: attributes and methods, which run compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from flambeau.executor.executor import executor_of
from flambeau.executor.options import Options
from flambeau.jit.classes.script_instances import CALLED_BY_PYTHON
from flambeau.jit.loading.loaded_module import LoadedModule
from flambeau.jit.modules import python_view
from flambeau.jit.modules.promoted_method import method_of
from flambeau.jit.modules.script_method import ScriptMethod, shown
from flambeau.jit.script import CLASSES
from flambeau.jit.value_conversion import MismatchError, converter
from flambeau.program.classes import ClassDefinition
from flambeau.program.object import ScriptObject

WRONG_TYPE = "Wrong type for attribute assignment of '{name}'. Expected {wanted}: {reason}"
NOTHING = "'{owner}' object has no attribute '{name}'"


class LoadedObject:
    """An object of a class without a Python class. Two of them are equal if they are of one object.

    Raises AttributeError for what its class does not have, RuntimeError for a value that an attribute cannot have.
    """

    __slots__ = ("__weakref__", "_methods", "script_object")
    script_object: ScriptObject
    _methods: dict[str, ScriptMethod]

    def __init__(self, script_object: ScriptObject) -> None:
        object.__setattr__(self, "script_object", script_object)
        object.__setattr__(self, "_methods", {})

    def _method(self, name: str) -> ScriptMethod:
        method = self._methods.get(name)
        if method is None:
            function = self.script_object.type.definition.methods[name]
            method = self._methods[name] = method_of(function, self.script_object, executor_of(function))
        return method

    def __getattr__(self, name: str) -> Any:
        definition: ClassDefinition = self.script_object.type.definition
        if name in definition.slots:
            return shown(self.script_object.get(name))
        if name in definition.methods:
            return self._method(name)
        raise AttributeError(NOTHING.format(owner=definition.name.rpartition(".")[2], name=name))

    def __setattr__(self, name: str, value: Any) -> None:
        definition: ClassDefinition = self.script_object.type.definition
        attribute = definition.attribute(name)
        if attribute is None:
            raise AttributeError(NOTHING.format(owner=definition.name.rpartition(".")[2], name=name))
        try:
            self.script_object.set(name, converter(attribute.type)(value))
        except MismatchError as reason:
            wanted = attribute.type.annotation
            raise RuntimeError(WRONG_TYPE.format(name=name, wanted=wanted, reason=reason)) from None

    def __dir__(self) -> list[str]:
        definition: ClassDefinition = self.script_object.type.definition
        return sorted((*definition.slots, *definition.methods))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoadedObject) and self.script_object is other.script_object

    def __hash__(self) -> int:
        return id(self.script_object)

    def __repr__(self) -> str:
        return f"<object of {self.script_object.type.name}>"


@cache
def _kind_for(names: frozenset[str]) -> type[LoadedObject]:
    """The class of views of objects that have these special methods."""
    own = {name: _forwarding(name) for name in names}
    if "__eq__" in own:
        own["__hash__"] = LoadedObject.__hash__
    return type("LoadedObject", (LoadedObject,), {"__slots__": (), **own}) if own else LoadedObject


def _forwarding(name: str) -> Callable[..., Any]:
    def call(self: LoadedObject, *args: Any) -> Any:
        return self._method(name)(*args)

    return call


def view(script_object: ScriptObject) -> Any:
    """What an object of a program is in Python."""
    definition: ClassDefinition = script_object.type.definition
    if definition.is_module:
        return LoadedModule.around(script_object, CLASSES, Options())
    view_object = _kind_for(frozenset(n for n in CALLED_BY_PYTHON if n in definition.methods))(script_object)
    python_view.register(script_object, view_object)
    return view_object


python_view.made_by(view)
