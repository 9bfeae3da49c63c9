"""A compiled method together with its object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.codegen.callable_type import prepare
from flambeau.executor.executor import Executor
from flambeau.jit.arguments import Signature
from flambeau.jit.function import ScriptFunction
from flambeau.jit.modules.python_view import view_of
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.schema.types import NamedType, Type
from flambeau.serialize.python_print import print_code, print_code_with_constants
from flambeau.tensor import observer


def has_view(type_: Type) -> bool:
    """Whether values of the type, or values in them, look otherwise in Python: modules, objects without a class."""
    if isinstance(type_, NamedType):
        return not getattr(type_.definition, "has_instances", False)
    return any(map(has_view, type_.contained))


def shown(value: Any) -> Any:
    """A result as Python sees it: modules are scripted modules, objects of archives' classes have their methods."""
    match value:
        case ScriptObject():
            return view_of(value)
        case list():
            return [shown(v) for v in value]
        case tuple() if type(value) is tuple:
            return tuple([shown(v) for v in value])
        case dict():
            return {k: shown(v) for k, v in value.items()}
    return value


class ScriptMethod(ScriptFunction):
    """A compiled method with its object; the object is no argument of a call."""

    def __init__(self, function: Function, owner: ScriptObject, executor: Executor) -> None:
        super().__init__(function, executor=executor)
        self.owner = owner
        self._first: tuple[Any, ...] = (owner,)
        self._signature = Signature(function.schema, first=1)
        prepare(self, executor.stub, type(self)._call_slowly, owner)
        self._gives_objects = any(has_view(r.type) for r in function.schema.returns)

    @property
    def code(self) -> str:
        """The graph as source again; the object's own type is left out, as methods have it."""
        return print_code(self.script_function, is_method=True)

    @property
    def code_with_constants(self) -> tuple[str, Any]:
        """`code`, and the namespace of the constants it names `CONSTANTS.c0`."""
        return print_code_with_constants(self.script_function, is_method=True)

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        result = super()._call_slowly(*args, **kwargs)
        return shown(result) if self._gives_objects else result

    def _watched(self, watching: observer.Observer, arguments: tuple[Any, ...]) -> Any:
        return watching.called_method(self, arguments, lambda plain: self._executor(*self._first, *plain))


def forwarding(name: str) -> Callable[..., Any]:
    """A method of a scripted module's class that runs the compiled one of this name."""

    def call(self: Any, *args: Any) -> Any:
        return self._method(name)(*args)

    return call


def without_module(method: ScriptMethod) -> Callable[..., Any]:
    """A compiled hook as Python's calls of hooks want it: its object is bound already."""
    return lambda module, *args: method(*args)
