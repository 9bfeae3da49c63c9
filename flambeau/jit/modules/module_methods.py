"""The Python side of a module's methods: which function a name leads to, and what scripting a module compiles."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, cast

from flambeau.frontend.emit.values.python_calls import modifier
from flambeau.jit.modules.module_overloads import TABLE
from flambeau.nn.module import Module
from flambeau.nn.utils.computed import SCRIPT

EXPORTED = "__flambeau_export__"
"""What marks a method that is compiled although nothing compiled calls it."""
TEXTS = "_script_texts"
"""The attribute of a `ScriptModule` under construction with the texts of its methods, each with its scope."""


NO_PROGRAM_YET = (
    "'ScriptMethodStub' object is not callable: {name} is marked with script_method, and is a program once the module "
    "is scripted. Derive the class from flambeau.jit.ScriptModule, or call flambeau.script(module)(...)"
)


class Stub:
    """A marked method of a `ScriptModule` subclass, until the class is complete."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises TypeError: the object is no scripted module."""
        raise TypeError(NO_PROGRAM_YET.format(name=self.function.__name__))


_BASES = ("flambeau.nn.module", "flambeau.nn.container", "flambeau.nn.parameter_containers")
"""Files whose methods are Python's affair: programs have other ways to walk over modules."""


def method_source(module: Module, name: str) -> Callable[..., Any] | None:
    """The Python function of a method, or of a property's getter, as this instance has it; None if it has none."""
    stub = stubs_of(module).get(name)
    if stub is not None:
        return stub
    member = inspect.getattr_static(module, name, None)
    if isinstance(member, Stub):
        return member.function
    if isinstance(member, property):
        return member.fget
    if inspect.ismethod(member) or inspect.isfunction(member):
        function = cast("Callable[..., Any]", getattr(member, "__func__", member))
        if name in vars(module) and not inspect.ismethod(member):
            return None  # a function that is an attribute: it is not given the module
        return None if is_of_base(function, name) else function
    return None


def stubs_of(module: Module) -> dict[str, Callable[..., Any]]:
    """The marked methods of a `ScriptModule` subclass; none of other classes."""
    stubs: dict[str, Callable[..., Any]] = getattr(type(module), "_script_stubs", {})
    return stubs


def texts_of(module: Module) -> dict[str, Callable[[str], Any]]:
    """The texts of methods that a `ScriptModule` was given, each with what its names mean."""
    texts: dict[str, Callable[[str], Any]] = vars(module).get(TEXTS, {})
    return texts


def is_of_base(function: Callable[..., Any], name: str) -> bool:
    """Whether a method is one that every module or container has in Python."""
    return function.__module__ in _BASES and name != "forward"


def is_unused_property(module: Module, name: str) -> bool:
    """Whether a property is left out of the program."""
    member = inspect.getattr_static(module, name, None)
    if not isinstance(member, property):
        return False
    listed = getattr(type(module), "__jit_unused_properties__", ())
    return name in listed or is_ignored(module, name) or modifier(member.fget) is not None


def is_ignored(module: Module, name: str) -> bool:
    """Whether a module leaves an attribute or property out of its programs."""
    return name in getattr(module, "__jit_ignored_attributes__", ())


def properties_of(module: Module) -> list[str]:
    """The properties that are part of the program: those that users wrote."""
    return [
        name
        for cls in type(module).__mro__
        if cls is not object
        for name, member in vars(cls).items()
        if isinstance(member, property)
        and (hasattr(member.fget, SCRIPT) or not cls.__module__.startswith("flambeau.nn"))
        and not is_unused_property(module, name)
    ]


def static_function(module: Module, name: str) -> Callable[..., Any] | None:
    """The function of a static method, or a class method with its class; None for what is neither."""
    member = inspect.getattr_static(module, name, None)
    if isinstance(member, staticmethod):
        return member.__func__
    return getattr(type(module), name) if isinstance(member, classmethod) else None


def export(method: Any) -> Any:
    """Mark a method of a module to be compiled by `script` although `forward` does not call it.

    Args:
        method: the method.

    >>> from flambeau import nn
    >>> class Doubler(nn.Module):
    ...     @export
    ...     def double(self, n: int) -> int:
    ...         return 2 * n
    """
    setattr(method, EXPORTED, True)
    return method


def exported_methods(module: Module) -> list[str]:
    """The methods that scripting a module compiles: `forward`, if it has one, and those marked with `export`."""
    marked = [n for n in dir(type(module)) if getattr(inspect.getattr_static(type(module), n), EXPORTED, False)]
    own = [n for n, value in vars(module).items() if getattr(value, EXPORTED, False)]
    if hasattr(type(module), "_script_stubs"):
        return [*stubs_of(module), *marked]
    names = dict.fromkeys(("forward", *marked, *own))
    compiled = [n for n in names if method_source(module, n) is not None and python_mark(module, n) is None]
    return [n for n in compiled if not any(n in vars(cls).get(TABLE, ()) for cls in type(module).__mro__)]


def python_mark(module: Module, name: str) -> str | None:
    """How a method is marked to stay Python; None for one that is compiled."""
    member = inspect.getattr_static(module, name, None)
    return None if member is None or isinstance(member, type | types.ModuleType) else modifier(member)


def python_method(module: Module, name: str) -> Callable[..., Any] | None:
    """A method that stays Python, unbound; None for what is none."""
    if python_mark(module, name) is None:
        return None
    member = inspect.getattr_static(module, name)
    return cast("Callable[..., Any]", getattr(member, "__func__", member)) if callable(member) else None
