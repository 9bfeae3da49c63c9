"""Classes as values of programs: called they make objects; static and class methods, and `super()`, are found on them.

c = Counter(3)    →    %c : __torch__.Counter = prim::CreateObject()
                       %n : NoneType = prim::CallMethod[name="__init__"](%c, %three)
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.schema_matching import call_function, call_method
from flambeau.frontend.emit.values import receivers
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.scopes.name_resolution import MISSING, recursion_error
from flambeau.frontend.trees.tree_views import Apply, StringLiteral
from flambeau.ir.graph import Value
from flambeau.jit.classes.class_definitions import PythonSource
from flambeau.jit.modules.module_source import ModuleSource
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    BoolType,
    ClassType,
    ComplexType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    TensorType,
    Type,
)
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import CompileError, FrontendError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NOT_A_VALUE = (
    "python value of type 'type' cannot be used as a value: '{name}' is a class. Call it to make an object, and pass "
    "that"
)
SET_ATTRIBUTE = "object.__setattr__ takes an object of a class that programs have, a literal name and a value"
NO_FIELD = "Tried to set nonexistent attribute: {name}. Did you forget to initialize it in __init__()?"
NO_TYPE = "type() takes one object of a class that programs have; use isinstance to test the type of other values"
OPEN_TYPE = "type() of an object that may be of a subclass of '{name}': write a method that makes the new object"
NAMES = ("__name__", "__qualname__", "__module__")
"""What can be asked of a class."""
PLAIN: dict[type, type] = {
    IntType: int, FloatType: float, BoolType: bool, ComplexType: complex, NoneType: type(None),
    ListType: list, DictType: dict, SetType: set, TensorType: Tensor,
}  # fmt: skip
"""Types of values by those of the language."""
NO_OBJECT = "Cannot instantiate class '{name}' in a script function: it is marked with ignore"
NO_INIT = "Class {name} does not have an __init__ function defined"
ABSTRACT = "Can't instantiate abstract class {name} with abstract methods {methods}"
NO_SUPER = "super() takes no arguments and stands in methods of classes that are compiled with their bases"
NOT_INHERITED = "'super' object has no attribute or method '{name}'"
UNBOUND = "'{name}' is a method of {cls}: its first argument must be a {cls}"


def source_of(definition: ClassDefinition) -> PythonSource:
    """Where a compiled Python class has its methods from."""
    assert isinstance(definition.source, PythonSource)
    return definition.source


@dataclass(slots=True)
class ClassValue(Sugared):
    """A compiled Python class."""

    definition: ClassDefinition

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"class '{self.definition.python.__name__}'"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Classes are no values."""
        raise CompileError(NOT_A_VALUE.format(name=self.definition.python.__name__), where)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A new object, initialised."""
        cls, source = self.definition.python, source_of(self.definition)
        if inspect.isabstract(cls):
            methods = ", ".join(sorted(cls.__abstractmethods__))
            raise CompileError(ABSTRACT.format(name=cls.__name__, methods=methods), where)
        within = e.scope.receiver is not None and e.scope.receiver.definition is self.definition
        if within and e.graph.insertion_block is e.graph.body:  # each object would make another one
            raise recursion_error(f"{cls.__name__}.__init__", where)
        try:
            init = source.method("__init__")
        except CompileError as error:
            error.range = error.range or where
            raise error.with_caller(f"{cls.__name__}.__init__", e.scope.name, where) from None
        if init is None:
            raise CompileError(NO_INIT.format(name=cls.__name__), where)
        named = [*keywords, *self._made(e, where, source, init, args, keywords)]
        with e.graph.at_range(where):
            instance = e.emit("prim::CreateObject", (), self.definition.type)
        call_method(e, where, init, "__init__", instance, args, named)
        return SimpleValue(instance)

    def _made(
        self,
        e: Emitter,
        where: SourceRange,
        source: PythonSource,
        init: Function,
        args: Sequence[Given],
        keywords: Sequence[Given],
    ) -> list[Given]:
        """Values of a dataclass's fields that have a `default_factory` and were not given."""
        if source.record is None or "__init__" not in source.record.generated:
            return []
        positional = [a.name for a in init.schema.arguments[1:] if not a.kwarg_only]
        assigned = {*positional[: len(args)], *(k.name for k in keywords)}
        missing = [n for n in source.record.factories() if n not in assigned]
        return [Given(call_function(e, where, source.factory(n), (), ()), where, n) for n in missing]

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A static or class method, or a method that is given its object."""
        source = source_of(self.definition)
        marked = source.marked(name)
        static = marked[0] if marked is not None and marked[1] else source.static(name)
        if static is not None:
            return e.wrap(static, where)
        if name in self.definition.constants:
            return e.wrap(self.definition.constants[name], where)
        if name in NAMES:
            return e.wrap(getattr(self.definition.python, name), where)
        nested = source.nested(name)
        if nested is not None:
            return e.wrap(nested, where)
        reason = source.why_missing(name)
        if reason is not None:
            raise CompileError(reason, where)
        if callable(inspect.getattr_static(self.definition.python, name, None)):
            return UnboundMethod(self.definition.python, name)
        raise CompileError(f"{self.definition.name} has no attribute or method '{name}'", where)

    def has_attribute(self, e: Emitter, where: SourceRange, name: str) -> bool:
        """Whether the Python class has it."""
        return hasattr(self.definition.python, name)


class TypeForm(Sugared):
    """`type`, of an object whose class is compiled."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "type"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The class of the object."""
        type_ = args[0].value.static_type if len(args) == 1 and not keywords else None
        definition = type_.definition if isinstance(type_, ClassType) else None
        if type(type_) in PLAIN:
            return PlainType(PLAIN[type(type_)])
        if definition is None or not isinstance(definition.source, PythonSource):
            raise CompileError(NO_TYPE, where)
        if definition.is_open and not receivers.is_own(e, args[0].value):
            raise CompileError(OPEN_TYPE.format(name=definition.python.__name__), where)
        return ClassValue(definition)


@dataclass(slots=True)
class PlainType(Sugared):
    """The type of a value that is no object, which has a name."""

    python: type

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "type"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Types are no values."""
        raise CompileError(NO_TYPE, where)

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """Its name."""
        if name not in NAMES:
            raise CompileError(NO_TYPE, where)
        return e.wrap(getattr(self.python, name), where)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A conversion."""
        return e.wrap(self.python, where).call(e, where, args, keywords)


@dataclass(slots=True)
class IgnoredClass(Sugared):
    """A class marked with `ignore`: programs may be given nothing of it."""

    python: type

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"ignored class '{self.python.__name__}'"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """No objects of it are made."""
        raise FrontendError(NO_OBJECT.format(name=self.python.__name__), tree.range)


@dataclass(slots=True)
class UnboundMethod(Sugared):
    """`Base.method`, called with an object of the class or of one that inherits from it."""

    python: type
    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the method as this very class has it."""
        type_ = args[0].value.static_type if args else None
        definition = type_.definition if isinstance(type_, ClassType) else None
        python = definition.python if isinstance(definition, ClassDefinition) else None
        if definition is None or not isinstance(python, type) or not issubclass(python, self.python):
            raise CompileError(UNBOUND.format(name=self.name, cls=self.python.__name__), where)
        source = source_of(definition)
        function = source.method(self.name) if python is self.python else source.of_base(self.python, self.name)
        assert function is not None
        return SimpleValue(call_function(e, where, function, args, keywords))


@dataclass(slots=True)
class SuperForm(Sugared):
    """`super`, in a method of the class `owner` that is compiled for the class of its object."""

    owner: Any

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "super"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """`super()`."""
        first = e.graph.parameters[0] if e.scope.has_self and e.graph.parameters else None
        type_ = first.static_type if first is not None else None
        definition = type_.definition if isinstance(type_, ClassType) else None
        if tree.args or tree.keywords or not isinstance(self.owner, type) or definition is None or first is None:
            raise CompileError(NO_SUPER, tree.range)
        if not isinstance(definition.source, PythonSource | ModuleSource):
            raise CompileError(NO_SUPER, tree.range)
        variable = e.scope.frame.find(e.scope.receiver.name if e.scope.receiver is not None else first.name)
        receiver = e.load(first.name, variable) if isinstance(variable, Variable) else first
        return SuperValue(receiver, definition.source, self.owner)


@dataclass(slots=True)
class SuperValue(Sugared):
    """`super()`: an object seen as its bases have it."""

    receiver: Value
    source: PythonSource | ModuleSource
    owner: type

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "super"

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """The method of the next base that has one of that name."""
        function = self.source.inherited(name, self.owner)
        if function is not None:
            return BoundFunction(function, self.receiver)
        if name == "__init__":
            return NoInit()
        raise CompileError(NOT_INHERITED.format(name=name), where)


@dataclass(slots=True)
class BoundFunction(Sugared):
    """A function with its first argument."""

    function: Function
    first: Value
    is_property: bool = False
    """Whether naming it calls it."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The call."""
        return SimpleValue(call_function(e, where, self.function, [Given(self.first, where), *args], keywords))


class NoInit(Sugared):
    """`super().__init__` of a class whose bases have none."""

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """Nothing happens."""
        if args or keywords:
            raise CompileError("object.__init__() takes no arguments", where)
        return SimpleValue(e.constant(None))


class SetAttributeForm(Sugared):
    """`object.__setattr__`, which frozen dataclasses fill their objects with."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "object.__setattr__"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """`object.__setattr__(self, "name", value)`."""
        name = tree.args[1] if len(tree.args) == 3 and not tree.keywords else None
        owner = e.value(tree.args[0]) if isinstance(name, StringLiteral) else None
        definition = (
            owner.static_type.definition if owner is not None and isinstance(owner.static_type, ClassType) else None
        )
        if not isinstance(name, StringLiteral) or owner is None or not isinstance(definition, ClassDefinition):
            raise CompileError(SET_ATTRIBUTE, tree.callee.range)
        attribute = definition.attribute(name.value)
        if attribute is None:
            raise CompileError(NO_FIELD.format(name=name.value), tree.range)
        value = e.value(tree.args[2], attribute.type)
        receivers.assign(e, tree.range, owner, definition, name.value, value, thaw=True)
        return SimpleValue(e.constant(None))


def super_form(scope_of: Any) -> SuperForm:
    """`super` where names mean what `scope_of` says: `__class__` is the class around the method."""
    enclosing = scope_of("__class__")
    return SuperForm(None if enclosing is MISSING else enclosing)
