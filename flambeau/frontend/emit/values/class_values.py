"""Classes as programs use them: exceptions to raise, named tuples to construct, enums whose members are constants."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final

from flambeau.frontend.emit.implicit_conversions import pack_list, pack_tuple
from flambeau.frontend.emit.schema_matching import call_operator, match_single
from flambeau.frontend.emit.values.simple_value import ItemIteration, SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Iteration, Sugared
from flambeau.frontend.scopes.array_annotations import has_array_fields
from flambeau.frontend.scopes.name_resolution import ObjectResolver
from flambeau.frontend.scopes.python_constants import enum_type
from flambeau.frontend.scopes.type_annotations import try_type_of
from flambeau.ir.graph import Value
from flambeau.program import protected
from flambeau.schema.array_type import holds_arrays
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.types import ANY, STRING, EnumType, TensorType, TupleType
from flambeau.util.errors import CompileError
from flambeau.util.names import qualified_name
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

OF_ARRAYS: Final = (
    "{name} has fields that are annotated as np.ndarray, and this program has tensors: annotate its parameters as "
    "np.ndarray too, or the fields as Tensor"
)

ONE_VALUE: Final = "{name}(...) takes the value of a member"
BY_NAME: Final = "{name}[...] takes the name of a member, a text: {name}(...) takes its value"


@dataclass(slots=True)
class ExceptionClass(Sugared):
    """A class of exceptions, raised by its qualified name."""

    python: type

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "exception class"

    @property
    def qualified_name(self) -> str:
        """The name in the error that the program raises."""
        name = f"{self.python.__module__}.{self.python.__qualname__}"
        protected.classes[name] = self.python
        return name

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Exceptions are no values: they can only be raised."""
        raise CompileError(f"{self.python.__name__} cannot be used as a value: it can only be raised", where)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The exception with its arguments. Raises CompileError for keywords that its class does not take."""
        if keywords and not self.has_own_text:
            raise CompileError(f"{self.python.__name__}() takes no keyword arguments", keywords[0].where)
        return ExceptionValue(self, [g.value for g in (*args, *keywords)], tuple(k.name for k in keywords))

    @property
    def has_own_text(self) -> bool:
        """Whether the class says itself what becomes of its arguments."""
        return any(inspect.isfunction(getattr(self.python, name)) for name in ("__init__", "__str__"))


@dataclass(slots=True)
class ExceptionValue(Sugared):
    """An exception made to be raised."""

    cls: ExceptionClass
    arguments: list[Value]
    keywords: tuple[str, ...] = ()
    """The names of the last of the arguments."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "exception"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Exceptions are no values: they can only be raised."""
        raise CompileError(f"exception {self.cls.python.__name__} cannot be used as a value", where)


@dataclass(slots=True)
class NamedTupleClass(Sugared):
    """A class of named tuples."""

    python: type
    type: TupleType

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "NamedTuple class"

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A static or class method."""
        return _class_function(e, where, self.python, name)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A new tuple, its fields given by position or name; fields without annotation are what the call passes."""
        name = (self.type.name or "").rpartition(".")[2]
        if not e.arrays and has_array_fields(self.python):
            raise CompileError(OF_ARRAYS.format(name=name), where)
        defaults, annotated = dict(self.type.defaults), getattr(self.python, "__annotations__", {})
        is_open = [field not in annotated for field in self.type.fields]
        fields = [
            Argument(field, ANY if anything else type_, default=defaults.get(field, NO_DEFAULT))
            for field, type_, anything in zip(self.type.fields, self.type.elements, is_open, strict=True)
        ]
        schema = FunctionSchema(name, "", tuple(fields), (Argument("", self.type),))
        operands = match_single(schema, args, keywords, where).operands(e)
        types = [
            operand.static_type
            if (anything and (e.arrays or not isinstance(operand.static_type, TensorType)))
            or (e.arrays and holds_arrays(operand.static_type))
            else declared
            for operand, declared, anything in zip(operands, self.type.elements, is_open, strict=True)
        ]
        return SimpleValue(pack_tuple(e, operands, replace(self.type, elements=tuple(types))))


@dataclass(slots=True)
class EnumClass(Sugared):
    """An enum; its members are constants."""

    type: EnumType

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "EnumClass"

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A member."""
        member = getattr(self.type.python, name, None)
        if not isinstance(member, self.type.python):
            return _class_function(e, where, self.type.python, name)
        return SimpleValue(e.constant(member, self.type))

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The member of a value. Raises CompileError for more than one argument."""
        if len(args) != 1 or keywords:
            raise CompileError(ONE_VALUE.format(name=self.type.python.__name__), where)
        shown = call_operator(e, where, "python::repr", [args[0].value])
        refusal = e.constant(f" is not a valid {self.type.python.__qualname__}")
        text = call_operator(e, where, "aten::add", [shown, refusal])
        members = {member.value: member for member in self.type.python}
        return SimpleValue(self._chosen(e, where, args[0].value, members, text, "builtins.ValueError"))

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The member of a name. Raises CompileError for anything else than a text."""
        if index.static_type != STRING:
            raise CompileError(BY_NAME.format(name=self.type.python.__name__), where)
        members = dict(self.type.python.__members__)
        return SimpleValue(self._chosen(e, where, index, members, index, "builtins.KeyError"))

    def _chosen(
        self, e: Emitter, where: SourceRange, key: Value, members: Mapping[Any, enum.Enum], text: Value, error: str
    ) -> Value:
        """The member whose key is equal to another; the program raises an error where there is none."""
        if not members:
            e.insert("prim::RaiseException", (text, e.constant(error)))
            return e.emit("prim::Uninitialized", (), self.type)
        (known, member), *rest = members.items()
        node = e.insert("prim::If", (call_operator(e, where, "aten::eq", [key, e.constant(known)]),), self.type)
        for is_equal in (True, False):
            block = node.add_block()
            with e.inside(block):
                constant = e.constant(member, self.type) if is_equal else None
                block.add_return(constant or self._chosen(e, where, key, dict(rest), text, error))
        return node.result()

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many members there are."""
        return e.constant(len(self.type.python))

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over the members, in the order of their definition."""
        members = [e.constant(member, self.type) for member in self.type.python]
        return ItemIteration(pack_list(e, members, self.type))


def _class_function(e: Emitter, where: SourceRange, cls: type, name: str) -> Sugared:
    """A static or class method of a class of enums or named tuples. Raises CompileError if it has none of that name."""
    function = (
        e.scope.resolver.object_attribute(cls, name, where) if isinstance(e.scope.resolver, ObjectResolver) else None
    )
    if function is None:
        kind = "Enum<{}>" if issubclass(cls, enum.Enum) else "{}"
        raise CompileError(f"'{kind.format(qualified_name(cls))}' has no attribute '{name}'", where)
    return e.wrap(function, where)


def wrap_class(e: Emitter, cls: type, where: SourceRange) -> Sugared | None:
    """What a class is in a program, or None if it has no use there."""
    if issubclass(cls, BaseException):
        return ExceptionClass(cls)
    if issubclass(cls, enum.Enum):
        try:
            return EnumClass(enum_type(cls))
        except TypeError as error:
            raise CompileError(str(error), where) from None
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        type_ = try_type_of(cls, e.scope.resolver, where)
        return NamedTupleClass(cls, type_) if isinstance(type_, TupleType) else None
    return None
