"""Whether a value has a type, decided from the value.

An empty list or dict has every element type: Python's own containers do not say what they are meant to hold.

>>> from flambeau.schema.types import FLOAT, INT, ListType, OptionalType
>>> conforms([1, 2], ListType(INT)), conforms([1], ListType(FLOAT)), conforms(None, OptionalType(INT))
(True, False, True)
"""

from __future__ import annotations

import enum
from typing import Any

from flambeau.interpreter.awaiting import Await
from flambeau.interpreter.future import Future
from flambeau.program.instances import definition_of, subclass_of
from flambeau.schema.device import Device
from flambeau.schema.set_type import SetType
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    AnyClassType,
    AnyDictType,
    AnyEnumType,
    AnyListType,
    AnyTupleType,
    AnyType,
    AwaitType,
    BoolType,
    ClassType,
    ComplexType,
    DeviceType,
    DictType,
    EnumType,
    FloatType,
    FunctionType,
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
    match type_:
        case TensorType():
            return isinstance(value, Tensor) and _is_refined(value, type_)
        case OptionalType(element):
            return value is None or conforms(value, element)
        case UnionType(members):
            return any(conforms(value, m) for m in members)
        case ListType(element):
            return isinstance(value, list) and all(conforms(item, element) for item in value)
        case SetType(element):
            return isinstance(value, set) and all(conforms(item, element) for item in value)
        case TupleType(elements):
            return (
                isinstance(value, tuple)
                and len(value) == len(elements)
                and all(map(conforms, value, elements))
                and (not type_.fields or getattr(value, "_fields", type_.fields) == type_.fields)
            )
        case DictType(key, item):
            return isinstance(value, dict) and all(conforms(k, key) and conforms(v, item) for k, v in value.items())
        case EnumType():
            return isinstance(value, enum.Enum) and (type_.python is None or isinstance(value, type_.python))
        case ClassType() | InterfaceType():
            definition = definition_of(value)
            if definition is None and getattr(type_.definition, "is_open", False):
                definition = subclass_of(type_.definition, value)
            return definition is not None and is_subtype(definition.type, type_)
        case AnyClassType():
            return definition_of(value) is not None
        case AnyType() | FunctionType():
            return True
    return True


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


def kind_of(value: Any) -> str:
    """A value's type for messages: `int`, `Tensor`, `List[int]`."""
    definition = definition_of(value)
    if definition is not None:
        return definition.name
    if isinstance(value, list):
        return f"List[{kind_of(value[0])}]" if value else "List"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(kind_of, value))}]"
    if isinstance(value, dict):
        return f"Dict[{', '.join(map(kind_of, next(iter(value.items()))))}]" if value else "Dict"
    return "None" if value is None else type(value).__name__
