"""Objects of programs as freezing sees them: modules, instances of users' classes, and what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flambeau.analysis.points_to import memory_key
from flambeau.ir import constants
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Value
from flambeau.program import instances
from flambeau.program.classes import ClassDefinition
from flambeau.program.object import ScriptObject


def is_object(value: Any) -> bool:
    """Whether a value is a module of a program, or an instance of one of its classes."""
    return instances.definition_of(value) is not None


def definition_of(instance: Any) -> ClassDefinition:
    """The class of an object."""
    definition = instances.definition_of(instance)
    assert definition is not None, f"{instance!r} is no object of a program"
    return definition


def has(instance: Any, name: str) -> bool:
    """Whether an object has an attribute that something was assigned to."""
    return instance.has(name) if isinstance(instance, ScriptObject) else hasattr(instance, name)


def get(instance: Any, name: str) -> Any:
    """What an attribute of an object holds."""
    return instances.reader(name)(instance)


def constant_object(value: Value) -> Any:
    """The object that a value of a graph is known to be, or None."""
    if value.defining_node is None or value.defining_node.op != CONSTANT:
        return None
    constant = value.defining_node.attributes.get("value")
    return constant if is_object(constant) else None


def nested(value: Any) -> Iterator[Any]:
    """A value and everything in it, objects not looked into."""
    yield value
    if isinstance(value, dict):
        for item in (*value, *value.values()):
            yield from nested(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from nested(item)


def memory_of(value: Any) -> set[int]:
    """The memory that a value is, or that is in it."""
    return {memory_key(i) for i in nested(value) if constants.is_mutable(i)}


def children(owner: Any) -> list[tuple[str, Any]]:
    """The objects in an object's attributes, with the names of those attributes."""
    return [
        (attribute.name, item)
        for attribute in definition_of(owner).attributes
        if has(owner, attribute.name)
        for item in nested(get(owner, attribute.name))
        if is_object(item)
    ]


def objects_below(roots: Iterable[Any]) -> list[Any]:
    """The objects that can be reached from these, themselves included, each once."""
    objects: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        item = waiting.pop()
        if id(item) not in objects:
            objects[id(item)] = item
            waiting += [child for _, child in children(item)]
    return list(objects.values())
