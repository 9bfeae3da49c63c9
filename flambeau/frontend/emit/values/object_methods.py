"""Methods and properties of objects, compiled when a program first asks for them, and what builtins make of objects."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.frontend.emit.schema_matching import call_method, call_operator, match_schema
from flambeau.frontend.emit.schema_mismatches import Mismatch
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.frontend.library import mappings, queues
from flambeau.frontend.scopes.name_resolution import ObjectResolver
from flambeau.ir.graph import Value
from flambeau.program.classes import ClassDefinition, Property
from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    BOOL,
    STRING,
    ComplexType,
    DictType,
    ListType,
    NamedType,
    NoneType,
    Type,
)
from flambeau.util.errors import CompileError
from flambeau.util.record import replace
from flambeau.util.source import SourceRange

_OF_LIBRARY = (mappings.__name__, queues.__name__)
UNHASHABLE = "unhashable type: '{type}' has no __hash__ of its own. Write one, of what makes two objects equal"
NOT_SORTABLE = (
    "Only values that have an order can be sorted: numbers, texts, tensors of one element, objects with __lt__, and "
    "tuples and lists of them. Values of type {type} are not sortable; give sorted a key"
)
NO_ORDER = (
    "To sort a list of objects, the class must define a __lt__ method: {type} has no `def __lt__(self, other: {type}) "
    "-> bool`"
)


def find_method(e: Emitter, type_: NamedType, name: str, where: SourceRange) -> Function | FunctionSchema | None:
    """A method of objects of the type, compiled now if the resolver does that; None if there is none."""
    method: Function | FunctionSchema | None = type_.definition.methods.get(name)
    if method is None and isinstance(e.scope.resolver, ObjectResolver):
        method = e.scope.resolver.compile_method(type_, name, where)
    return method


def as_items(
    e: Emitter, where: SourceRange, owner: Type, method: Function | FunctionSchema, args: Sequence[Given]
) -> Sequence[Given]:
    """The arguments of a method; a text as the list of its letters where a class of Python's library takes what it goes
    over: `counter.update("abc")`.
    """
    python = getattr(owner.definition, "python", None) if isinstance(owner, NamedType) else None
    if getattr(python, "__module__", "") not in _OF_LIBRARY:
        return args
    schema = method if isinstance(method, FunctionSchema) else method.schema
    wanted = [parameter.type for parameter in schema.arguments[1:]]
    return [
        replace(argument, value=call_operator(e, where, "aten::list", [argument.value]))
        if isinstance(type_, ListType) and argument.value.static_type == STRING
        else argument
        for argument, type_ in zip(args, wanted, strict=False)
    ] + list(args[len(wanted) :])


def find_property(e: Emitter, type_: NamedType, name: str, where: SourceRange) -> Property | None:
    """A property of objects of the type, compiled now if it was not yet; None if there is none."""
    definition = type_.definition
    if not isinstance(definition, ClassDefinition):
        return None
    try:
        return definition.find_property(name)
    except CompileError as error:
        error.range = error.range or where
        raise error.with_caller(f"{definition.name.rpartition('.')[2]}.{name}", e.scope.name, where) from None


def stored_names(type_: NamedType) -> set[str]:
    definition = type_.definition
    return {*definition.slots, *definition.constants} if isinstance(definition, ClassDefinition) else set()


def has_method(e: Emitter, type_: NamedType, name: str, where: SourceRange) -> bool:
    """Whether objects of the type have a method of that name."""
    return find_method(e, type_, name, where) is not None


def as_text(e: Emitter, where: SourceRange, value: Value, *, formatted: bool = False) -> Value:
    """An object as the text that `__str__`, or else `__repr__`, gives; any other value itself.

    With `formatted`, `__format__` comes first, as in an f-string.
    """
    type_ = value.static_type
    if isinstance(type_, NamedType) and not getattr(type_.definition, "is_module", False):
        method = find_method(e, type_, "__format__", where) if formatted else None
        if method is not None:
            return call_method(e, where, method, "__format__", value, [Given(e.constant(""), where)], ())
        for name in ("__str__", "__repr__"):
            method = find_method(e, type_, name, where)
            if method is not None:
                return call_method(e, where, method, name, value, (), ())
    return value


def iterated(e: Emitter, where: SourceRange, value: Value) -> Value | None:
    """What a loop over an object goes over, all of it at once; None for what is no object or cannot be gone over."""
    iterator = e.rules.iterator(e, where, value)
    return None if iterator is None else iterator.as_value(e, where)


def gives_iterator(e: Emitter, type_: Type, where: SourceRange) -> bool:
    """Whether `__iter__` of objects of the type gives an object, whose `__next__` gives the items."""
    if not isinstance(type_, NamedType) or getattr(type_.definition, "is_module", False):
        return False
    method = find_method(e, type_, "__iter__", where)
    schema = method.schema if isinstance(method, Function) else method
    return schema is not None and isinstance(schema.returns[0].type, NamedType)


def hash_of(e: Emitter, where: SourceRange, value: Value) -> Value:
    """What `__hash__` of an object gives. Raises CompileError where its class has none."""
    assert isinstance(value.static_type, NamedType)
    method = find_method(e, value.static_type, "__hash__", where)
    if method is None:
        raise CompileError(UNHASHABLE.format(type=value.static_type.annotation), where)
    return call_method(e, where, method, "__hash__", value, (), ())


def check_sortable(e: Emitter, where: SourceRange, items: Value) -> None:
    """Refuse to sort what has no order."""
    element = items.static_type.element if isinstance(items.static_type, ListType) else None
    if isinstance(element, DictType | ComplexType | NoneType):
        raise CompileError(NOT_SORTABLE.format(type=element.annotation), where)
    if not isinstance(element, NamedType):
        return
    method = find_method(e, element, "__lt__", where)
    schema = method.schema if isinstance(method, Function) else method
    is_fit = schema is not None and len(schema.arguments) == 2 and schema.returns[0].type == BOOL
    if schema is None or not is_fit or not is_subtype(element, schema.arguments[-1].type):
        raise CompileError(NO_ORDER.format(type=element.annotation), where)


Method = tuple[str, Function | FunctionSchema]


def fitting(
    e: Emitter, where: SourceRange, owner: Value, first: Method, others: Sequence[str], args: Sequence[Given],
    keywords: Sequence[Given],
) -> Method:  # fmt: skip
    """The first of some methods that takes these arguments; the very first if none does."""
    assert isinstance(owner.static_type, NamedType)
    arguments = [Given(owner, where), *args]
    if not takes(first[1], arguments, keywords):
        for name in others:
            method = find_method(e, owner.static_type, name, where)
            if method is not None and takes(method, arguments, keywords):
                return name, method
    return first


def takes(method: Function | FunctionSchema, arguments: Sequence[Given], keywords: Sequence[Given]) -> bool:
    """Whether a method takes these arguments."""
    schema = method if isinstance(method, FunctionSchema) else method.schema
    try:
        match_schema(schema, arguments, keywords, implicit=True)
    except Mismatch:
        return False
    return True
