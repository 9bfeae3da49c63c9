"""What expressions of printed code name, looked up while a run is under way: functions, constants, attributes, methods.

What is not there, and what is of another kind than printed code means, gives the run up.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from flambeau.interpreter.conform import conforms
from flambeau.program.function import Function
from flambeau.program.named_tuples import tuple_class
from flambeau.program.object import UNSET, ScriptObject
from flambeau.program.written import GivenUpError
from flambeau.schema.types import EnumType, TupleType
from flambeau.serialize.archive_reader.written_frame import Frame


def global_value(frame: Frame, path: str) -> Any:
    """A function, or a member of an enum, by its qualified name."""
    named = frame.run.named(path)
    if isinstance(named, Function):
        return named
    name, _, member = path.rpartition(".")
    kind = frame.run.named(name)
    if not isinstance(kind, EnumType) or kind.python is None:
        raise GivenUpError(f"{path} is no value")
    return kind.python[member]


def archived_constant(frame: Frame, path: Sequence[str]) -> Any:
    """One of the archive's constants, which code names `CONSTANTS.c0` and so on."""
    constants, digits = frame.run.constants, path[1].removeprefix("c")
    if len(path) != 2 or not digits.isdigit() or int(digits) >= len(constants):
        raise GivenUpError("there is no such constant")
    value = constants[int(digits)]
    frame.run.memory.add(value)
    return value


def attribute_of(frame: Frame, owner: Any, name: str) -> Any:
    """An attribute of an object."""
    if not isinstance(owner, ScriptObject):
        return _part(owner, name)
    definition = owner.type.definition
    slot = definition.slots.get(name)
    if slot is not None:
        value = owner.values[slot]
    elif name in definition.constants and name not in definition.methods:
        value = definition.constants[name]
    else:
        value = UNSET
    if value is UNSET:
        raise GivenUpError(f"there is no attribute {name}")
    if type(value) is not ScriptObject:
        frame.run.memory.add(value)
    return value


def _part(owner: Any, name: str) -> Any:
    """A field of a named tuple; the name or the value of a member of an enum."""
    is_field = isinstance(owner, tuple) and name in getattr(owner, "_fields", ())
    if not is_field and not (isinstance(owner, enum.Enum) and name in ("name", "value")):
        raise GivenUpError(f"something else than an object has an attribute {name}")
    return getattr(owner, name)


def named_tuple(type_: TupleType, items: Sequence[Any]) -> Any:
    """A named tuple of the archive, made of items that are of its types."""
    if len(items) != len(type_.elements) or not all(map(conforms, items, type_.elements)):
        raise GivenUpError(f"a {type_.name} is made of something else")
    return tuple_class(type_)(*items)


def method_of(owner: Any, name: str) -> Function:
    """A method of an object of the archive."""
    method: Function | None = owner.type.definition.methods.get(name) if isinstance(owner, ScriptObject) else None
    if method is None:
        raise GivenUpError(f"it calls {name}, which is no method of an object")
    return method
