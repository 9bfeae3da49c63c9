"""What the compiler learns of the Python world: names in scope, functions called, the module around a method."""

from __future__ import annotations

import builtins
import enum
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from flambeau.autograd.function import Function as GradientFunction
from flambeau.frontend.closures.template import Template
from flambeau.frontend.compile_function import compile_def, declared_schema
from flambeau.frontend.emit.values.python_calls import IGNORE, MODIFIER, PythonFunction, wrap_python
from flambeau.frontend.scopes.array_annotations import OVERLOADS, refuse_arrays
from flambeau.frontend.scopes.name_resolution import MISSING
from flambeau.frontend.source.python_source import NameScope, innermost_function, parameter_defaults
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Def
from flambeau.ir.graph import Value
from flambeau.jit.block_decorators import has_blocks, within_decorators
from flambeau.jit.classes.class_definitions import PythonSource, find_or_define
from flambeau.jit.classes.class_rules import is_user_class
from flambeau.jit.classes.class_values import ClassValue, IgnoredClass, SetAttributeForm, TypeForm, super_form
from flambeau.jit.classes.interface_definitions import find_interface, is_interface
from flambeau.jit.compiling import compiling, kept, promise, tidy
from flambeau.jit.gradient_classes import GradientCall, GradientClass, class_of_apply, function_of_apply
from flambeau.jit.modules import lookup as module_lookup
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.modules.module_hooks import HookedCall
from flambeau.jit.modules.module_source import ModuleSource
from flambeau.jit.modules.old_style import ScriptModule
from flambeau.jit.overloads import OverloadedFunction, as_compile_error, declarations, signature_tree
from flambeau.jit.script_registry import ScriptRegistry
from flambeau.jit.torch_counterparts import counterpart
from flambeau.jit.value_methods import value_method
from flambeau.jit.with_numba.numba_calls import NumbaValue, numba_function
from flambeau.jit.with_numba.numba_names import numba_name
from flambeau.nn.module import Module
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.schema.types import EnumType, NamedType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.names import qualified_name
from flambeau.util.source import SourceRange

NOT_COMPILABLE = (
    "Python builtin {value!r} is currently not supported in Torchscript: it has no Python source to compile. Call it "
    "outside the scripted function and pass the result in, or use the operator or math function that does the same"
)
NO_INSTANCE = "'{name}' is an interface: make an object of a class that has its methods"
FOREIGN_MODULE = (
    "Cannot call a ScriptModule that is not a submodule of the caller: make it an attribute of the module whose method "
    "this is, or pass the tensors it needs"
)


class PythonResolver:
    """Resolves names in the scope of one function: what it closes over, its module's globals, builtins."""

    reaches_python = True

    def __init__(self, scope: Callable[[str], Any], classes: ModuleClasses, caller: str) -> None:
        self._scope = scope
        self._classes = classes
        self._caller = caller

    def resolve(self, name: str) -> Any:
        """The Python value of a name, or MISSING."""
        try:
            return counterpart(self._scope(name))
        except KeyError:
            return MISSING

    def member(self, owner: Any, name: str) -> Any:
        """The attribute of a Python value, or MISSING."""
        return counterpart(getattr(counterpart(owner), name, MISSING))

    def compile_function(self, fn: Any, where: SourceRange) -> Function | None:
        """The compiled form of a called function. Raises CompileError with the chain of calls that led there."""
        function = getattr(fn, "script_function", fn)
        if isinstance(function, Function):
            return function
        if isinstance(fn, types.BuiltinFunctionType):
            raise CompileError(NOT_COMPILABLE.format(value=fn), where)
        if not inspect.isfunction(fn):
            owner = class_of_apply(fn)
            return None if owner is None else self._function_of_apply(owner, where)
        try:
            return compile_python_function(fn, self._classes, where)
        except CompileError as error:
            raise error.with_caller(fn.__name__, self._caller, where) from None

    def _function_of_apply(self, owner: type[GradientFunction], where: SourceRange) -> Function:
        """What `Clamp.apply` is where a program transforms it."""
        registry = self._classes.registry
        known = registry.find(owner)
        if known is None:
            resolver = PythonResolver(NameScope({"__class__": owner}), self._classes, owner.__name__)
            known = function_of_apply(owner, resolver, where)
            tidy(known)
            registry.keep(owner, known)
        return known

    def template(self, fn: Any) -> Template | None:
        """A Python function, to be compiled for a call."""
        if not inspect.isfunction(fn):
            return None
        inner = innermost_function(fn)
        template = self._classes.registry.templates.get(inner)
        if template is None:
            resolver = PythonResolver(NameScope.of_function(fn), self._classes, inner.__name__)
            template = Template(get_tree(fn), resolver, parameter_defaults(fn), compile_def)
            self._classes.registry.templates[inner] = template
        return template

    def operator_name(self, value: Any) -> str | None:
        """The operator that a function of this package runs."""
        if isinstance(value, types.ModuleType):
            return None
        name = getattr(value, "operator_name", None)
        return name if isinstance(name, str) else None

    def class_type(self, cls: type, where: SourceRange | None) -> Type | None:
        """Interfaces, and classes of users, which are compiled now if they are not."""
        interface = find_interface(cls, self._classes.registry, self._resolver_for)
        if interface is not None:
            return interface.type
        definition = self.class_definition(cls, where)
        return None if definition is None else definition.type

    def class_definition(self, cls: type, where: SourceRange | None) -> ClassDefinition | None:
        """A class of users; None for classes that are something else to programs. Raises CompileError."""
        if not is_class_of_objects(cls) or vars(cls).get(MODIFIER) == IGNORE:
            return None
        try:
            return find_or_define(cls, self._classes.registry, self._resolver_for)
        except CompileError as error:
            error.range = error.range or where
            raise (error if where is None else error.with_caller(cls.__name__, self._caller, where)) from None

    def _resolver_for(self, scope: Callable[[str], Any], caller: str) -> PythonResolver:
        return PythonResolver(scope, self._classes, caller)

    def sugared(self, value: Any, where: SourceRange) -> Any:
        """Classes, and what is Numba's; modules that are no part of the caller are refused."""
        if isinstance(value, Module):
            if isinstance(value, ScriptModule) or not hasattr(value, "forward"):
                raise CompileError(FOREIGN_MODULE, where)
            return PythonFunction(_calling(value))
        marked = wrap_python(value)
        if marked is not None:
            return marked
        if value is builtins.super:
            return super_form(self.resolve)
        if value is builtins.type:
            return TypeForm()
        if value is object.__setattr__:
            return SetAttributeForm()
        name = numba_name(value)
        if name is not None:
            return name
        owner = class_of_apply(value)
        if owner is not None:
            return GradientCall(owner)
        if isinstance(value, type):
            return self._sugared_class(value, where)
        try:
            declared = declarations(value)
        except RuntimeError as error:
            raise CompileError(str(error), where) from None
        if declared:
            return overloaded(value, declared, self._classes, where)
        function = numba_function(value)
        return None if function is None else NumbaValue(function)

    def _sugared_class(self, value: type, where: SourceRange) -> Any:
        """A class as programs call it."""
        if issubclass(value, GradientFunction):
            return GradientClass(value)
        if vars(value).get(MODIFIER) == IGNORE:
            return IgnoredClass(value)
        if is_interface(value):
            raise CompileError(NO_INSTANCE.format(name=value.__name__), where)
        definition = self.class_definition(value, where)
        return None if definition is None else ClassValue(definition)

    def compile_method(self, owner: NamedType, name: str, where: SourceRange) -> Function | None:
        """A method of a module, compiled now; None if there is none of that name."""
        definition = owner.definition
        if not isinstance(definition, ClassDefinition):
            return None
        shown = f"{definition.name.rpartition('.')[2]}.{name}"
        try:
            return None if definition.source is None else definition.source.method(name)
        except CompileError as error:
            error.range = error.range or where
            raise error.with_caller(shown, self._caller, where) from None

    def object_attribute(self, owner: Value | type, name: str, where: SourceRange) -> Any:
        """What is no stored value and no compiled method of an object; None for those.

        Raises CompileError for an attribute that the object has in Python and not in programs, saying why.
        """
        if isinstance(owner, type) or isinstance(owner.static_type, EnumType | TupleType):
            try:
                return value_method(owner, name, self._classes.registry, self._resolver_for)
            except CompileError as error:
                error.range = error.range or where
                shown = owner.__name__ if isinstance(owner, type) else owner.static_type.annotation
                raise error.with_caller(f"{shown}.{name}", self._caller, where) from None
        definition = module_lookup.definition_of(owner)
        if definition is not None and isinstance(definition.source, PythonSource):
            return self._class_attribute(definition.source, owner, name, where)
        return module_lookup.attribute(self._classes, owner, name, where)

    def _class_attribute(self, source: PythonSource, owner: Value, name: str, where: SourceRange) -> Any:
        """A static or class method, or a method that stays Python. Raises CompileError for attributes of the class."""
        if name == "__class__":
            return ClassValue(source.definition)
        marked = source.marked(name)
        if source.definition.is_open and (marked is not None or source.static(name) is not None):
            source.settle(name, where)
        if marked is not None:
            fn, is_static = marked
            return PythonFunction(fn, receiver=None if is_static else owner)
        nested = source.nested(name)
        if nested is not None:
            if source.definition.is_open:
                source.settle(name, where)
            return nested
        method = source.static(name)
        reason = source.why_missing(name) if method is None else None
        if reason is not None:
            raise CompileError(reason, where)
        return method

    def generator_method(self, owner: NamedType, name: str) -> Template | None:
        """A method of a user's class that yields; None for other methods."""
        definition = owner.definition
        source = definition.source if isinstance(definition, ClassDefinition) else None
        if not isinstance(source, PythonSource):
            return None
        return source.generator(name)

    def object_items(self, owner: Value, where: SourceRange) -> list[tuple[str, Type]] | None:
        """What a container of modules or parameters holds; None for what is no container."""
        return module_lookup.items(self._classes, owner)

    def object_keys(self, owner: Value, where: SourceRange) -> list[str] | None:
        """The keys of a container that is reached by name; None for what is none."""
        return module_lookup.keys(self._classes, owner)

    def call_object(self, owner: Value, where: SourceRange) -> Any:
        """The call of a module with hooks; None for other objects."""
        definition = module_lookup.definition_of(owner)
        source = definition.source if definition is not None else None
        if definition is None:
            return None
        if not isinstance(source, ModuleSource):
            return module_lookup.hooked_call(owner, definition)
        try:
            hooks = source.hooks()
        except CompileError as error:
            raise error.with_caller(f"{definition.name.rpartition('.')[2]}.forward", self._caller, where) from None
        forward = definition.methods.get("forward")
        return None if hooks is None or forward is None else HookedCall(owner, forward, hooks)


def _calling(module: Module) -> Callable[..., Any]:
    """A module that is no part of a program: a Python function with the signature of its `forward`."""

    @functools.wraps(module.forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        return module(*args, **kwargs)

    return call


def is_class_of_objects(cls: type) -> bool:
    """Whether instances of a class are objects in programs; exceptions, enums, tuples and modules are not."""
    return is_user_class(cls) and not issubclass(cls, BaseException | enum.Enum | tuple | Module)


def compile_python_function(
    fn: Any,
    classes: ModuleClasses,
    where: SourceRange | None = None,
    names: Callable[[str], Any] | None = None,
) -> Function:
    """The compiled form of a Python function, from the cache if it was compiled before.

    `names` gives values of names before its own scope does, or None; what is compiled with it is cached like the rest.

    Raises CompileError when the source cannot be had, is not of the language, or does not type-check.
    """
    registry = classes.registry
    inner = innermost_function(fn)
    key = fn if has_blocks(fn) else inner
    compiled_before = registry.find(key)
    if compiled_before is not None:
        return compiled_before
    scope: Callable[[str], Any] = NameScope.of_function(fn)
    if registry.examples is not None:
        scope = registry.examples.scope(fn, scope)
    resolver = PythonResolver(scope if names is None else _first_of(names, scope), classes, inner.__name__)
    defaults = parameter_defaults(fn)
    promised = promise(
        key, qualified_name(inner),
        lambda: declared_schema(_tree(fn, registry), resolver, defaults=defaults, by_returns=True),
    )  # fmt: skip
    if promised is not None:
        return promised

    def compiled() -> Function:
        with compiling(key, inner.__name__, where):
            name = registry.unit.unique_name(qualified_name(inner))
            known = registry.templates.get(inner)
            tree = _tree(fn, registry) if known is None else known.tree
            body = within_decorators(compile_def(tree, resolver, name=name, defaults=defaults), fn)
        tidy(body)
        return body

    function = kept(key, compiled, lambda: get_tree(fn).decl.range)
    function.doc = inspect.getdoc(inner) or ""
    return registry.keep(key, function)


def _tree(fn: Any, registry: ScriptRegistry) -> Def:
    """A function as it is compiled: with what examples say of it."""
    return get_tree(fn) if registry.examples is None else registry.examples.tree(fn, get_tree(fn))


def _first_of(names: Callable[[str], Any], scope: Callable[[str], Any]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        value = names(name)
        return scope(name) if value is None else value

    return find


def overloaded(fn: Any, declared: list[Any], classes: ModuleClasses, where: SourceRange) -> OverloadedFunction:
    """An overloaded function, compiled for each of its signatures. Raises CompileError for a wrong one."""
    registry = classes.registry
    functions = []
    for declaration in declared:
        function = registry.find(declaration)
        if function is None:
            try:
                tree, defaults = signature_tree(declaration, fn)
            except RuntimeError as error:
                raise as_compile_error(error, where) from None
            with compiling(declaration, fn.__name__, where):
                resolver = PythonResolver(NameScope.of_function(fn), classes, fn.__name__)
                name = registry.unit.unique_name(qualified_name(fn))
                refuse_arrays(tree, resolver, OVERLOADS)
                function = compile_def(tree, resolver, name=name, defaults=defaults)
                function.doc = inspect.getdoc(fn) or ""
            tidy(function)
            registry.keep(declaration, function)
        functions.append(function)
    return OverloadedFunction(fn.__name__, functions)
