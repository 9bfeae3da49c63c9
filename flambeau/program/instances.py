"""What programs work on as objects: instances of the user's own classes, and `ScriptObject`s where there is no class.

A scripted Python class has its own instances in programs. What a program does to one is done to the object that Python
holds, and the object that comes back is the one that went in. Modules and classes read from text have `ScriptObject`s.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from flambeau.program.classes import ClassDefinition
from flambeau.program.object import UNSET, ScriptObject
from flambeau.schema.types import (
    BoolType,
    ClassType,
    ComplexType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    OptionalType,
    StringType,
    TupleType,
)
from flambeau.util.inversions import CLASS_COMPILER
from flambeau.util.kept_on import KeptOn

_definitions: KeptOn[type, ClassDefinition] = KeptOn()
_tensor_holders: KeptOn[ClassDefinition, tuple[int, bool]] = KeptOn()
"""Of a class how many attributes it had, and whether tensors may be in these."""
_WITHOUT_TENSORS = (
    IntType, FloatType, BoolType, ComplexType, StringType, NoneType, OptionalType, ListType, DictType, TupleType,
)  # fmt: skip


def register(definition: ClassDefinition) -> None:
    """Let instances of the definition's Python class be objects of programs."""
    _definitions[definition.python] = definition


def forget(definition: ClassDefinition | None = None) -> None:
    """Forget one class, or all."""
    if definition is None:
        _definitions.clear()
    else:
        _definitions.pop(definition.python)


def definition_of(value: Any) -> ClassDefinition | None:
    """The class of an object of programs; None for values that are none."""
    if isinstance(value, ScriptObject):
        definition: ClassDefinition = value.type.definition
        return definition
    return _definitions.get(type(value))


def attribute_values(value: Any, definition: ClassDefinition) -> list[Any]:
    """The values of an object's attributes, in the order of its class; `UNSET` for those without one."""
    if isinstance(value, ScriptObject):
        return value.values
    return [getattr(value, attribute.name, UNSET) for attribute in definition.attributes]


def may_hold_tensors(definition: ClassDefinition) -> bool:
    """Whether there may be tensors in objects of a class, at any depth."""
    known = _tensor_holders.get(definition)
    if known is None or known[0] != len(definition.attributes):
        known = _tensor_holders[definition] = len(definition.attributes), _reaches_tensors(definition)
    return known[1]


def _reaches_tensors(definition: ClassDefinition) -> bool:
    seen: set[ClassDefinition] = set()
    waiting = [definition]
    while waiting:
        class_ = waiting.pop()
        if class_ in seen:
            continue
        seen.add(class_)
        if class_.is_open:
            return True
        for part in (p for a in class_.attributes for p in a.type.walk()):
            if isinstance(part, ClassType) and part.definition is not None and part.definition.has_instances:
                waiting.append(part.definition)
            elif not isinstance(part, _WITHOUT_TENSORS):
                return True
    return False


def definition_or_compiled(value: Any) -> ClassDefinition | None:
    """The class of an object, defined now if no program has met it; None for what is no object of programs."""
    definition = definition_of(value)
    if definition is None and CLASS_COMPILER.is_provided:
        definition = CLASS_COMPILER.implementation(type(value))
    return definition


def subclass_of(base: ClassDefinition, value: Any) -> ClassDefinition | None:
    """The class of an instance of a subclass of `base`, which no program may have met; None for other values."""
    return definition_or_compiled(value) if isinstance(value, base.python) else None


def create(definition: ClassDefinition) -> Any:
    """A new object with nothing assigned."""
    if definition.has_instances:
        return object.__new__(definition.python)
    return ScriptObject(definition.type)


def unset(name: str, type_name: str) -> RuntimeError:
    """The failure to read an attribute that nothing was assigned to."""
    return RuntimeError(f"attribute '{name}' of {type_name} was used before it was assigned")


def reader(name: str) -> Callable[[Any], Any]:
    """What reads an attribute of objects. Raises RuntimeError where nothing was assigned."""
    get = attrgetter(name)

    def read(value: Any) -> Any:
        if isinstance(value, ScriptObject):
            slot = value.type.definition.slot(name)
            stored = value.values[slot]
            if stored is UNSET:
                raise unset(name, value.type.name)
            return stored
        try:
            return get(value)
        except AttributeError:
            raise unset(name, type(value).__qualname__) from None

    return read


def writer(name: str) -> Callable[[Any, Any], None]:
    """What gives an attribute of objects a value."""

    def write(value: Any, new: Any) -> None:
        if isinstance(value, ScriptObject):
            value.set(name, new)
        else:
            object.__setattr__(value, name, new)

    return write
