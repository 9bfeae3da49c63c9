"""Whether a value has a type, decided from the value.

An empty list or dict has every element type: Python's own containers do not say what they are meant to hold.

>>> from flambeau.schema.types import FLOAT, INT, ListType, OptionalType
>>> conforms([1, 2], ListType(INT)), conforms([1], ListType(FLOAT)), conforms(None, OptionalType(INT))
(True, False, True)
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Final

from flambeau.interpreter.awaiting import Await
from flambeau.interpreter.future import Future
from flambeau.program.instances import definition_of, subclass_of
from flambeau.schema.array_type import ArrayType
from flambeau.schema.device import Device
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.set_type import SetType
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    AnyClassType,
    AnyDictType,
    AnyEnumType,
    AnyListType,
    AnyTupleType,
    AwaitType,
    BoolType,
    ClassType,
    ComplexType,
    DeviceType,
    DictType,
    EnumType,
    FloatType,
    FutureType,
    GeneratorType,
    InterfaceType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
    UnionType,
)
from flambeau.tensor.opaque_objects import OpaqueObject
from flambeau.tensor.random import Generator
from flambeau.tensor.tensor import Tensor

_CLASSES: dict[type[Type], tuple[type, ...]] = {
    IntType: (int,),
    FloatType: (float,),
    BoolType: (bool,),
    ComplexType: (complex,),
    StringType: (str,),
    NoneType: (type(None),),
    NumberType: (int, float, bool, complex),
    DeviceType: (Device,),
    GeneratorType: (Generator,),
    AnyListType: (list,),
    AnyTupleType: (tuple,),
    AnyDictType: (dict,),
    AnyEnumType: (enum.Enum,),
    FutureType: (Future,),
    AwaitType: (Await,),
}


def conforms(value: Any, type_: Type) -> bool:
    """Whether `value` is a value of `type_`. A bool is no int here, and no int is a float."""
    classes = _CLASSES.get(type(type_))
    if classes is not None:
        return type(value) in classes or (isinstance(value, classes) and not isinstance(value, bool | int))
    check = _CHECKS.get(type(type_))
    return check is None or check(value, type_)


def _is_tensor(value: Any, type_: TensorType) -> bool:
    return isinstance(value, Tensor) and _is_refined(value, type_)


def _is_optional(value: Any, type_: OptionalType) -> bool:
    return value is None or conforms(value, type_.element)


def _is_member(value: Any, type_: UnionType) -> bool:
    return any(conforms(value, member) for member in type_.members)


def _is_list(value: Any, type_: ListType) -> bool:
    return isinstance(value, list) and all(conforms(item, type_.element) for item in value)


def _is_set(value: Any, type_: SetType) -> bool:
    return isinstance(value, set) and all(conforms(item, type_.element) for item in value)


def _is_dict(value: Any, type_: DictType) -> bool:
    if not isinstance(value, dict):
        return False
    return all(conforms(key, type_.key) and conforms(item, type_.value) for key, item in value.items())


def _is_tuple(value: Any, type_: TupleType) -> bool:
    if not isinstance(value, tuple) or len(value) != len(type_.elements):
        return False
    is_named_so = not type_.fields or getattr(value, "_fields", type_.fields) == type_.fields
    return is_named_so and all(map(conforms, value, type_.elements))


def _is_enum_member(value: Any, type_: EnumType) -> bool:
    return isinstance(value, enum.Enum) and (type_.python is None or isinstance(value, type_.python))


def _is_object(value: Any, type_: ClassType | InterfaceType) -> bool:
    definition = definition_of(value)
    if definition is None and getattr(type_.definition, "is_open", False):
        definition = subclass_of(type_.definition, value)
    return definition is not None and is_subtype(definition.type, type_)


def _is_opaque(value: Any, type_: OpaqueType) -> bool:
    return isinstance(value, OpaqueObject) and value.type_name == type_.name


def _is_any_object(value: Any, type_: AnyClassType) -> bool:
    return definition_of(value) is not None


def _is_refined(value: Tensor, type_: TensorType) -> bool:
    """Whether a tensor has what its type says of dtype and sizes."""
    if type_.dtype is not None and value.dtype is not type_.dtype:
        return False
    if type_.sizes is None:
        return True
    shape = value.shape
    return len(shape) == len(type_.sizes) and all(
        known is None or known < 0 or known == size for known, size in zip(type_.sizes, shape, strict=True)
    )


_CHECKS: Final[dict[type[Type], Callable[[Any, Any], bool]]] = {
    TensorType: _is_tensor, OptionalType: _is_optional, UnionType: _is_member, ListType: _is_list, SetType: _is_set,
    DictType: _is_dict, TupleType: _is_tuple, EnumType: _is_enum_member, ClassType: _is_object,
    InterfaceType: _is_object, AnyClassType: _is_any_object, ArrayType: _is_tensor,
    OpaqueType: _is_opaque,
}  # fmt: skip
"""What decides for types that have parts or a definition; whatever a value is, it is a value of the others."""


def kind_of(value: Any) -> str:
    """A value's type for messages: `int`, `Tensor`, `List[int]`."""
    definition = definition_of(value)
    if definition is not None:
        return definition.name
    if isinstance(value, OpaqueObject):
        return value.type_name
    if isinstance(value, list):
        return f"List[{kind_of(value[0])}]" if value else "List"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(kind_of, value))}]"
    if isinstance(value, dict):
        return f"Dict[{', '.join(map(kind_of, next(iter(value.items()))))}]" if value else "Dict"
    return "None" if value is None else type(value).__name__
