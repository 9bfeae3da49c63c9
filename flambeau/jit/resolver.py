"""What the compiler learns of the Python world: names in scope, functions called, the module around a method."""

from __future__ import annotations

import inspect
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flambeau.frontend.compile import compile_def
from flambeau.frontend.convert import get_tree
from flambeau.frontend.python_calls import wrap_python
from flambeau.frontend.python_source import NameScope, innermost_function, parameter_defaults
from flambeau.frontend.resolver import MISSING, recursion_error
from flambeau.ir.value import Value
from flambeau.jit.modules import CONTAINERS, ModuleClasses, child_types, method_source
from flambeau.jit.numba_calls import NumbaValue, numba_function
from flambeau.jit.registry import qualified_name
from flambeau.nn.module import Module
from flambeau.passes import constant_pooling, constant_propagation, dce
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.schema.types import ClassType, NamedType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

NOT_COMPILABLE = (
    "Python builtin {value!r} is currently not supported in Torchscript: it has no Python source to compile. Call it "
    "outside the scripted function and pass the result in, or use the operator or math function that does the same"
)
FOREIGN_MODULE = (
    "Cannot call a ScriptModule that is not a submodule of the caller: make it an attribute of the module whose method "
    "this is, or pass the tensors it needs"
)


class _Active(threading.local):
    """The functions being compiled on this thread, outermost first."""

    stack: tuple[Any, ...] = ()


_active = _Active()


@contextmanager
def compiling(key: Any, name: str, where: SourceRange | None) -> Iterator[None]:
    """Note that something is being compiled. Raises CompileError if it is already: it calls itself."""
    if key in _active.stack:
        raise recursion_error(name, where or SourceRange.at("<string>", 1, 0))
    before, _active.stack = _active.stack, (*_active.stack, key)
    try:
        yield
    finally:
        _active.stack = before


class PythonResolver:
    """Resolves names in the scope of one function: what it closes over, its module's globals, builtins."""

    def __init__(self, scope: Callable[[str], Any], classes: ModuleClasses, caller: str) -> None:
        self._scope = scope
        self._classes = classes
        self._caller = caller

    def resolve(self, name: str) -> Any:
        """The Python value of a name, or MISSING."""
        try:
            return self._scope(name)
        except KeyError:
            return MISSING

    def compile_function(self, fn: Any, where: SourceRange) -> Function | None:
        """The compiled form of a called function. Raises CompileError with the chain of calls that led there."""
        held = getattr(fn, "script_function", fn)
        if isinstance(held, Function):
            return held
        if isinstance(fn, types.BuiltinFunctionType):
            raise CompileError(NOT_COMPILABLE.format(value=fn), where)
        if not inspect.isfunction(fn):
            return None
        try:
            return compile_python_function(fn, self._classes, where)
        except CompileError as error:
            raise error.with_caller(fn.__name__, self._caller, where) from None

    def operator_name(self, value: Any) -> str | None:
        """The operator that a function of this package runs."""
        if isinstance(value, types.ModuleType):
            return None
        name = getattr(value, "operator_name", None)
        return name if isinstance(name, str) else None

    def class_type(self, cls: type, where: SourceRange | None) -> Type | None:
        """Classes of users have no form in programs yet."""
        return None

    def sugared(self, value: Any, where: SourceRange) -> Any:
        """Functions of Numba's; modules that are no part of the caller are refused."""
        if isinstance(value, Module):
            raise CompileError(FOREIGN_MODULE, where)
        marked = wrap_python(value)
        if marked is not None:
            return marked
        function = numba_function(value)
        return None if function is None else NumbaValue(function)

    def compile_method(self, owner: NamedType, name: str, where: SourceRange) -> Function | None:
        """A method of a module, compiled now; None if there is none of that name."""
        definition = owner.definition
        if not isinstance(definition, ClassDefinition) or self._classes.example(definition) is None:
            return None
        shown = f"{definition.name.rpartition('.')[2]}.{name}"
        try:
            return compile_method(definition, name, self._classes, where)
        except CompileError as error:
            raise error.with_caller(shown, self._caller, where) from None

    def object_attribute(self, owner: Value, name: str, where: SourceRange) -> Any:
        """Refuses an attribute that the Python module has and the program cannot have, saying why."""
        definition = owner.type.definition if isinstance(owner.type, NamedType) else None
        if not isinstance(definition, ClassDefinition):
            return None
        module = self._classes.example(definition)
        if module is None or method_source(module, name) is not None:
            return None
        static = inspect.getattr_static(module, name, None)
        if isinstance(static, staticmethod):
            return static.__func__
        reason = self._classes.why_missing(definition, name)
        if reason is not None:
            raise CompileError(reason, where)
        return None

    def object_items(self, owner: Value, where: SourceRange) -> list[tuple[str, ClassType]] | None:
        """The submodules that iterating over a container of modules gives; None for what is no such container."""
        definition = owner.type.definition if isinstance(owner.type, NamedType) else None
        if isinstance(definition, ClassDefinition) and definition.python and issubclass(definition.python, CONTAINERS):
            return child_types(definition)
        return None


def compile_python_function(fn: Any, classes: ModuleClasses, where: SourceRange | None = None) -> Function:
    """The compiled form of a Python function, from the cache if it was compiled before.

    Raises CompileError when the source cannot be had, is not of the language, or does not type-check.
    """
    registry = classes.registry
    inner = innermost_function(fn)
    found = registry.find(inner)
    if found is not None:
        return found
    with compiling(inner, inner.__name__, where):
        resolver = PythonResolver(NameScope.of_function(fn), classes, inner.__name__)
        name = registry.unit.unique_name(qualified_name(inner))
        function = compile_def(get_tree(fn), resolver, name=name, defaults=parameter_defaults(fn))
        function.doc = inspect.getdoc(inner) or ""
    tidy(function)
    return registry.keep(inner, function)


def compile_method(
    definition: ClassDefinition, name: str, classes: ModuleClasses, where: SourceRange | None = None
) -> Function | None:
    """A method of a module's class, compiled when first reached; None if there is none of that name."""
    if name in definition.methods:
        return definition.methods[name]
    module = classes.example(definition)
    source = method_source(module, name) if module is not None else None
    if source is None:
        return None
    shown = f"{definition.name.rpartition('.')[2]}.{name}"
    with compiling((definition, name), shown, where):
        resolver = PythonResolver(NameScope.of_function(source), classes, shown)
        tree = get_tree(source, self_name=definition.name)
        function = compile_def(
            tree,
            resolver,
            name=f"{definition.name}.{name}",
            defaults=parameter_defaults(source),
            self_type=definition.type,
        )
        function.doc = inspect.getdoc(source) or ""
    tidy(function)
    classes.registry.attach(function)
    if isinstance(inspect.getattr_static(module, name, None), property):
        definition.properties[name] = (function, None)
    return definition.add_method(name, function)


def tidy(function: Function) -> None:
    """Compute what is known already, leave out what the program does not need, and name each constant once, so that its
    graph reads well.
    """
    constant_propagation.do(function.graph, values_only=True)
    dce.do(function.graph)
    constant_pooling.do(function.graph)
