"""`script` of an object: its methods compiled, its attributes its own.

>>> import flambeau
>>> class Counter:
...     def __init__(self, n: int) -> None:
...         self.n = n
...     def step(self, by: int = 1) -> int:
...         self.n += by
...         return self.n
>>> counter = Counter(3)
>>> scripted = flambeau.script(counter)
>>> scripted.step(), scripted.step(by=5), counter.n
(4, 9, 9)
>>> scripted
<scripted Counter with n=9>
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.executor.executor import Executor, executor_of
from flambeau.executor.options import Options
from flambeau.jit.arguments import ArgumentError
from flambeau.jit.classes.class_values import source_of
from flambeau.jit.function import ScriptFunction
from flambeau.jit.modules.script_method import ScriptMethod
from flambeau.jit.value_conversion import MismatchError, converter
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function

CALLED_BY_PYTHON: Final = (
    "__call__", "__len__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__bool__",
    "__int__", "__float__", "__str__", "__enter__", "__exit__", "__add__", "__sub__", "__mul__", "__truediv__",
    "__floordiv__", "__mod__", "__pow__", "__matmul__", "__neg__", "__abs__", "__and__", "__or__", "__xor__",
    "__invert__", "__radd__", "__rsub__", "__rmul__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__",
)  # fmt: skip
"""Methods that Python finds on the class of an object only."""


class InstanceMethod(ScriptMethod):
    """A compiled method with an instance of a Python class, which is looked at in each call."""

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        schema = self.script_function.schema
        try:
            converter(schema.arguments[0].type)(self.owner)
        except MismatchError as error:
            raise ArgumentError(f"{schema.name}() of an object that has changed: {error}") from None
        return super()._call_slowly(*args, **kwargs)


class ScriptInstance:
    """An object whose methods run compiled. Everything else is the object's own; programs are given the object itself.

    Raises AttributeError for what neither has, ArgumentError for an attribute that has lost its type.
    """

    __slots__ = ("_definition", "_methods", "_options", "script_object")

    def __init__(self, instance: Any, definition: ClassDefinition, options: Options) -> None:
        put = object.__setattr__
        put(self, "script_object", instance)
        put(self, "_definition", definition)
        put(self, "_options", options)
        put(self, "_methods", {})

    def _method(self, function: Function) -> InstanceMethod:
        attribute: InstanceMethod | None = self._methods.get(function.name)
        if attribute is None:
            executor = executor_of(function) if self._options == Options() else Executor(function, self._options)
            attribute = self._methods[function.name] = InstanceMethod(function, self.script_object, executor)
        return attribute

    def __getattr__(self, name: str) -> Any:
        definition = self._definition
        accessor = definition.find_property(name)
        if accessor is not None:
            return self._method(accessor[0])()
        method = definition.find_method(name)
        if method is not None:
            return self._method(method)
        static = source_of(definition).static(name)
        return getattr(self.script_object, name) if static is None else ScriptFunction(static)

    def __setattr__(self, name: str, value: Any) -> None:
        accessor = self._definition.find_property(name)
        if accessor is not None and accessor[1] is not None:
            self._method(accessor[1])(value)
            return
        attribute = self._definition.attribute(name)
        if attribute is not None:
            try:
                value = converter(attribute.type)(value)
            except MismatchError as error:
                raise RuntimeError(
                    f"Wrong type for attribute assignment of '{name}'. Expected {attribute.type.annotation}: {error}"
                ) from None
        setattr(self.script_object, name, value)

    def __dir__(self) -> list[str]:
        return dir(self.script_object)

    def __repr__(self) -> str:
        attributes = [(a.name, getattr(self.script_object, a.name, "?")) for a in self._definition.attributes]
        shown = ", ".join(f"{name}={value!r}" for name, value in attributes)
        return f"<scripted {type(self.script_object).__name__}{' with ' * bool(shown)}{shown}>"

    __hash__ = object.__hash__


def _forwarding(name: str) -> Callable[..., Any]:
    def call(self: ScriptInstance, *args: Any) -> Any:
        method = self._definition.find_method(name)
        if method is not None:
            result = self._method(method)(*args)
            return iter(result) if name == "__iter__" else result
        plain = getattr(object, name, None)
        if plain is not None and name in ("__eq__", "__ne__", "__str__"):
            return plain(self, *args)
        if name == "__bool__":
            return bool(self.script_object)
        raise TypeError(f"'{type(self.script_object).__name__}' object has no method {name}")

    call.__name__ = name
    call.__qualname__ = f"ScriptInstance.{name}"
    return call


for _name in CALLED_BY_PYTHON:
    setattr(ScriptInstance, _name, _forwarding(_name))
