"""What has been compiled: functions by their Python object, for as long as that lives, in one compilation unit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any
from weakref import WeakValueDictionary

from flambeau.executor.executor import attach
from flambeau.jit.example_inputs import ExampleTypes
from flambeau.program import instances
from flambeau.program.classes import ClassDefinition, InterfaceDefinition
from flambeau.program.function import Function
from flambeau.program.unit import CompilationUnit
from flambeau.util.kept_on import KeptOn
from flambeau.util.locks import NoForkLock
from flambeau.util.names import qualified_name as qualified_name
from flambeau.util.record import dataclass, field


@dataclass(slots=True)
class Trial:
    """What was compiled on trial."""

    done: dict[int, set[Any]]
    """What had been compiled of each template, by identity, before."""
    functions: set[int] = field(default_factory=set)
    """By identity."""
    alive: list[Function] = field(default_factory=list)
    """The same, so that no other takes their identity."""
    classes: list[ClassDefinition] = field(default_factory=list)


class ScriptRegistry:
    """Compiled functions and the unit they belong to. One serves the process; a test may have its own."""

    def __init__(self) -> None:
        self.unit = CompilationUnit(WeakValueDictionary())
        self._functions: KeptOn[Any, Function] = KeptOn()
        self.classes: KeptOn[type, ClassDefinition] = KeptOn()
        """What Python classes were compiled to."""
        self.interfaces: KeptOn[type, InterfaceDefinition] = KeptOn()
        """What Python classes that are interfaces stand for."""
        self.templates: KeptOn[FunctionType, Any] = KeptOn()
        """Functions that are compiled for each call."""
        self._trial: Trial | None = None
        self.examples: ExampleTypes | None = None
        """What parameters without annotations are, where examples say it."""
        self.lock = NoForkLock()
        """Held while compiling: two threads that script one function get one result."""

    def beside(self, examples: ExampleTypes) -> ScriptRegistry:
        """A registry for functions that are compiled for examples: with the same unit, classes and lock, and functions
        of its own.
        """
        other = ScriptRegistry()
        other.unit, other.classes, other.interfaces, other.lock = self.unit, self.classes, self.interfaces, self.lock
        other.examples = examples
        return other

    def find(self, fn: FunctionType | type) -> Function | None:
        """What `fn` was compiled to, unless it asks not to be cached."""
        if getattr(fn, "__disable_jit_function_caching__", False):
            return None
        return self._functions.get(fn)

    def keep(self, fn: FunctionType | type, function: Function) -> Function:
        """Remember what `fn` was compiled to for as long as `fn` lives, and give it an executor."""
        self.attach(function)
        if not getattr(fn, "__disable_jit_function_caching__", False):
            self._functions[fn] = function
        return function

    def attach(self, function: Function) -> None:
        """Give a function an executor."""
        attach(function)
        if self._trial is not None:
            self._trial.functions.add(id(function))
            self._trial.alive.append(function)

    def add_class(self, cls: type, definition: ClassDefinition) -> None:
        """Note what a class is compiled to."""
        self.classes[cls] = definition
        self.unit.register_type(definition.type)
        instances.register(definition)
        if self._trial is not None:
            self._trial.classes.append(definition)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """Functions that are compiled within the block are forgotten behind it; what they tell may prove wrong."""
        before, self._trial = self._trial, Trial({id(t): set(t.done) for t in self.templates.values()})
        try:
            yield self._trial
        finally:
            self._forget(self._trial)
            self._trial = before

    def _forget(self, trial: Trial) -> None:
        for fn in self._functions:
            if id(self._functions.get(fn)) in trial.functions:
                self.forget(fn)
        for definition in self.unit.classes():
            if isinstance(definition, ClassDefinition):
                definition.forget(trial.functions)
        for template in self.templates.values():
            for key in template.done.keys() - trial.done.get(id(template), set()):
                del template.done[key]

    def forget_class(self, cls: type) -> None:
        """Compile a class anew next time."""
        definition = self.classes.pop(cls)
        if definition is not None:
            self.unit.types.pop(definition.name, None)
            instances.forget(definition)

    def clear_classes(self) -> None:
        """Forget all classes and interfaces. Functions that use them keep what they were compiled with."""
        taken = [d.name for d in self.classes.values()] + [d.name for d in self.interfaces.values()]
        for name in taken:
            self.unit.types.pop(name, None)
        self.classes.clear()
        self.interfaces.clear()

    def python_functions(self) -> list[FunctionType]:
        """The Python functions that have been compiled and are alive."""
        return list(self._functions)

    def forget(self, fn: FunctionType) -> None:
        """Compile `fn` anew next time."""
        self._functions.pop(fn)


REGISTRY = ScriptRegistry()
"""The process's own."""
