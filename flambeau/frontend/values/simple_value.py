"""What a program can do with a value of the graph, by its type: methods, properties, items, loops, unpacking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.frontend.emit.arrays import as_number
from flambeau.frontend.emit.conversions import unpack_tuple
from flambeau.frontend.emit.schema_matching import call_method, call_operator
from flambeau.frontend.resolver import ObjectResolver
from flambeau.frontend.trees.views import Apply
from flambeau.frontend.values import receivers, sets
from flambeau.frontend.values.advice import advice, advice_on_assigning
from flambeau.frontend.values.container_methods import ContainerMethod, listed, named_tuple_attribute
from flambeau.frontend.values.future_methods import future_method
from flambeau.frontend.values.methods import SEARCHES, GetItemMethod, SearchMethod, TupleMethod
from flambeau.frontend.values.module_containers import frozen, held_count, module_keys
from flambeau.frontend.values.ndarray import array_attribute, unpacked
from flambeau.frontend.values.object_methods import (
    find_method,
    find_property,
    fitting,
    has_method,
    hash_of,
    iterated,
    stored_names,
)
from flambeau.frontend.values.operator_arguments import adapted
from flambeau.frontend.values.sugared import Builtin, Emitter, Given, Iteration, Sugared
from flambeau.frontend.values.tensor_attributes import CONVERSIONS, ELEMENT_CODES, PROPERTIES
from flambeau.frontend.values.tensor_methods import OTHER_NAMES, tensor_method
from flambeau.ir.value import Value
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.schema import registry
from flambeau.schema.device import CPU
from flambeau.schema.function import FunctionSchema
from flambeau.schema.match import fits
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    DEVICE,
    INT,
    STRING,
    AnyTupleType,
    AwaitType,
    ComplexType,
    DeviceType,
    DictType,
    EnumType,
    FloatType,
    FutureType,
    IntType,
    ListType,
    NamedType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NO_LIST_TYPE = "Expected type hint for result of tolist(): write `values: List[float] = x.tolist()`, as it is"
BAD_ELEMENT_TYPE = "{type} is not one of the supported element types for tolist"
NO_ATTRIBUTE = "'{type}' object has no attribute or method '{name}'."
NO_SETTER = "cannot assign to '{name}': it is a property without a setter"
NOT_NAMED = "hasattr's first argument must be an object or NamedTuple, but got {found} instead"
NO_STATIC_LENGTH = (
    "Can not iterate over a module list or tuple with a value that does not have a statically determinable length"
)
NO_STATIC_SIZE = "cannot statically infer the expected size of a list in this context"
ITEMIZED = {StringType: "aten::list", TensorType: "aten::unbind"}
PYTHON_METHODS = {
    StringType: ("removeprefix", "removesuffix", "casefold", "isascii"),
    ListType: ("index", "remove", "count"),
    ComplexType: ("conjugate",),
    IntType: ("bit_length", "bit_count"),
    FloatType: ("is_integer",),
}
"""Methods that TorchScript does not have, or not for every type of element."""
CONTAINER_METHODS = {ListType: ("extend", "sort"), DictType: ("update",)}
"""Methods that take more than the operators do."""
UNARY = {"prim::abs": "__abs__", "aten::round": "__round__"}
"""The methods of objects that builtin functions call."""
UNREFINED_TUPLE = (
    "Provided tuple is not fully defined/refined including its element types, "
    "please provide a value of type like Tuple[int, int]"
)


@dataclass(slots=True)
class SimpleValue(Sugared):
    """A value of the graph."""

    value: Value

    @property
    def kind(self) -> str:
        """Its type, as programs write it."""
        return f"value of type '{shown(self.value.static_type)}'"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Itself."""
        return self.value

    def held(self, e: Emitter, where: SourceRange) -> Value:
        """Itself."""
        return self.value

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A method, or a property such as `shape`."""
        found = _attribute(e, where, self.value, name)
        if found is None:
            text = NO_ATTRIBUTE.format(type=shown(self.value.static_type), name=name)
            raise CompileError(text + advice(self.value.static_type, name), where)
        return found

    def has_attribute(self, e: Emitter, where: SourceRange, name: str) -> bool:
        """Whether an object or a named tuple has that attribute."""
        type_ = self.value.static_type
        if isinstance(type_, TupleType) and type_.name is not None:
            return name in type_.fields
        if isinstance(type_, NamedType):
            if name in stored_names(type_) or find_property(e, type_, name, where) is not None:
                return True
            return has_method(e, type_, name, where)
        if isinstance(type_, TupleType):
            raise CompileError(NOT_NAMED.format(found="a normal Tuple"), where)
        raise CompileError(NOT_NAMED.format(found=self.kind), where)

    def set_attribute(
        self, e: Emitter, where: SourceRange, name: str, value: Value, annotation: Type | None = None
    ) -> None:
        """Only objects have attributes that can be set; `__init__` adds them."""
        type_ = self.value.static_type
        if not isinstance(type_, NamedType):
            text = f"Tried to set an attribute: {name} on a non-class: {shown(type_)}"
            raise CompileError(text + advice_on_assigning(type_, name), where)
        definition = type_.definition
        if isinstance(definition, ClassDefinition):
            if annotation is not None:
                receivers.check_annotation(e, where, self.value, definition, name)
            if definition.attribute(name) is None:
                accessor = find_property(e, type_, name, where)
                if accessor is not None and accessor[1] is not None:
                    setter = MethodValue(self.value, accessor[1].short_name, accessor[1])
                    setter.call(e, where, [Given(value, where)], ())
                    return
                if accessor is not None:
                    raise CompileError(NO_SETTER.format(name=name), where)
                if receivers.is_receiver(e, self.value, definition):
                    receivers.add_attribute(e, where, definition, name, value, annotation)
        if not isinstance(definition, ClassDefinition) or definition.attribute(name) is None:
            if isinstance(definition, ClassDefinition) and definition.constants.get(name, name) is None:
                raise CompileError(receivers.ALWAYS_NONE.format(found=shown(value.static_type), name=name), where)
            hint = "Did you forget to initialize it in __init__()?"
            raise CompileError(f"Tried to set nonexistent attribute: {name}. {hint}", where)
        receivers.assign(e, where, self.value, definition, name, value)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """Only objects with `__call__` or `forward` can be called."""
        type_ = self.value.static_type
        if isinstance(type_, NamedType):
            whole = (
                e.scope.resolver.call_object(self.value, where)
                if isinstance(e.scope.resolver, ObjectResolver)
                else None
            )
            if isinstance(whole, Sugared):
                return whole.call(e, where, args, keywords)
            method = "forward" if getattr(type_.definition, "is_module", False) else "__call__"
            return self.attribute(e, where, method).call(e, where, args, keywords)
        raise CompileError(f"cannot call a {self.kind}", where)

    def as_tuple(self, e: Emitter, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """The items of a tuple, or of a list whose length is checked when the program runs."""
        type_ = self.value.static_type
        if isinstance(type_, TupleType):
            return [SimpleValue(item) for item in unpack_tuple(e, self.value)]
        modules = module_items(e, where, self.value)
        if modules is not None:
            return modules
        if isinstance(type_, ListType):
            if size is None:
                raise CompileError(NO_STATIC_SIZE, where)
            node = e.graph.insert("prim::ListUnpack", (self.value,), [type_.element] * size)
            return [SimpleValue(item) for item in node.results]
        if type(type_) in ITEMIZED and size is not None:
            return SimpleValue(call_operator(e, where, ITEMIZED[type(type_)], [self.value])).as_tuple(e, where, size)
        if isinstance(type_, SetType):
            return SimpleValue(sets.items_of(e, where, self.value)).as_tuple(e, where, size)
        if isinstance(type_, AnyTupleType):
            raise CompileError(UNREFINED_TUPLE, where)
        items = iterated(e, where, self.value)
        if items is not None:
            return SimpleValue(items).as_tuple(e, where, size)
        if isinstance(type_, TensorType) and type_.is_array and size is not None:
            return [SimpleValue(item) for item in unpacked(e, where, self.value, size)]
        raise CompileError(f"{shown(type_)} cannot be used as a tuple", where)

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over a list, tuple, dict, string or tensor."""
        type_ = self.value.static_type
        if isinstance(type_, TupleType):
            return UnrolledIteration(self.as_tuple(e, where))
        if isinstance(type_, ListType | TensorType | StringType):
            return ItemIteration(self.value)
        if isinstance(type_, SetType):
            return ItemIteration(sets.items_of(e, where, self.value))
        if isinstance(type_, DictType):
            return ItemIteration(call_operator(e, where, "aten::keys", [self.value]))
        keys = module_keys(e, where, self.value)
        if keys is not None:
            return UnrolledIteration([SimpleValue(e.constant(key)) for key in keys])
        modules = module_items(e, where, self.value)
        if modules is not None:
            return UnrolledIteration(modules)
        found = e.rules.iterator(e, where, self.value)
        if found is not None:
            return found.iterate(e, where)
        raise CompileError(f"'{shown(type_)}' object is not iterable", where)

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The item of a list, dict, string or tensor."""
        if isinstance(self.value.static_type, TensorType):
            zero = e.constant(0)
            return SimpleValue(as_number(e, call_operator(e, where, "aten::select", [self.value, zero, index])))
        return SimpleValue(call_operator(e, where, "aten::__getitem__", [self.value, index]))

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """`aten::len`, or the number of items of a tuple."""
        if isinstance(self.value.static_type, TupleType):
            return e.constant(len(self.value.static_type.elements))
        if isinstance(self.value.static_type, NamedType):
            count = held_count(e, where, self.value)
            if count is not None and not has_method(e, self.value.static_type, "__len__", where):
                return e.constant(count)
            return self.attribute(e, where, "__len__").call(e, where, (), ()).as_value(e, where)
        return call_operator(e, where, "aten::len", [self.value])


@dataclass(slots=True)
class OperatorValue(Builtin):
    """A builtin operator, perhaps with its first argument bound: `torch.relu`, `x.relu`."""

    name: str
    receiver: Given | None = None

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """`",".join(map(str, x))`, where what is joined is no value."""
        if self.name != "aten::join" or len(tree.args) != 1 or tree.keywords:
            return None
        where, source = tree.args[0].range, e.sugared(tree.args[0])
        items = listed(e, where, source) if source.kind in ("map", "zip") else source.as_value(e, where)
        return self.call(e, tree.callee.range, [Given(items, where)], ())

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The overload that fits."""
        bound = [*args] if self.receiver is None else [self.receiver, *args]
        bound = [*adapted(e, where, self.name, bound, SimpleValue)]
        if self.name == "aten::hash" and len(bound) == 1 and isinstance(bound[0].value.static_type, NamedType):
            return SimpleValue(hash_of(e, where, bound[0].value))
        keywords = _outputs_by_name(self.name, keywords, e)
        if self.name in UNARY and len(bound) == 1 and isinstance(bound[0].value.static_type, NamedType):
            return SimpleValue(bound[0].value).attribute(e, where, UNARY[self.name]).call(e, where, (), keywords)
        return SimpleValue(call_operator(e, where, self.name, bound, keywords))

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """An overload, `ops.aten.add.Tensor`: the operator all the same, as the operands' types tell the overload."""
        overload = "" if name == "default" else name
        if self.receiver is not None or not any(d.schema.overload == overload for d in registry.overloads(self.name)):
            raise CompileError(f"attribute lookup is not defined on {self.kind}", where)
        return self


def _outputs_by_name(name: str, keywords: Sequence[Given], e: Emitter) -> Sequence[Given]:
    """`out=(v, i)` as the two keywords that the operator has for it."""
    pairs = [k for k in keywords if k.name == "out" and isinstance(k.value.static_type, TupleType)]
    if not pairs:
        return keywords
    items = unpack_tuple(e, pairs[0].value)
    for definition in registry.overloads(f"{name}"):
        outs = [a for a in definition.schema.arguments if a.kwarg_only and a.alias is not None and a.alias.is_write]
        if len(outs) == len(items):
            named = [Given(v, pairs[0].where, a.name) for v, a in zip(items, outs, strict=True)]
            return [*(k for k in keywords if k is not pairs[0]), *named]
    return keywords


@dataclass(slots=True)
class ConversionValue(Builtin):
    """`x.float`, `x.cpu`: a conversion of a tensor by `aten::to`."""

    tensor: Value
    target: Any
    type: Type

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The converted tensor."""
        operands = [Given(self.tensor, where), Given(e.constant(self.target, self.type), where), *args]
        return SimpleValue(call_operator(e, where, "aten::to", operands, keywords))


@dataclass(slots=True)
class MethodValue(Sugared):
    """A method of an object, with its object."""

    owner: Value
    name: str
    function: Function | FunctionSchema
    others: tuple[str, ...] = ()
    """Methods that calls mean whose arguments fit them and not this one."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the compiled method."""
        name, function = self.name, self.function
        if self.others:
            name, function = fitting(e, where, self.owner, (name, function), self.others, args, keywords)
        return SimpleValue(call_method(e, where, function, name, self.owner, args, keywords))


@dataclass(slots=True)
class ToListValue(Sugared):
    """`x.tolist`, whose result has the type that is expected of it."""

    tensor: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method tolist"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """`x.tolist()` where a type is expected."""
        where: SourceRange = tree.callee.range
        if hint is None:
            raise CompileError(NO_LIST_TYPE, where)
        depth, element = 0, hint
        while isinstance(element, ListType):
            depth, element = depth + 1, element.element
        if type(element) not in ELEMENT_CODES:
            raise CompileError(BAD_ELEMENT_TYPE.format(type=element.annotation), where)
        operands = (self.tensor, e.constant(depth), e.constant(ELEMENT_CODES[type(element)]))
        return SimpleValue(e.emit("prim::tolist", operands, hint))


@dataclass(slots=True)
class ItemIteration(Iteration):
    """Over a list or tensor by index."""

    value: Value

    def trip_count(self, e: Emitter, where: SourceRange) -> Value:
        """The length when the loop starts."""
        return call_operator(e, where, "aten::len", [self.value])

    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The item."""
        return SimpleValue(self.value).item(e, where, index)


@dataclass(slots=True)
class UnrolledIteration(Iteration):
    """Over items that are known one by one."""

    items: list[Sugared]

    def __post_init__(self) -> None:
        self.unrolled = self.items

    def trip_count(self, e: Emitter, where: SourceRange) -> Value:
        """How many there are."""
        return e.constant(len(self.items))

    def at(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The item of a constant index."""
        if index.defining_node is None or index.defining_node.op != "prim::Constant":
            raise CompileError(NO_STATIC_LENGTH, where)
        position: int = index.defining_node.attribute("value")
        return self.items[position]


def shown(type_: Type) -> str:
    """A type as messages name it: one that nobody annotated says so."""
    return "Tensor (inferred)" if isinstance(type_, TensorType) and type_.inferred else type_.annotation


def _attribute(e: Emitter, where: SourceRange, value: Value, name: str) -> Sugared | None:
    type_ = value.static_type
    if (found := array_attribute(e, where, SimpleValue, value, name)) is not None:
        return found
    if isinstance(type_, TensorType) and name in PROPERTIES:
        kind, result = PROPERTIES[name]
        return SimpleValue(e.emit(kind, (value,), result))
    if isinstance(type_, TensorType) and name in CONVERSIONS:
        return ConversionValue(value, CONVERSIONS[name].code, INT)
    if isinstance(type_, TensorType) and name == "cpu":
        return ConversionValue(value, CPU, DEVICE)
    special = tensor_method(SimpleValue, value, name) if isinstance(type_, TensorType) else None
    if special is not None:
        return special
    if isinstance(type_, TensorType) and name in ("__getitem__", "tolist"):
        return ToListValue(value) if name == "tolist" else GetItemMethod(SimpleValue, value)
    if name in CONTAINER_METHODS.get(type(type_), ()):
        return ContainerMethod(SimpleValue, OperatorValue(f"aten::{name}", Given(value, where)), value, name)
    if isinstance(type_, SetType):
        return sets.method(SimpleValue, value, name, where)
    if isinstance(type_, TupleType) and type_.name is None and name in ("count", "index"):
        return TupleMethod(SimpleValue, value, name)
    if isinstance(type_, StringType) and name in SEARCHES:
        return SearchMethod(SimpleValue, value, name)
    if isinstance(type_, ComplexType) and name in ("real", "imag"):
        return SimpleValue(call_operator(e, where, f"python::{name}", [value]))
    if isinstance(type_, FutureType):
        return future_method(SimpleValue, value, name, where)
    if isinstance(type_, AwaitType):
        waited = e.emit("prim::awaitable_wait", (value,), type_.element)
        return SimpleValue(waited).attribute(e, where, name)
    if isinstance(type_, DeviceType) and name in ("type", "index"):
        return SimpleValue(e.emit(f"prim::{name}", (value,), STRING if name == "type" else OptionalType(INT)))
    if isinstance(type_, TupleType) and name in type_.fields:
        return SimpleValue(tuple_item(e, value, type_.fields.index(name)))
    if isinstance(type_, TupleType) and type_.fields and name.startswith("_"):
        return named_tuple_attribute(e, SimpleValue, value, name)
    if isinstance(type_, EnumType) and name in ("name", "value"):
        kind = f"prim::Enum{name.capitalize()}"
        return SimpleValue(e.emit(kind, (value,), STRING if name == "name" else type_.value_type))
    if isinstance(type_, NamedType):
        return _object_attribute(e, where, value, type_, name)
    if isinstance(type_, EnumType | TupleType) and isinstance(e.scope.resolver, ObjectResolver):
        method = e.scope.resolver.object_attribute(value, name, where)
        if isinstance(method, Sugared):
            return method.call(e, where, (), ()) if getattr(method, "is_property", False) else method
        if method is not None:
            return e.wrap(method, where)
    kind = f"aten::{OTHER_NAMES.get(name, name)}"
    if any(_takes(definition.schema.arguments, type_) for definition in registry.overloads(kind)):
        return OperatorValue(kind, Given(value, where))
    kind = f"python::{name}"
    if name in PYTHON_METHODS.get(type(type_), ()):
        return OperatorValue(kind, Given(value, where))
    return None


def module_items(e: Emitter, where: SourceRange, value: Value) -> list[Sugared] | None:
    """The modules in a container of modules, each read as an attribute; None for what is no such container."""
    if not isinstance(value.static_type, NamedType) or not isinstance(e.scope.resolver, ObjectResolver):
        return None
    found = e.scope.resolver.object_items(value, where)
    if found is None:
        return None
    return [SimpleValue(e.emit("prim::GetAttr", (value,), type_, name=name)) for name, type_ in found]


def tuple_item(e: Emitter, value: Value, index: int) -> Value:
    """One item of a tuple; no node if the tuple was just made."""
    assert isinstance(value.static_type, TupleType)
    if value.defining_node is not None and value.defining_node.op == "prim::TupleConstruct":
        return value.defining_node.operand(index)
    return e.emit("prim::TupleIndex", (value, e.constant(index)), value.static_type.elements[index])


def _object_attribute(e: Emitter, where: SourceRange, value: Value, type_: NamedType, name: str) -> Sugared | None:
    resolver, definition = e.scope.resolver, type_.definition
    if isinstance(definition, ClassDefinition):
        stored = definition.attribute(name)
        if stored is not None:
            return SimpleValue(e.emit("prim::GetAttr", (value,), stored.type, name=name))
        if name in definition.constants:
            return e.wrap(frozen(definition.constants[name]), where)
        accessor = find_property(e, type_, name, where)
        if accessor is not None:
            return MethodValue(value, accessor[0].short_name, accessor[0]).call(e, where, (), ())
    if isinstance(resolver, ObjectResolver):
        found = resolver.object_attribute(value, name, where)
        if found is not None:
            return e.wrap(found, where)
    generator = e.rules.generator_method(e, value, name, where)
    if generator is not None:
        return generator
    method = find_method(e, type_, name, where)
    if method is None:
        return None
    if isinstance(definition, ClassDefinition) and name in definition.properties:  # compiled just now
        return MethodValue(value, name, method).call(e, where, (), ())
    others = getattr(getattr(getattr(definition, "python", None), name, None), "other_methods", ())
    return MethodValue(value, name, method, others)


def _takes(arguments: Sequence[Any], type_: Type) -> bool:
    """Whether the first argument accepts the type. Optionals must be refined before their methods are used."""
    return bool(arguments) and not isinstance(type_, OptionalType) and fits(arguments[0].type, type_, {})
