"""Python classes as programs have them: attributes found in `__init__`, each method compiled when it is first reached.

class Counter:                          class __torch__.Counter:
    def __init__(self, n: int):           n : int
        self.n = n                   →    __init__(self, n : int), step(self) -> int
    def step(self) -> int: ...

What a class inherits is compiled again for it, as if it had been written in its own body.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from types import FunctionType
from typing import Any, Final

from flambeau.frontend.closures.bound import NOTHING_BOUND, Bound
from flambeau.frontend.closures.template import Template
from flambeau.frontend.compile_function import compile_def, declared_schema
from flambeau.frontend.emit.function_scope import Receiver
from flambeau.frontend.emit.type_variables import TypeVariables
from flambeau.frontend.emit.values.python_calls import IGNORE, UNUSED, modifier
from flambeau.frontend.scopes.array_annotations import METHODS, refuse_array_attribute, refuse_arrays
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.scopes.python_constants import constant_type, is_constant
from flambeau.frontend.scopes.type_annotations import try_type_of
from flambeau.frontend.source.class_source import class_range
from flambeau.frontend.source.enclosing import enclosing_types
from flambeau.frontend.source.python_source import parameter_defaults
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Def
from flambeau.ir.graph import Graph
from flambeau.jit.block_decorators import within_decorators
from flambeau.jit.classes import subclasses
from flambeau.jit.classes.attribute_inference import define_attributes
from flambeau.jit.classes.class_rules import check_class, is_of_python
from flambeau.jit.classes.class_scope import class_scope
from flambeau.jit.classes.forms import is_class_variable, is_final
from flambeau.jit.classes.generator_methods import method_template, yielding
from flambeau.jit.classes.method_trees import COMPARISONS, bound_to_class, compared_with_any
from flambeau.jit.classes.records import RecordSource, Written, is_generated, is_generated_text, record_fields
from flambeau.jit.compiling import afterwards, compiling, is_compiling, kept, promise, tidy
from flambeau.jit.script_registry import ScriptRegistry
from flambeau.program.classes import Attribute, ClassDefinition, Property
from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.names import qualified_name
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

ResolverFor = Callable[[Callable[[str], Any], str], Resolver]
"""Makes a resolver of a scope and the name of what is compiled in it."""

CHANGED = (
    "Class '{name}' has changed since it was compiled: {member} is another one now. Programs keep what was compiled; "
    "define a new class instead of changing this one"
)
CLASS_ATTRIBUTE = (
    "{type} object has no attribute or method '{name}'. '{name}' is defined as a class attribute which currently is "
    "not supported. Consider converting this to an instance attribute. If it is a number, a text or a tuple of those "
    "and never changes, annotate it with ClassVar or Final"
)
STAYS_PYTHON: Final = (IGNORE, UNUSED)
"""Marks of methods that are not compiled."""
ACCESSORS: Final = ("_getter", "_setter")
UNDECLARED = "abstract method '{name}' of class '{cls}' does not declare what it returns: write it after '->'"
STATIC = (
    "'{name}' of an object that may be of a subclass: '{other}' has another one than '{cls}'. Call it on the class "
    "that is meant, or make it a method of objects"
)


def find_or_define(cls: type, registry: ScriptRegistry, resolver_for: ResolverFor) -> ClassDefinition:
    """The definition of a class; its `__init__` is compiled now if no program has met the class.

    Raises CompileError for a class that programs cannot have, or whose methods changed since it was compiled.
    """
    known = registry.classes.get(cls)
    if known is not None:
        assert isinstance(known.source, PythonSource)
        known.source.check_unchanged()
        return known
    check_class(cls)
    name = registry.unit.unique_name(qualified_name(cls))
    definition = ClassDefinition(name, python=cls, doc=inspect.getdoc(cls) or "")
    definition.source = source = PythonSource(definition, registry, resolver_for)
    if cls.__subclasses__() or inspect.isabstract(cls):
        definition.why_no_subclass = partial(subclasses.why_not, definition)
    registry.add_class(cls, definition)
    try:
        source.define()
    except BaseException:
        registry.forget_class(cls)
        raise
    return definition


@dataclass(frozen=True, slots=True)
class _Method:
    """The source of one method."""

    tree: Def
    defaults: Mapping[str, Any]
    scope: Callable[[str], Any]
    record: RecordSource | None = None
    """Who wrote it, if nobody did by hand."""


class PythonSource:
    """Where a definition has its methods from: the functions of a Python class and of its bases."""

    def __init__(self, definition: ClassDefinition, registry: ScriptRegistry, resolver_for: ResolverFor) -> None:
        self.definition = definition
        self.python: type = definition.python
        self._registry = registry
        self._resolver_for = resolver_for
        self._inherited: dict[tuple[type, str], Function] = {}
        self._generators: dict[str, Template | None] = {}
        self.optional: set[str] = set()
        """Attributes that `__init__` may leave without a value."""
        self.record = RecordSource(self.python) if record_fields(self.python) else None
        self._members = _members(self.python)
        self._around = enclosing_types(self.python)
        self._types = TypeVariables()
        """The types of attributes that `__init__` does not tell."""
        self._inits: dict[FunctionType, _Method] = {}
        """Of the class and its bases: the trees that those types are of."""

    # -- attributes ---------------------------------------------------------------------------------------------------

    def define(self) -> None:
        """Find the attributes: those that the class body declares, then those that `__init__` assigns."""
        self.definition.is_frozen = self.record is not None and self.record.is_frozen
        for name, type_ in self._declared().items():
            self.definition.add_attribute(name, type_)
            self.optional.add(name)
        define_attributes(self, self._registry, self._types)

    def start_over(self, attributes: Sequence[Attribute], optional: Set[str]) -> None:
        """Forget all but the attributes that there were before `__init__` was compiled."""
        self.definition.attributes[:] = attributes
        self.definition.slots = {a.name: i for i, a in enumerate(attributes)}
        self.optional.clear()
        self.optional.update(optional)
        self.definition.forget({id(f) for f in (*self.definition.methods.values(), *self._inherited.values())})

    def forget(self, functions: Set[int]) -> None:
        """Compile what is kept of these functions, by identity, anew."""
        self._inherited = {k: f for k, f in self._inherited.items() if id(f) not in functions}

    def _declared(self) -> dict[str, Type]:
        """The types of annotations in class bodies; `Final` ones with a value are constants, `ClassVar` that can be."""
        types: dict[str, Type] = {}
        resolver = self._resolver()
        for base in reversed(self.python.__mro__):
            for name, annotation in vars(base).get("__annotations__", {}).items():
                value = vars(base).get(name)
                if is_final(annotation) and name in vars(base):
                    constant_type(value)
                    self.definition.add_constant(name, value)
                elif is_class_variable(annotation):
                    if name in vars(base) and is_constant(value):
                        self.definition.add_constant(name, value)
                elif not (name in vars(base) and self.record is None):
                    type_ = self.record_type(name, annotation, resolver)
                    if type_ is not None:
                        types[name] = type_
        return types

    def record_type(self, name: str, annotation: Any, resolver: Resolver) -> Type | None:
        """The type of an annotated attribute; None for what is none, or has no type in programs."""
        if self.record is not None:
            field = self.record.fields.get(name) if name in self.record.stored else None
            return None if field is None else self.record.type_of(field, resolver)
        refuse_array_attribute(annotation, resolver)
        try:
            return try_type_of(annotation, resolver, None)
        except CompileError:
            return None

    # -- methods ------------------------------------------------------------------------------------------------------

    def method(self, name: str) -> Function | None:
        """A method of the class or of a base, compiled for this class."""
        if name in self.definition.methods:
            return self.definition.methods[name]
        member = inspect.getattr_static(self.python, name, None)
        if member is None and name.startswith("__") and name.endswith(ACCESSORS):
            self.property(name[2 : name.rindex("_")])
            return self.definition.methods.get(name)
        if not isinstance(member, FunctionType) or modifier(member) in STAYS_PYTHON or is_generated_text(member):
            return None
        return self._add_method(name, self._compiled(member, name))

    def generator(self, name: str) -> Template | None:
        """A method that yields or may take functions; None for others, and where subclasses are."""
        if name not in self._generators:
            function = yielding(inspect.getattr_static(self.python, name, None))
            template = None
            if function is not None:
                source, resolver = self._to_compile(function, has_self=True, bind_class=False)
                template = method_template(source.tree, resolver, source.defaults)
            self._generators[name] = template
        return None if self.definition.is_open else self._generators[name]

    def declared(self, name: str) -> FunctionSchema | None:
        """What a method or a property's getter takes and returns, if it is written there; nothing is compiled."""
        member = inspect.getattr_static(self.python, name, None)
        member = member.fget if isinstance(member, property) else member
        if not isinstance(member, FunctionType) or is_generated_text(member):
            return None
        return self._declared_schema(member, has_self=True, bind_class=False)

    def _add_method(self, name: str, function: Function) -> Function:
        """A compiled method; one that calls itself is met while it is compiled, and added after that."""
        return function if self._is_compiling(name) else self.definition.add_method(name, function)

    def _is_compiling(self, name: str) -> bool:
        return is_compiling((self.definition, name))

    def property(self, name: str) -> Property | None:
        """The methods of a property, compiled for this class."""
        if name in self.definition.properties:
            return self.definition.properties[name]
        member = inspect.getattr_static(self.python, name, None)
        if not isinstance(member, property) or member.fget is None or name in self._unused_properties():
            return None
        if modifier(member.fget) in STAYS_PYTHON:
            return None
        getter, setter = f"__{name}_getter", None if member.fset is None else f"__{name}_setter"
        read = self._accessor(getter, member.fget)
        accessors: Property = (read, None if setter is None else self._accessor(setter, member.fset))
        if not self._is_compiling(getter) and not (setter is not None and self._is_compiling(setter)):
            self.definition.properties[name] = accessors
        return accessors

    def _accessor(self, name: str, fn: Any) -> Function:
        known = self.definition.methods.get(name)
        return self._add_method(name, self._compiled(fn, name)) if known is None else known

    def signature(self, name: str) -> FunctionSchema | None:
        """What a method takes and returns; the method itself is compiled when what is being compiled now is done."""
        if name in self.definition.methods:
            return self.definition.methods[name].schema
        member = inspect.getattr_static(self.python, name, None)
        if not isinstance(member, FunctionType):
            return None
        source = self._method(member, has_self=True)
        resolver = self._resolver_for(source.scope, f"{self.python.__name__}.{name}")
        schema = declared_schema(source.tree, resolver, defaults=source.defaults, self_type=self.definition.type)
        if schema is not None:
            afterwards(lambda: self.method(name))
            return schema
        method = self.method(name)
        return None if method is None else method.schema

    def static(self, name: str) -> Function | None:
        """A static method, or a class method with its class filled in."""
        if name in self.definition.static_methods:
            return self.definition.static_methods[name]
        member = inspect.getattr_static(self.python, name, None)
        if not isinstance(member, staticmethod | classmethod) or not isinstance(member.__func__, FunctionType):
            return None
        if modifier(member.__func__) in STAYS_PYTHON:
            return None
        function = self._compiled(member.__func__, name, bind_class=isinstance(member, classmethod), has_self=False)
        if not self._is_compiling(name):
            self.definition.static_methods[name] = function
        return function

    def nested(self, name: str) -> type | None:
        """A class that is defined in the body of the class, or of a base."""
        member = inspect.getattr_static(self.python, name, None)
        return member if isinstance(member, type) and name != "__class__" else None

    def settle(self, name: str, where: SourceRange) -> None:
        """Note that programs look a static method up in this class. Raises CompileError if subclasses have another."""
        pending: list[type] = list(self.python.__subclasses__())
        for cls in pending:
            pending += cls.__subclasses__()
            if name in subclasses.overridden(self.python, cls):
                raise CompileError(STATIC.format(name=name, cls=self.python.__name__, other=cls.__name__), where)
        self.definition.settled.add(name)

    def marked(self, name: str) -> tuple[FunctionType, bool] | None:
        """A method that is marked to stay Python, and whether it is static; None if there is none of that name."""
        member = inspect.getattr_static(self.python, name, None)
        is_static = isinstance(member, staticmethod)
        member = member.__func__ if isinstance(member, staticmethod) else member
        if not isinstance(member, FunctionType) or modifier(member) not in STAYS_PYTHON:
            return None
        return member, is_static

    def inherited(self, name: str, after: type | None) -> Function | None:
        """A method as the bases behind `after` have it, or as the class `after` itself has it with that in `name`."""
        order = self.python.__mro__
        start = order.index(after) + 1 if after in order else 0
        for base in order[start:]:
            member = vars(base).get(name)
            if isinstance(member, FunctionType):
                return self._of_base(base, name, member)
        return None

    def of_base(self, base: type, name: str) -> Function | None:
        """The method that `base` has of that name, compiled for this class."""
        member = inspect.getattr_static(base, name, None)
        return self._of_base(base, name, member) if isinstance(member, FunctionType) else None

    def _of_base(self, base: type, name: str, function: FunctionType) -> Function:
        key = (base, name)
        if key in self._inherited:
            return self._inherited[key]
        own = f"__{base.__name__}_{name}"
        method = self._compiled(function, own)
        if not self._is_compiling(own):
            self._inherited[key] = method
        return method

    def why_missing(self, name: str) -> str | None:
        """Why the class has an attribute in Python and not in programs; None if it has none."""
        member = inspect.getattr_static(self.python, name, None)
        if member is None or isinstance(member, FunctionType) or hasattr(type(member), "__set__"):
            return None
        if not any(name in vars(base) for base in self.python.__mro__[:-1]):  # only `object` has it
            return None
        return CLASS_ATTRIBUTE.format(type=self.definition.name, name=name)

    def compile_all(self) -> None:
        """Compile every method, property and static method. Raises CompileError for the first that cannot be."""
        unused = self._unused_properties()
        for base in reversed(self.python.__mro__[:-1]):
            for name, member in vars(base).items():
                if isinstance(member, FunctionType) and not is_of_python(base, name) and not is_generated(base, name):
                    self.method(name)
                elif isinstance(member, staticmethod | classmethod) and not is_of_python(base, name):
                    self.static(name)
                elif isinstance(member, property) and name not in unused:
                    self.property(name)

    def check_unchanged(self) -> None:
        """Raise CompileError if a method was replaced since the class was compiled."""
        now = _members(self.python)
        changed = [name for name in {**self._members, **now} if now.get(name) is not self._members.get(name)]
        if changed:
            text = CHANGED.format(name=self.python.__name__, member=f"'{changed[0]}'")
            raise CompileError(text, class_range(self.python))

    # -- compiling ----------------------------------------------------------------------------------------------------

    def _compiled(
        self,
        fn: Callable[..., Any],
        name: str,
        *,
        has_self: bool = True,
        bind_class: bool = False,
        bound: Bound = NOTHING_BOUND,
    ) -> Function:
        assert isinstance(fn, FunctionType)
        shown = f"{self.python.__name__}.{fn.__name__}"
        key, qualified = (self.definition, name), f"{self.definition.name}.{name}"
        promised = promise(key, qualified, lambda: self._declared_schema(fn, has_self, bind_class, by_returns=True))
        if promised is not None:
            return promised
        if getattr(fn, "__isabstractmethod__", False):
            return self._abstract(fn, qualified)

        def compiled() -> Function:
            with compiling(key, shown, None), self._registry.lock:
                method, resolver = self._to_compile(fn, has_self, bind_class)
                refuse_arrays(method.tree, resolver, METHODS)
                is_init = fn.__name__ == "__init__" and has_self
                try:
                    body = compile_def(
                        method.tree,
                        resolver,
                        name=qualified,
                        defaults=method.defaults,
                        self_type=self.definition.type if has_self else None,
                        receiver=self._receiver(method.tree) if is_init else None,
                        bound=replace(Bound(own=self._types) if is_init else bound, base=self._written_in(fn)),
                    )
                except CompileError as error:
                    raise (error if method.record is None else method.record.explained(error)) from None
            tidy(within_decorators(body, fn))
            return body

        function = kept(key, compiled)
        function.doc = inspect.getdoc(fn) or ""
        self._registry.attach(function)
        return function

    def compile_on_trial(self, name: str, fn: FunctionType, bound: Bound) -> None:
        """Compile a method for what it tells. Raises InferenceRestart, or CompileError."""
        if modifier(fn) not in STAYS_PYTHON and not is_generated_text(fn):
            self._compiled(fn, name, bound=bound)

    def _written_in(self, fn: FunctionType) -> Type | None:
        """The type of the base that has a method; None for the class itself, and for a base without a definition."""
        for base in self.python.__mro__[1:]:
            member = vars(base).get(fn.__name__)
            if member is fn or (isinstance(member, property) and fn in (member.fget, member.fset)):
                definition = self._registry.classes.get(base)
                return None if definition is None else definition.type
        return None

    def _abstract(self, fn: FunctionType, qualified: str) -> Function:
        """A method that only subclasses have: its declaration alone counts."""
        schema = self._declared_schema(fn, has_self=True, bind_class=False)
        if schema is None:
            raise CompileError(UNDECLARED.format(name=fn.__name__, cls=self.python.__name__), class_range(self.python))
        return Function(qualified, Graph(fn.__name__), schema)

    def _declared_schema(
        self, fn: FunctionType, has_self: bool, bind_class: bool, *, by_returns: bool = False
    ) -> FunctionSchema | None:
        method, resolver = self._to_compile(fn, has_self, bind_class)
        own = self.definition.type if has_self else None
        return declared_schema(method.tree, resolver, defaults=method.defaults, self_type=own, by_returns=by_returns)

    def _to_compile(self, fn: FunctionType, has_self: bool, bind_class: bool) -> tuple[_Method, Resolver]:
        method = self._method(fn, has_self)
        if bind_class:
            tree, scope = bound_to_class(method.tree, method.scope, self.python)
            method = replace(method, tree=tree, scope=scope)
        return method, self._resolver_for(method.scope, f"{self.python.__name__}.{fn.__name__}")

    def _receiver(self, tree: Def) -> Receiver:
        return Receiver(self.definition, tree.decl.params[0].name, self.optional)

    def _method(self, fn: FunctionType, has_self: bool) -> _Method:
        """The source of a method; one that `dataclass` made has it written out."""
        if fn.__name__ == "__init__" and has_self:
            source = self._inits.get(fn)
            if source is None:
                source = self._inits[fn] = self._method_anew(fn, has_self)
            return source
        return self._method_anew(fn, has_self)

    def _method_anew(self, fn: FunctionType, has_self: bool) -> _Method:
        owner = next((b for b in self.python.__mro__ if vars(b).get(fn.__name__) is fn), self.python)
        if not is_generated(owner, fn.__name__):
            tree = get_tree(fn, self_name=self.definition.name if has_self else None)
            tree = compared_with_any(tree) if fn.__name__ in COMPARISONS else tree
            return _Method(tree, parameter_defaults(fn), self._scope(fn))
        record = RecordSource(owner)
        written = record.written(fn.__name__, self._resolver())
        return _Method(written.tree, written.defaults, self._scope_of(written), record)

    def _scope_of(self, written: Written) -> Callable[[str], Any]:
        outer = self._scope(None)
        return lambda name: written.names[name] if name in written.names else outer(name)

    def _resolver(self) -> Resolver:
        return self._resolver_for(self._scope(None), self.python.__name__)

    def factory(self, name: str) -> Function:
        """A function that makes the value of a field that a call leaves out."""
        key = f"__make_{name}"
        if key not in self.definition.static_methods:
            assert self.record is not None
            written = self.record.factory(name, self._resolver())
            resolver = self._resolver_for(self._scope_of(written), f"{self.python.__name__}.{name}")
            try:
                function = compile_def(written.tree, resolver, name=f"{self.definition.name}.{key}")
            except CompileError as error:
                raise self.record.explained(error) from None
            tidy(function)
            self._registry.attach(function)
            self.definition.static_methods[key] = function
        return self.definition.static_methods[key]

    def _scope(self, fn: FunctionType | None) -> Callable[[str], Any]:
        return class_scope(self.python, fn, self._around)

    def _unused_properties(self) -> frozenset[str]:
        return frozenset(getattr(self.python, "__jit_unused_properties__", ()))


def _members(cls: type) -> dict[str, Any]:
    """The methods of a class as Python finds them, by name."""
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        for name, member in vars(base).items():
            if isinstance(member, FunctionType | staticmethod | classmethod | property):
                members[name] = member
    return members
