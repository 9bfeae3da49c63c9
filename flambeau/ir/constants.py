"""Constant values of graphs: which Python object stands for which, what type it has, when two are the same.

A `prim::Constant` keeps its value under the attribute `value`: an int, float, bool, complex, str, `Device`, a list,
dict or tuple of such, a member of an enum, a tensor, or an object. None has no attribute at all; a function has its
`name`. Tensors are opaque here: anything with a `DType` as `dtype` and a `shape` is one. Text that was parsed has
stand-ins for what text cannot carry.

>>> same_constant(0.0, -0.0), same_constant(1, True), same_constant(float("nan"), float("nan"))
(False, False, True)
>>> str(type_of([1, None]))
'int?[]'
"""

from __future__ import annotations

import enum
import math
from typing import Any

from flambeau.ir.graph import Graph, Value
from flambeau.ir.literals import EnumMember, TensorLiteral, is_tensor
from flambeau.schema.device import Device
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.subtype import unify_all
from flambeau.schema.types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    STRING,
    TENSOR,
    ClassType,
    DictType,
    EnumType,
    FunctionType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.names import qualified_name

CONSTANT = "prim::Constant"
_SCALARS: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STRING, Device: DEVICE}


def is_none(value: Value) -> bool:
    """Whether a graph value is the constant None."""
    return value.defining_node is not None and value.defining_node.op == CONSTANT and not value.defining_node.attributes


def is_constant(value: Value) -> bool:
    """Whether a graph value is the result of a `prim::Constant` whose value is known (a function's is not)."""
    node = value.defining_node
    return node is not None and node.op == CONSTANT and value.static_type.__class__ is not FunctionType


def constant_value(value: Value) -> Any:
    """The Python value of a constant; None for None. Raises ValueError if the value is no constant."""
    if value.defining_node is None or value.defining_node.op != CONSTANT:
        raise ValueError(f"%{value.name} is not a constant")
    return value.defining_node.attributes.get("value")


def is_true(value: Value) -> bool:
    """Whether a graph value is the constant True."""
    return is_constant(value) and constant_value(value) is True


def type_of(value: Any) -> Type:
    """The type of a constant. Raises TypeError for an object that graphs have no type for."""
    if value is None:
        return NONE
    if type(value) in _SCALARS:
        return _SCALARS[type(value)]
    if is_tensor(value):
        return _tensor_type(value)
    if isinstance(value, enum.Enum):
        python = type(value)
        members = tuple((m.name, m.value) for m in python)
        return EnumType(qualified_name(python), type_of(value.value), members, python)
    if isinstance(value, tuple):
        return TupleType(tuple(map(type_of, value)), *_named_tuple_parts(value))
    if isinstance(value, list):
        return ListType(_element_type(value))
    if isinstance(value, dict):
        return DictType(_element_type(value), _element_type(value.values()))
    if isinstance(getattr(value, "type_name", None), str):
        return OpaqueType(value.type_name)
    declared = getattr(value, "type", None)
    if isinstance(declared, ClassType):
        return declared
    raise TypeError(f"a graph cannot hold a {type(value).__name__} as a constant")


def _named_tuple_parts(value: tuple[Any, ...]) -> tuple[Any, ...]:
    fields = getattr(value, "_fields", None)
    return () if fields is None else (qualified_name(type(value)), tuple(fields))


def _element_type(values: Any) -> Type:
    types = [t.refine(sizes=None, strides=None) if isinstance(t, TensorType) else t for t in map(type_of, values)]
    if not types:
        return TENSOR
    return unify_all(types, default_to_union=True) or ANY


def _tensor_type(value: Any) -> Type:
    if isinstance(value, TensorLiteral):
        return TensorType(dtype=value.dtype, sizes=value.shape)
    strides = value.stride() if hasattr(value, "stride") else None
    return TensorType(
        dtype=value.dtype,
        sizes=tuple(value.shape),
        strides=None if strides is None else tuple(strides),
        device=getattr(value, "device", None),
        requires_grad=getattr(value, "requires_grad", None),
    )


def same_constant(a: Any, b: Any) -> bool:
    """Whether two constants cannot be told apart by a program; tensors and objects only if they are one object."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return _same_float(a, b)
    if isinstance(a, complex):
        return _same_float(a.real, b.real) and _same_float(a.imag, b.imag)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_constant, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(same_constant, a, b)) and all(map(same_constant, a.values(), b.values()))
    if is_tensor(a):
        return isinstance(a, TensorLiteral) and a.value is not None and a == b
    if isinstance(a, int | str | Device | EnumMember | enum.Enum):
        return bool(a == b)
    return False


def _same_float(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)


def constant_key(value: Any) -> object:
    """A hashable key, equal for constants that `same_constant` calls the same."""
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else value.hex())
    if isinstance(value, complex):
        return ("complex", constant_key(value.real), constant_key(value.imag))
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(constant_key, value))
    if isinstance(value, dict):
        return ("dict", *((constant_key(k), constant_key(v)) for k, v in value.items()))
    if isinstance(value, TensorLiteral) and value.value is not None:
        return ("literal", value)
    if value is None or isinstance(value, int | str | Device | EnumMember | enum.Enum):
        return (type(value).__name__, value)
    return ("object", id(value))


def is_mutable(value: Any) -> bool:
    """Whether a program could change the constant: a list, dict, tensor or object, or a tuple with one inside."""
    if isinstance(value, tuple):
        return any(map(is_mutable, value))
    return not (value is None or isinstance(value, int | float | complex | str | Device | EnumMember | enum.Enum))


def insert_constant(graph: Graph, value: Any, type_: Type | None = None) -> Value:
    """A `prim::Constant` at the insertion point, of the type given or else the value's own. Raises TypeError.

    What may be None but is not has no optional type: text says a value as what it is.

    >>> graph = Graph()
    >>> insert_constant(graph, 3)
    %0 : int
    """
    own = type_of(value) if type_ is None else type_
    if isinstance(own, OptionalType) and value is not None:
        own = own.element
    attributes = {} if value is None else {"value": value}
    return graph.insert(CONSTANT, (), (own,), **attributes).result()
