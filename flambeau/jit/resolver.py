"""What the compiler learns of the Python world: names in scope, functions called, the module around a method."""

from __future__ import annotations

import builtins
import enum
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from flambeau.autograd.function import Function as GradientFunction
from flambeau.executor.options import Options
from flambeau.frontend.closures.template import Template
from flambeau.frontend.compile_function import compile_def, declared_schema
from flambeau.frontend.emit.numpy.numpy_creation import PARAMETERS, makes_array
from flambeau.frontend.emit.numpy.random_functions import RANDOM_FUNCTIONS
from flambeau.frontend.emit.values.python_calls import IGNORE, MODIFIER, PythonFunction, wrap_python
from flambeau.frontend.scopes.array_annotations import OVERLOADS, may_name_arrays, names_array, refuse_arrays
from flambeau.frontend.scopes.name_resolution import MISSING
from flambeau.frontend.scopes.named_objects import python_value
from flambeau.frontend.scopes.type_annotations import type_of_tree
from flambeau.frontend.source.python_source import NameScope, innermost_function, parameter_defaults
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Apply, Select
from flambeau.ir.graph import Value
from flambeau.jit.array_function import ArrayFunction
from flambeau.jit.block_decorators import has_blocks, within_decorators
from flambeau.jit.classes.class_definitions import PythonSource, find_or_define
from flambeau.jit.classes.class_rules import is_user_class
from flambeau.jit.classes.class_values import ClassValue, IgnoredClass, SetAttributeForm, TypeForm, super_form
from flambeau.jit.classes.interface_definitions import find_interface, is_interface
from flambeau.jit.compiling import compiling, kept, promise, tidy
from flambeau.jit.gradient_classes import GradientClass
from flambeau.jit.modules import lookup as module_lookup
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.modules.module_hooks import HookedCall
from flambeau.jit.modules.module_source import ModuleSource
from flambeau.jit.modules.old_style import ScriptModule
from flambeau.jit.overloads import OverloadedFunction, as_compile_error, declarations, signature_tree
from flambeau.jit.torch_counterparts import counterpart
from flambeau.jit.value_methods import value_method
from flambeau.jit.with_numba.numba_calls import NumbaValue, numba_function
from flambeau.nn.module import Module
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.schema.array_type import array_of, holds_tensors
from flambeau.schema.dtype import DType, bool_, complex128, float64, int64
from flambeau.schema.types import EnumType, NamedType, OptionalType, TensorType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.names import qualified_name
from flambeau.util.source import SourceRange

NOT_COMPILABLE = (
    "Python builtin {value!r} is currently not supported in Torchscript: it has no Python source to compile. Call it "
    "outside the scripted function and pass the result in, or use the operator or math function that does the same"
)
_MAKERS: Final = frozenset(function.__name__ for function in (*PARAMETERS, *RANDOM_FUNCTIONS))
"""The functions of NumPy that make arrays, by name."""
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
            return None
        try:
            return compile_python_function(fn, self._classes, where)
        except CompileError as error:
            raise error.with_caller(fn.__name__, self._caller, where) from None

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
        """Classes and functions of Numba's; modules that are no part of the caller are refused."""
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
    resolver = PythonResolver(scope if names is None else _first_of(names, scope), classes, inner.__name__)
    defaults = parameter_defaults(fn)
    promised = promise(key, qualified_name(inner), lambda: declared_schema(get_tree(fn), resolver, defaults=defaults))
    if promised is not None:
        return promised

    def compiled() -> Function:
        with compiling(key, inner.__name__, where):
            name = registry.unit.unique_name(qualified_name(inner))
            known = registry.templates.get(inner)
            tree = get_tree(fn) if known is None else known.tree
            body = within_decorators(compile_def(tree, resolver, name=name, defaults=defaults), fn)
        tidy(body)
        return body

    function = kept(key, compiled)
    function.doc = inspect.getdoc(inner) or ""
    return registry.keep(key, function)


def array_function(fn: Any, classes: ModuleClasses, options: Options) -> ArrayFunction | None:
    """A Python function that takes arrays of NumPy; None for others.

    Raises CompileError for what is refused whatever the arrays are.
    """
    inner = innermost_function(fn)
    if not _may_be_of_arrays(inner):
        return None
    resolver = PythonResolver(NameScope.of_function(fn), classes, inner.__name__)
    template = resolver.template(fn)
    assert template is not None
    params = template.tree.decl.params
    named = [p.name for p in params if p.annotation is not None and names_array(p.annotation, template.resolver)]
    if not named and not _returns_array(template) and not _makes_arrays(template):
        return None
    if template.tree.decl.vararg is not None or template.tree.decl.kwarg is not None:
        return None
    function = function_by_call(fn, classes, options)
    declared = {p.name: type_of_tree(p.annotation, template.resolver) for p in params if p.annotation is not None}
    if all(p.annotation is not None or template.defaults.get(p.name) is not None for p in params):
        _check(function, {name: declared[name] for name in named})
    return function


def function_by_call(fn: Any, classes: ModuleClasses, options: Options) -> ArrayFunction:
    """A Python function that is compiled for the arrays of a call, and what it brings where nothing is annotated."""
    inner = innermost_function(fn)
    template = PythonResolver(NameScope.of_function(fn), classes, inner.__name__).template(fn)
    assert template is not None
    params = template.tree.decl.params
    named = [p.name for p in params if p.annotation is None or names_array(p.annotation, template.resolver)]
    return ArrayFunction(inner, template, named, options, lambda: compile_python_function(fn, classes))


def _may_be_of_arrays(fn: types.FunctionType) -> bool:
    """Whether arrays are named in annotations or made in the body, as far as texts and names tell."""
    if not _MAKERS.isdisjoint(fn.__code__.co_names):
        return True
    return any(may_name_arrays(a, fn.__globals__.get) for a in getattr(fn, "__annotations__", {}).values())


def _returns_array(template: Template) -> bool:
    returns = template.tree.decl.returns
    return returns is not None and names_array(returns, template.resolver)


def _makes_arrays(template: Template) -> bool:
    """Whether a function has no tensors in its signature, and makes arrays with functions of NumPy."""
    decl, resolver = template.tree.decl, template.resolver
    if any(p.annotation is None for p in decl.params):
        return False
    types = [type_of_tree(a, resolver) for a in (*(p.annotation for p in decl.params), decl.returns) if a is not None]
    if any(holds_tensors(type_) or isinstance(type_, NamedType) for type_ in types):
        return False
    calls = (node.callee for statement in template.tree.body for node in statement.walk() if isinstance(node, Apply))
    return any(isinstance(c, Select) and _may_make_array(python_value(c, resolver)) for c in calls)


def _may_make_array(value: Any) -> bool:
    return makes_array(value) or (callable(value) and value in RANDOM_FUNCTIONS and value is not np.random.seed)


_USUAL: Final = (
    (float64, 1), (float64, 2), (int64, 1), (int64, 2), (float64, 3), (bool_, 2), (bool_, 1), (complex128, 1),
    (complex128, 2),
)  # fmt: skip


def _check(function: ArrayFunction, declared: Mapping[str, Type]) -> None:
    """Compile a function for arrays of the usual dtypes and ranks until one is taken.

    Raises the refusal that comes last in the program if none is. Of several arrays, which may be of different dtypes
    and ranks when it is called, that says nothing unless it is refused alike for all that get as far.
    """
    refusals = list[CompileError]()
    for dtype, rank in _USUAL:
        try:
            function.compiled_for({name: with_arrays(type_, dtype, rank) for name, type_ in declared.items()})
            return
        except CompileError as error:
            refusals.append(error)
    last = max(map(_place, refusals))  # what arrays of another rank are refused at says nothing of those that are meant
    furthest = [error for error in refusals if _place(error) == last]
    if len(declared) == 1 or len({error.message for error in furthest}) == 1:
        raise furthest[0]


def with_arrays(type_: Type, dtype: DType, rank: int) -> Type:
    """A declared type with arrays in the place of tensors; what may be None is none."""
    if isinstance(type_, TensorType):
        return array_of(dtype, rank)
    if isinstance(type_, OptionalType):
        return with_arrays(type_.element, dtype, rank)
    inner = type_.contained
    return type_.with_contained(tuple(with_arrays(t, dtype, rank) for t in inner)) if inner else type_


def _place(error: CompileError) -> tuple[int, ...]:
    """The line and column that a refusal is of."""
    return (0, 0) if error.range is None else tuple(error.range.file_line_col()[1:3])


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
