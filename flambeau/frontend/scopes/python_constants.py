"""Python values that a program can hold as constants, and their types."""

from __future__ import annotations

import enum
from typing import Any

from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STRING,
    EnumType,
    ListType,
    OptionalType,
    TupleType,
    Type,
)
from flambeau.util.names import qualified_name

BAD_ENUM_VALUE = (
    "Cannot create Enum with value type '{kind}', only int, float and string are supported: those of enum {name} must "
    "all be int, all float or all str"
)
NO_MEMBERS = "No enum values defined for: {name}. A program's enum has at least one member"
MIXED_ENUM = (
    "Could not unify type list: the values of enum {name} are {kinds}; they must all be int, all float or all str"
)
_SIMPLE: tuple[tuple[type, Type], ...] = (
    (bool, BOOL), (int, INT), (float, FLOAT), (complex, COMPLEX), (str, STRING), (Device, DEVICE), (DType, INT),
)  # fmt: skip


def constant_type(value: Any) -> Type:
    """The type of a Python value as a constant. Raises TypeError for what is none, such as a list.

    >>> str(constant_type((1, "a", None)))
    '(int, str, NoneType)'
    """
    if value is None:
        return NONE
    if isinstance(value, enum.Enum) and not _is_own(value):
        return enum_type(type(value))
    for python, type_ in _SIMPLE:
        if isinstance(value, python):
            return type_
    if type(value) is tuple:
        return TupleType(tuple(map(constant_type, value)))
    raise TypeError(f"a value of type {type(value).__name__} cannot be a constant")


def is_constant(value: Any) -> bool:
    """Whether programs can have a Python value as a constant.

    >>> is_constant(3), is_constant([3]), is_constant(1 << 70)
    (True, False, False)
    """
    try:
        constant_type(value)
        constant_value(value)
    except (TypeError, OverflowError):
        return False
    return True


def constant_value(value: Any) -> Any:
    """The value as constants hold it: dtypes are their numbers. An int beyond 64 bits raises OverflowError."""
    if isinstance(value, DType):
        return value.code
    if type(value) is tuple:
        return tuple(map(constant_value, value))
    if isinstance(value, enum.Enum):
        return int(value) if isinstance(value, int) and _is_own(value) else value
    if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(out_of_range(value))
    return value


def out_of_range(value: int) -> str:
    """What to say of an int beyond 64 bits: of one that would fit without a sign, the int of the same bits too."""
    text = "Integral constant out of range (must fit in a signed 64 bit integer)"
    same = f". The int with the same 64 bits is {value - (1 << 64)}: sums, products, &, |, ^ and << give the same bits"
    return text + same if 1 << 63 <= value < 1 << 64 else text


def _is_own(value: enum.Enum) -> bool:
    """Whether an enum member is a layout or the like, which programs know as an int."""
    return isinstance(value, int) and type(value).__module__.partition(".")[0] == "flambeau"


def enum_type(cls: type[enum.Enum]) -> EnumType:
    """The type of an enum class. Raises TypeError if its values are not all ints, all floats or all texts."""
    members = tuple((m.name, m.value) for m in cls)
    for python, type_ in ((bool, None), (int, INT), (float, FLOAT), (str, STRING)):
        if members and all(isinstance(v, python) for _, v in members) and type_ is not None:
            return EnumType(qualified_name(cls), type_, members, cls)
    if not members:
        raise TypeError(NO_MEMBERS.format(name=cls.__name__))
    kinds = dict.fromkeys(type(v) for _, v in members)
    if len(kinds) == 1:
        raise TypeError(BAD_ENUM_VALUE.format(kind=next(iter(kinds)).__name__, name=cls.__name__))
    raise TypeError(MIXED_ENUM.format(name=cls.__name__, kinds=", ".join(k.__name__ for k in kinds)))


def default_type(value: Any, formal: Type) -> Type:
    """The type of a default of a schema: its own where a program could write it, the argument's for lists."""
    if isinstance(value, list):
        return formal.element if isinstance(formal, OptionalType) else formal
    if formal in (ANY, NUMBER) or isinstance(formal, OptionalType):
        return constant_type(value)
    return formal if not isinstance(formal, ListType) else constant_type(value)
