"""What the operators' own rules say of results, from how operands are represented in native code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.analysis.operator_rules import asked
from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.representation import Representation
from flambeau.ir.graph import Node, Value
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import UNKNOWN, OpDef
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    BoolType,
    ClassType,
    ComplexType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
    VarType,
)

_NUMBERS: tuple[tuple[type, Type], ...] = (
    (forms.Int, IntType()), (forms.Float, FloatType()), (forms.Bool, BoolType()), (forms.Complex, ComplexType())
)  # fmt: skip
_PLAIN: dict[type[Type], Representation] = {
    IntType: forms.Int(), FloatType: forms.Float(), BoolType: forms.Bool(), ComplexType: forms.Complex(),
    StringType: forms.Text(), NoneType: forms.Fixed(None),
}  # fmt: skip
CPU = Device("cpu")


def rule_argument(rep: Representation, literal: Any = UNKNOWN) -> Any:
    """What a rule takes for an operand: a constant, the type of a tensor, number or list, or `UNKNOWN`."""
    match rep:
        case forms.Array():
            return TensorType(dtype=rep.dtype, sizes=(None,) * rep.rank, device=CPU, requires_grad=False)
        case forms.Element():
            return TensorType(dtype=rep.dtype, sizes=(), device=CPU, requires_grad=False)
        case forms.Fixed():
            return rep.value
        case forms.Tupled():
            return [rule_argument(item) for item in rep.items]
        case forms.Int() | forms.Float() | forms.Bool() | forms.Complex():
            if literal is not UNKNOWN:
                return literal
            return next(t for kind, t in _NUMBERS if isinstance(rep, kind))
        case forms.Listed(forms.Int() | forms.Float() | forms.Bool() as item):
            return ListType(rule_argument(item))
        case _:
            return UNKNOWN


def result_types(definition: OpDef, arguments: Sequence[Any], count: int) -> list[tuple[DType, int] | None]:
    """(dtype, rank) of each tensor result; None where the rules cannot tell, as of what an empty list would give."""
    formals = [a.type for a in definition.schema.arguments]
    if any(a is None and isinstance(formal, TensorType) for a, formal in zip(arguments, formals, strict=False)):
        return [None] * count
    known = [_as_rules_take(a, formal) for a, formal in zip(arguments, formals, strict=False)]
    dtypes = asked(definition.dtype, known, count)
    shapes = asked(definition.shape, known, count)
    return [
        (dtype, len(sizes)) if isinstance(dtype, DType) and sizes is not None else None
        for dtype, sizes in zip(dtypes, shapes, strict=True)
    ]


def _as_rules_take(argument: Any, formal: Type) -> Any:
    """What is known of an operand as rules expect it: types of numbers and lists only where any number may be."""
    if isinstance(formal, OptionalType):
        formal = formal.element
    if isinstance(argument, list) and isinstance(formal, ListType):
        return [_as_rules_take(item, formal.element) for item in argument]
    if isinstance(argument, ListType) and isinstance(formal, ListType):
        return UNKNOWN if _as_rules_take(argument.element, formal.element) is UNKNOWN else argument
    is_type = isinstance(argument, IntType | FloatType | BoolType | ComplexType)
    return UNKNOWN if is_type and not isinstance(formal, NumberType | VarType) else argument


def of_type(type_: Type) -> Representation | None:
    """How values of a declared type look; None where the type does not say enough."""
    plain = _PLAIN.get(type(type_))
    if plain is not None:
        return plain
    match type_:
        case TensorType():
            return _of_tensor(type_)
        case ListType():
            item = of_type(type_.element)
            return None if item is None else forms.Listed(item)
        case DictType():
            return _of_dict(type_)
        case OptionalType():
            inner = of_type(type_.element)
            return None if inner is None else forms.Optional(inner)
        case ClassType() if type_.definition is not None and type_.definition.has_instances:
            return forms.Object(type_.definition)
        case TupleType():
            items = [i for i in map(of_type, type_.elements) if i is not None]
            return forms.Tupled(tuple(items)) if len(items) == len(type_.elements) else None
        case _:
            return None


def of_set(type_: SetType) -> forms.Mapped | None:
    """How sets look: dicts without values. Not where they lie in other containers: the order that Python goes over a
    set in has to be known."""
    key = of_type(type_.element)
    return None if key is None or not forms.is_key(key) else forms.Mapped(key, forms.Tupled(()), is_set=True)


def of_parameter(type_: Type) -> Representation | None:
    """How arguments of a declared type look; None where the type does not say enough."""
    return of_set(type_) if isinstance(type_, SetType) else of_type(type_)


def _of_dict(type_: DictType) -> forms.Mapped | None:
    key, value = of_type(type_.key), of_type(type_.value)
    return None if key is None or value is None or not forms.is_key(key) else forms.Mapped(key, value)


def _of_tensor(type_: TensorType) -> forms.Array | None:
    if type_.dtype is None or type_.sizes is None or type_.requires_grad is not False:
        return None
    return forms.Array(type_.dtype, len(type_.sizes))


def may_hold_tensors(type_: Type) -> bool:
    """Whether it is tensors about which the type does not say enough."""
    return isinstance(type_, TensorType) or any(map(may_hold_tensors, type_.contained))


def tensors_of(node: Node) -> list[Value]:
    """The results of a node that are tensors."""
    return [v for v in node.results if isinstance(v.static_type, TensorType)]
