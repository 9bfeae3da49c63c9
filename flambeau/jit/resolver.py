"""What the compiler learns of the Python world: names of a function's scope, the functions it calls, the package's operators."""

from __future__ import annotations

import inspect
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flambeau.frontend.compile import compile_def
from flambeau.frontend.convert import get_tree
from flambeau.frontend.python_source import NameScope, innermost_function, parameter_defaults
from flambeau.frontend.resolver import MISSING, recursion_error
from flambeau.jit.modules import ModuleValue
from flambeau.jit.registry import ScriptRegistry, qualified_name
from flambeau.nn.module import Module
from flambeau.program.function import Function
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

NOT_COMPILABLE = (
    "Python builtin {value!r} is currently not supported in Torchscript: it has no Python source to compile. Call it outside "
    "the scripted function and pass the result in, or use the operator or math function that does the same"
)


class _Active(threading.local):
    """The functions being compiled on this thread, outermost first."""

    stack: tuple[Any, ...] = ()


_active = _Active()


@contextmanager
def compiling(fn: Any, where: SourceRange | None) -> Iterator[None]:
    """Note that `fn` is being compiled. Raises CompileError if it is already: it calls itself."""
    if any(f is fn for f in _active.stack):
        raise recursion_error(fn.__name__, where or SourceRange.at("<string>", 1, 0))
    before, _active.stack = _active.stack, (*_active.stack, fn)
    try:
        yield
    finally:
        _active.stack = before


class PythonResolver:
    """Resolves names in the scope of one function: what it closes over, its module's globals, builtins."""

    def __init__(self, scope: Callable[[str], Any], registry: ScriptRegistry, caller: str) -> None:
        self._scope = scope
        self._registry = registry
        self._caller = caller

    def resolve(self, name: str) -> Any:
        """The Python value of a name, or MISSING."""
        try:
            return self._scope(name)
        except KeyError:
            return MISSING

    def compile_function(self, fn: Any, where: SourceRange) -> Function | None:
        """The compiled form of a called function. Raises CompileError with the chain of calls that led there."""
        if isinstance(fn, Function):
            return fn
        held = getattr(fn, "script_function", None)
        if isinstance(held, Function):
            return held
        if isinstance(fn, types.BuiltinFunctionType):
            raise CompileError(NOT_COMPILABLE.format(value=fn), where)
        if not inspect.isfunction(fn):
            return None
        try:
            return compile_python_function(fn, self._registry, where)
        except CompileError as error:
            raise error.with_caller(fn.__name__, self._caller, where) from None

    def operator_name(self, value: Any) -> str | None:
        """The operator that a function of this package runs."""
        name = getattr(value, "operator_name", None)
        return name if isinstance(name, str) else None

    def class_type(self, cls: type, where: SourceRange | None) -> Type | None:
        """Classes of users have no form in programs yet."""
        return None

    def sugared(self, value: Any, where: SourceRange) -> Any:
        """Modules that are no part of the caller are refused; nothing else needs a form of its own."""
        if isinstance(value, ModuleValue):
            return value
        if isinstance(value, Module):
            raise CompileError(
                "Cannot call a ScriptModule that is not a submodule of the caller: make it an attribute of the module whose "
                "method this is, or pass the tensors it needs",
                where,
            )
        return None


def compile_python_function(fn: Any, registry: ScriptRegistry, where: SourceRange | None = None) -> Function:
    """The compiled form of a Python function, from the cache if it was compiled before.

    Raises CompileError when the source cannot be had, is not of the language, or does not type-check.
    """
    inner = innermost_function(fn)
    found = registry.find(inner)
    if found is not None:
        return found
    with compiling(inner, where):
        tree = get_tree(fn)
        resolver = PythonResolver(NameScope.of_function(fn), registry, inner.__name__)
        function = compile_def(
            tree, resolver, name=registry.unit.unique_name(qualified_name(inner)), defaults=parameter_defaults(fn)
        )
        function.doc = inspect.getdoc(inner) or ""
    return registry.keep(inner, function)
