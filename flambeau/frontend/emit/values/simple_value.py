"""What a program can do with a value of the graph, by its type: methods, properties, items, loops, unpacking."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.frontend.emit.implicit_conversions import unpack_tuple
from flambeau.frontend.emit.numpy.array_promotion import as_number
from flambeau.frontend.emit.numpy.ndarray_methods import unpacked
from flambeau.frontend.emit.schema_matching import call_method, call_operator
from flambeau.frontend.emit.values import receivers
from flambeau.frontend.emit.values import set_values as sets
from flambeau.frontend.emit.values.attribute_advice import advice, advice_on_assigning
from flambeau.frontend.emit.values.module_containers import module_count, module_keys
from flambeau.frontend.emit.values.object_methods import (
    as_items,
    find_property,
    fitting,
    has_method,
    iterated,
    stored_names,
)
from flambeau.frontend.emit.values.sugared import Emitter, Given, Iteration, Sugared
from flambeau.frontend.scopes.name_resolution import ObjectResolver
from flambeau.ir.attribute_names import name_after_attribute
from flambeau.ir.graph import Value
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.schema.set_type import SetType
from flambeau.schema.shown_type import shown_type
from flambeau.schema.types import (
    NONE,
    AnyTupleType,
    DictType,
    InterfaceType,
    ListType,
    NamedType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NO_ATTRIBUTE = "'{type}' object has no attribute or method '{name}'."
NO_SETTER = "Tried to set read-only attribute: {name}. It is a property without a setter"
NO_CLASS = (
    "Tried to set an attribute: {name} on a non-class: {type}. An interface has methods alone: declare one that sets it"
)
NOT_NAMED = "hasattr's first argument must be an object or NamedTuple, but got {found} instead"
NO_STATIC_LENGTH = (
    "Can not iterate over a module list or tuple with a value that does not have a statically determinable length"
)
NO_STATIC_SIZE = (
    "cannot statically infer the expected size of a list in this context: keep the list, or write out its items, as in "
    "(x[0], x[1])"
)
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
        return f"value of type '{shown_type(self.value.static_type)}'"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Itself."""
        return self.value

    def stored_value(self, e: Emitter, where: SourceRange) -> Value:
        """Itself."""
        return self.value

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """A method, or a property such as `shape`."""
        meaning = e.rules.attribute(e, where, self.value, name)
        if meaning is None:
            type_ = self.value.static_type
            named = "np.ndarray" if isinstance(type_, TensorType) and type_.is_array else shown_type(type_)
            text = NO_ATTRIBUTE.format(type=named, name=name)
            raise CompileError(text + advice(self.value.static_type, name), where)
        return meaning

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
            text = f"Tried to set an attribute: {name} on a non-class: {shown_type(type_)}"
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
                raise CompileError(receivers.ALWAYS_NONE.format(found=shown_type(value.static_type), name=name), where)
            if isinstance(type_, InterfaceType):
                raise CompileError(NO_CLASS.format(name=name, type=shown_type(type_)), where)
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
        text = ": without the parentheses it is the value itself" if not args and not keywords else ""
        raise CompileError(f"cannot call a {self.kind}{text}", where)

    def as_tuple(self, e: Emitter, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """The items of a tuple, or of a list whose length is checked when the program runs."""
        value, type_ = self.value, self.value.static_type
        if isinstance(type_, TupleType):
            return [SimpleValue(item) for item in unpack_tuple(e, value)]
        modules = module_items(e, where, value)
        if modules is not None:
            return modules
        if isinstance(type_, AnyTupleType):
            raise CompileError(UNREFINED_TUPLE, where)
        if not isinstance(type_, ListType):
            items = _items_as_list(e, where, value, size)
            if items is not None:
                return SimpleValue(items).as_tuple(e, where, size)
            if isinstance(type_, TensorType) and type_.is_array and size is not None:
                return [SimpleValue(item) for item in unpacked(e, where, value, size)]
            raise CompileError(f"{shown_type(type_)} cannot be used as a tuple", where)
        if size is None:
            raise CompileError(NO_STATIC_SIZE, where)
        node = e.graph.insert("prim::ListUnpack", (value,), [type_.element] * size)
        return [SimpleValue(item) for item in node.results]

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
        iterator = e.rules.iterator(e, where, self.value)
        if iterator is not None:
            return iterator.iterate(e, where)
        raise CompileError(f"'{shown_type(type_)}' object is not iterable", where)

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
            count = module_count(e, where, self.value)
            if count is not None and not has_method(e, self.value.static_type, "__len__", where):
                return e.constant(count)
            return self.attribute(e, where, "__len__").call(e, where, (), ()).as_value(e, where)
        return call_operator(e, where, "aten::len", [self.value])


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
        args = as_items(e, where, self.owner.static_type, function, args)
        return SimpleValue(call_method(e, where, function, name, self.owner, args, keywords))


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


def _items_as_list(e: Emitter, where: SourceRange, value: Value, size: int | None) -> Value | None:
    """The items of a text, a tensor, a set or an object in a list; None for what has none."""
    match value.static_type:
        case StringType() if size is not None:
            return call_operator(e, where, "aten::list", [value])
        case TensorType(is_array=False) if size is not None:
            return call_operator(e, where, "aten::unbind", [value])
        case SetType():
            return sets.items_of(e, where, value)
    return iterated(e, where, value)


def module_items(e: Emitter, where: SourceRange, value: Value) -> list[Sugared] | None:
    """The modules in a container of modules, each read as an attribute; None for what is no such container."""
    if not isinstance(value.static_type, NamedType) or not isinstance(e.scope.resolver, ObjectResolver):
        return None
    items = e.scope.resolver.object_items(value, where)
    if items is None:
        return None
    return [
        SimpleValue(e.constant(None) if type_ == NONE else read_attribute(e, value, name, type_))
        for name, type_ in items
    ]


def read_attribute(e: Emitter, value: Value, name: str, type_: Type) -> Value:
    """A read of an attribute, which has its name."""
    return name_after_attribute(e.emit("prim::GetAttr", (value,), type_, name=name), name)


def tuple_item(e: Emitter, value: Value, index: int) -> Value:
    """One item of a tuple; no node if the tuple was just made."""
    assert isinstance(value.static_type, TupleType)
    if value.defining_node is not None and value.defining_node.op == "prim::TupleConstruct":
        return value.defining_node.operand(index)
    return e.emit("prim::TupleIndex", (value, e.constant(index)), value.static_type.elements[index])
