"""What is inside scripted classes, modules and interfaces: attributes, methods, constants, signatures.

`ClassType` and `InterfaceType` of the schema floor point here and know nothing more; two classes of one
name are two definitions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, Protocol

from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import ClassType, InterfaceType, NamedType, OptionalType, Type, UnionType
from flambeau.util.cached import cached_property
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a class."""

    name: str
    type: Type
    is_parameter: bool = False
    """A tensor that training changes."""
    is_buffer: bool = False
    """A tensor that is state but no parameter."""


NOT_OPEN = (
    "class '{own}' was compiled when it had no subclasses, for its own objects alone: define '{other}' before the "
    "first program that uses '{own}' is compiled, or declare an interface"
)

Property = tuple[Function, Function | None]
"""Getter, and setter if there is one."""


class ClassSource(Protocol):
    """Where a class has its methods from: each is compiled when it is first asked for."""

    def method(self, name: str) -> Function | None:
        """A method, which takes the instance; None if the class has none of that name."""

    def property(self, name: str) -> Property | None:
        """The methods of a property; None if the class has none of that name."""

    def signature(self, name: str) -> FunctionSchema | None:
        """What a method takes and returns, without compiling it where its declaration tells."""

    def forget(self, functions: Set[int]) -> None:
        """Compile what is kept of these functions, by identity, anew."""


class ClassDefinition:
    """A scripted class, or a module if `is_module`.

    >>> from flambeau.schema.types import INT
    >>> counter = ClassDefinition("__torch__.Counter")
    >>> counter.add_attribute("n", INT)
    0
    >>> counter.slot("n"), str(counter.type)
    (0, '__torch__.Counter')
    """

    def __init__(self, name: str, *, is_module: bool = False, python: Any = None, doc: str = "") -> None:
        self.name = name
        """Qualified."""
        self.is_module = is_module
        self.python = python
        """The Python class it was made from, where there is one."""
        self.doc = doc
        self.attributes: list[Attribute] = []
        """In the order of their slots."""
        self.slots: dict[str, int] = {}
        """Slot of each attribute."""
        self.methods: dict[str, Function] = {}
        self.static_methods: dict[str, Function] = {}
        self.properties: dict[str, Property] = {}
        """Getter and setter, if any, by name."""
        self.constants: dict[str, Any] = {}
        """Values that programs see as constants."""
        self.why_no_subclass: Callable[[ClassDefinition], str | None] | None = None
        """What keeps objects of a subclass from standing for objects of this one; None where none ever does."""
        self.settled: set[str] = set()
        """Names that programs looked up in this class alone, although objects of subclasses may be there."""
        self._subclasses: set[Any] = set()
        self.empty: dict[str, SourceRange] = {}
        """Attributes that begin as lists or dicts which do not say what they hold, and where."""
        self.is_frozen = False
        """Whether attributes are assigned in `__init__` alone."""
        self.hooks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        """The methods that a call of a module from Python runs before and behind `forward`, by name."""
        self.source: ClassSource | None = None
        """Where methods come from that nothing has asked for yet."""

    @cached_property
    def type(self) -> ClassType:
        """The type of its instances."""
        return ClassType(self.name, self)

    @property
    def has_instances(self) -> bool:
        """Whether its objects are instances of the Python class; else they are `ScriptObject`s."""
        return self.python is not None and not self.is_module

    @property
    def is_open(self) -> bool:
        """Whether objects of subclasses may stand for objects of this class: which method runs, the object says."""
        return self.why_no_subclass is not None

    def is_satisfied_by(self, type_: ClassType) -> bool:
        """Whether objects of another class may be used as objects of this one."""
        other = type_.definition
        if other is self or other in self._subclasses:
            return True
        if self.why_no_subclass is None or not self._is_base_of(other):
            return False
        pair = (self, other)
        if pair in _assumed.pairs:
            return True
        _assumed.pairs = (*_assumed.pairs, pair)
        try:
            is_subclass = self.why_no_subclass(other) is None
        finally:
            _assumed.pairs = _assumed.pairs[:-1]
        if is_subclass and not _assumed.pairs:  # nothing was taken for granted
            self._subclasses.add(other)
        return is_subclass

    def no_subclass_because(self, other: Any) -> str:
        """What keeps objects of a subclass from being used as objects of this class; nothing for other classes."""
        if not self._is_base_of(other) or other is self:
            return ""
        if self.why_no_subclass is None:
            return NOT_OPEN.format(own=self.python.__name__, other=other.python.__name__)
        return self.why_no_subclass(other) or ""

    def _is_base_of(self, other: Any) -> bool:
        return isinstance(other, ClassDefinition) and other.has_instances and issubclass(other.python, self.python)

    def add_attribute(self, name: str, type_: Type, *, is_parameter: bool = False, is_buffer: bool = False) -> int:
        """A new last slot. Raises RuntimeError if the name is taken."""
        return self.add(Attribute(name, type_, is_parameter, is_buffer))

    def add(self, attribute: Attribute) -> int:
        """An attribute, which other classes may have too, in a new last slot. Raises RuntimeError if the name is taken.

        >>> from flambeau.schema.types import INT
        >>> counter = ClassDefinition("__torch__.Counter")
        >>> counter.add(Attribute("n", INT))
        0
        """
        name = attribute.name
        if name in self.slots or name in self.constants:
            raise RuntimeError(f"attempting to add attribute '{name}' to {self.name} but it is there already")
        slot = self.slots[name] = len(self.attributes)
        self.attributes.append(attribute)
        return slot

    def add_attributes(self, attributes: Iterable[tuple[str, Type, bool, bool]]) -> None:
        """New last slots, of each the name, the type, and whether it is a parameter or a buffer. Raises RuntimeError if
        a name is taken.

        >>> from flambeau.schema.types import INT
        >>> counter = ClassDefinition("__torch__.Counter")
        >>> counter.add_attributes([("n", INT, False, False), ("most", INT, False, False)])
        >>> counter.slots
        {'n': 0, 'most': 1}
        """
        slots, own = self.slots, self.attributes
        for attribute in attributes:
            name = attribute[0]
            if name in slots or name in self.constants:
                raise RuntimeError(f"attempting to add attribute '{name}' to {self.name} but it is there already")
            slots[name] = len(own)
            own.append(Attribute(*attribute))

    def slot(self, name: str) -> int:
        """Where an attribute is. Raises AttributeError naming the class and what it has."""
        slot = self.slots.get(name)
        if slot is None:
            raise AttributeError(
                f"{self.name} object has no attribute or method '{name}'; "
                f"it has {', '.join(self.slots) or 'no attributes'}"
            )
        return slot

    def attribute(self, name: str) -> Attribute | None:
        """An attribute, or None."""
        slot = self.slots.get(name)
        return None if slot is None else self.attributes[slot]

    def add_constant(self, name: str, value: Any) -> None:
        """A value that methods see as a constant. Raises RuntimeError if the name is taken by another value."""
        if name in self.slots or (name in self.constants and self.constants[name] is not value):
            raise RuntimeError(f"attempting to add constant '{name}' to {self.name} but that name is taken")
        self.constants[name] = value

    def add_method(self, name: str, function: Function) -> Function:
        """A method; its first parameter is the instance. Raises RuntimeError if the name is taken."""
        if name in self.methods:
            raise RuntimeError(f"method '{self.name}.{name}' already defined")
        self.methods[name] = function
        return function

    def find_method(self, name: str) -> Function | None:
        """A method, compiled now if it was not yet; None if there is none. Raises CompileError."""
        method = self.methods.get(name)
        return self.source.method(name) if method is None and self.source is not None else method

    def find_property(self, name: str) -> Property | None:
        """A property, compiled now if it was not yet; None if there is none. Raises CompileError."""
        accessors = self.properties.get(name)
        return self.source.property(name) if accessors is None and self.source is not None else accessors

    def signature(self, name: str) -> FunctionSchema | None:
        """What a method takes and returns; None if there is none. Raises CompileError."""
        method = self.methods.get(name)
        if method is not None:
            return method.schema
        return None if self.source is None else self.source.signature(name)

    def method(self, name: str) -> Function:
        """A method. Raises AttributeError naming the class."""
        method = self.find_method(name) or self.static_methods.get(name)
        if method is None:
            raise AttributeError(f"{self.name} object has no attribute or method '{name}'")
        return method

    def forget(self, functions: Set[int]) -> None:
        """Compile methods anew that are among these functions, by identity."""
        for methods in (self.methods, self.static_methods):
            for name in [n for n, f in methods.items() if id(f) in functions]:
                del methods[name]
        for name in [n for n, p in self.properties.items() if any(id(f) in functions for f in p)]:
            del self.properties[name]
        self._subclasses.clear()
        if self.source is not None:
            self.source.forget(functions)

    def __repr__(self) -> str:
        return f"<{'module' if self.is_module else 'class'} {self.name}>"


class InterfaceDefinition:
    """A set of method signatures that classes may have; a module interface admits only modules."""

    def __init__(
        self,
        name: str,
        methods: Mapping[str, FunctionSchema] | None = None,
        *,
        is_module: bool = False,
        python: Any = None,
    ) -> None:
        self.name = name
        self.methods: dict[str, FunctionSchema] = dict(methods or {})
        """Signatures by name, the instance included as first parameter."""
        self.is_module = is_module
        self.python = python

    @cached_property
    def type(self) -> InterfaceType:
        """The type of values known by this interface."""
        return InterfaceType(self.name, self)

    def is_satisfied_by(self, type_: NamedType) -> bool:
        """Whether values of a class or of another interface may be used as this interface."""
        return self.why_not(type_) is None

    def why_not(self, type_: NamedType) -> str | None:
        """What keeps values of `type_` from being used as this interface; None if nothing does."""
        definition = type_.definition
        if definition is self:
            return None
        theirs = getattr(definition, "is_module", False)
        if self.is_module and not theirs:
            return (
                f"Class '{type_.name}' is not a module: only ScriptModule class can be subtype of module interface "
                f"'{self.name}'"
            )
        pair = (self, definition)
        if pair in _assumed.pairs:
            return None
        _assumed.pairs = (*_assumed.pairs, pair)
        try:
            return self._why_not(type_)
        finally:
            _assumed.pairs = _assumed.pairs[:-1]

    def _why_not(self, type_: NamedType) -> str | None:
        for name, wanted in self.methods.items():
            schema = _signature(type_.definition, name)
            if schema is None:
                return f"Class '{type_.name}' does not have method '{name}' but '{self.name}' does."
            reason = _incompatible(schema, wanted)
            if reason is not None:
                return f"Method '{name}' of '{type_.name}' is not compatible with interface {self.name}: {reason}"
        return None

    def __repr__(self) -> str:
        return f"<interface {self.name}>"


def why_no_interface(type_: Type, wanted: Type) -> str:
    """Behind a message that a value has the wrong type: what keeps it from being used as an interface, else nothing."""
    if isinstance(wanted, OptionalType | UnionType):
        return "".join(why_no_interface(type_, member) for member in wanted.contained)
    if isinstance(wanted, ClassType) and isinstance(type_, ClassType) and wanted.definition is not None:
        reason = wanted.definition.no_subclass_because(type_.definition)
        return f"\n{reason}" if reason else ""
    if not (isinstance(wanted, InterfaceType) and isinstance(type_, NamedType) and wanted.definition is not None):
        return ""
    reason = wanted.definition.why_not(type_)
    return f"\n{reason}" if reason else ""


class _Assumed(threading.local):
    """Pairs that are being compared: a method may return its own class as the interface, or where its base does."""

    pairs: tuple[tuple[InterfaceDefinition | ClassDefinition, Any], ...] = ()


_assumed = _Assumed()


def is_module_type(type_: Type) -> bool:
    """Whether values of a type are modules.

    >>> from flambeau.schema.types import INT
    >>> is_module_type(INT)
    False
    """
    return isinstance(type_, NamedType) and bool(getattr(type_.definition, "is_module", False))


def _signature(definition: Any, name: str) -> FunctionSchema | None:
    if isinstance(definition, ClassDefinition):
        return definition.signature(name)
    return definition.methods.get(name) if isinstance(definition, InterfaceDefinition) else None


def _incompatible(schema: FunctionSchema, wanted: FunctionSchema) -> str | None:
    """Why `found` cannot stand for `wanted`: parameters may be wider, results narrower, more ones need defaults."""
    mine, theirs = schema.arguments[1:], wanted.arguments[1:]
    if len(mine) < len(theirs) or any(not a.has_default for a in mine[len(theirs) :]):
        return f"it takes {len(mine)} arguments but the interface declares {len(theirs)}"
    for a, b in zip(mine, theirs, strict=False):
        if a.name != b.name:
            return f"argument '{a.name}' is called '{b.name}' in the interface"
        if not is_subtype(b.type, a.type):
            return f"argument '{a.name}' has type {a.type.annotation}, which does not accept {b.type.annotation}"
    if len(schema.returns) != len(wanted.returns):
        return f"it returns {len(schema.returns)} values but the interface declares {len(wanted.returns)}"
    for a, b in zip(schema.returns, wanted.returns, strict=True):
        if not is_subtype(a.type, b.type):
            return f"it returns {a.type.annotation}, which is no {b.type.annotation}"
    return None
