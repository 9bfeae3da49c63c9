"""`script` of a class: everything in it is compiled now, and the class itself comes back."""

from __future__ import annotations

import enum
from typing import Any

from flambeau.frontend.scopes.type_annotations import type_of
from flambeau.jit.classes.class_definitions import CHANGED, PythonSource
from flambeau.jit.classes.interface_definitions import is_interface
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.resolver import PythonResolver, is_class_of_objects
from flambeau.program.classes import ClassDefinition
from flambeau.util.inversions import CLASS_COMPILER

NO_FORM = "class '{name}' has no form in programs: script takes classes written in Python, dataclasses and enums"


def script_class(cls: type, classes: ModuleClasses) -> type:
    """Compile all of a class. Raises CompileError for what programs cannot have, TypeError for classes of no use.

    `flambeau.script` calls it.

    >>> import flambeau
    >>> @flambeau.script
    ... class Counter:
    ...     def __init__(self) -> None:
    ...         self.n = 0
    ...     def step(self) -> int:
    ...         self.n += 1
    ...         return self.n
    >>> counter = Counter()
    >>> counter.step() + counter.step()
    3
    """
    if is_interface(cls):
        return cls
    with classes.registry.lock:
        if issubclass(cls, enum.Enum) or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
            type_of(cls, PythonResolver(lambda name: _scope(cls, name), classes, cls.__name__))
            return cls
        definition = define(cls, classes)
        if definition is None:
            raise TypeError(NO_FORM.format(name=cls.__name__))
        assert isinstance(definition.source, PythonSource)
        definition.source.compile_all()
    return cls


def define(cls: type, classes: ModuleClasses) -> ClassDefinition | None:
    """The definition of a class of users, made now if there is none; None for other classes.

    >>> from flambeau.jit.script import CLASSES
    >>> class Point:
    ...     def __init__(self, x: float) -> None:
    ...         self.x = x
    >>> define(Point, CLASSES).name, define(int, CLASSES)
    ('__torch__.flambeau.jit.classes.script_class.Point', None)
    """
    if not is_class_of_objects(cls) or is_interface(cls):
        return None
    with classes.registry.lock:
        resolver = PythonResolver(lambda name: _scope(cls, name), classes, cls.__name__)
        return resolver.class_definition(cls, None)


def _scope(cls: type, name: str) -> Any:
    if name == cls.__name__:
        return cls
    raise KeyError(name)


def let_instances_be_met(classes: ModuleClasses) -> None:
    """Let classes be compiled when a call meets their instances, which a parameter of an interface may take.

    It is called once, with the classes that `flambeau.script` makes:

    >>> import flambeau
    >>> @flambeau.jit.interface
    ... class Sized:
    ...     def size(self) -> int: ...
    >>> class Pair:
    ...     def __init__(self) -> None:
    ...         self.items = [1, 2]
    ...     def size(self) -> int:
    ...         return len(self.items)
    >>> @flambeau.script
    ... def size_of(x: Sized) -> int:
    ...     return x.size()
    >>> size_of(Pair())  # nobody scripted Pair
    2
    """
    CLASS_COMPILER.provide(lambda cls: define(cls, classes))


__all__ = ["CHANGED", "define", "let_instances_be_met", "script_class"]
