"""What holds of a value that may be one of two: types as facts that are joined where ways meet.

A type says what is known of a value; `NEVER` stands where no value has come by yet, and joins to whatever does. Only
tensors say more than their declaration, at any depth: `Float(*, 3)[]` is a list whose tensors all are of this type.

>>> from flambeau.schema import dtype
>>> from flambeau.schema.types import TensorType, ListType
>>> a = TensorType(dtype=dtype.float32, sizes=(1, None))
>>> b = TensorType(dtype=dtype.float32, sizes=(2, None))
>>> print(join(a, b), join(NEVER, a), join(ListType(a), ListType(NEVER)))
Float(*, *) Float(1, *) Float(1, *)[]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    NONE,
    TENSOR,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    VarType,
    without_refinement,
)

NEVER: Final = TensorType(undefined=True)
"""The type of a tensor that no program has made so far; recognised by identity."""


def holds_tensors(type_: Type) -> bool:
    """Whether a value of this type is a tensor, or has tensors in it that its type speaks of."""
    if isinstance(type_, TensorType):
        return True
    return isinstance(type_, OptionalType | ListType | TupleType) and any(map(holds_tensors, type_.contained))


def tensors_in(type_: Type) -> Iterator[TensorType]:
    """The types of tensors in a type, but those of which there are none so far."""
    if type_.__class__ is TensorType:
        return iter(() if type_ is NEVER else (type_,))
    return (t for t in type_.walk() if isinstance(t, TensorType) and t is not NEVER)


def fit(declared: Type, actual: Type) -> Type:
    """What `actual` says, in the form of `declared`; what does not fit says nothing."""
    match declared:
        case TensorType():
            return actual if isinstance(actual, TensorType) else TENSOR
        case OptionalType(element):
            if actual == NONE:
                return declared.with_contained((never(element),))
            inner = actual.element if isinstance(actual, OptionalType) else actual
            return declared.with_contained((fit(element, inner),))
        case ListType(element):
            if isinstance(actual, ListType):
                return declared.with_contained((fit(element, actual.element),))
        case TupleType(elements):
            if isinstance(actual, TupleType) and len(actual.elements) == len(elements):
                return declared.with_contained(tuple(map(fit, elements, actual.elements)))
    return declared


def join(a: Type, b: Type) -> Type:
    """What holds of both, which are of one form."""
    if a is b or b is NEVER:
        return a
    if a is NEVER:
        return b
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return a.merge(b)
    if type(a) is type(b) and isinstance(a, OptionalType | ListType | TupleType):
        return a.with_contained(tuple(map(join, a.contained, b.contained)))
    return a


def never(type_: Type) -> Type:
    """The type with `NEVER` for each tensor."""
    if isinstance(type_, TensorType):
        return NEVER
    if isinstance(type_, OptionalType | ListType | TupleType):
        return type_.with_contained(tuple(map(never, type_.contained)))
    return type_


def settled(type_: Type) -> Type:
    """The type with `Tensor` where `NEVER` is left: nothing is said of what nobody makes."""
    if type_ is NEVER:
        return TENSOR
    if isinstance(type_, OptionalType | ListType | TupleType):
        return type_.with_contained(tuple(map(settled, type_.contained)))
    return type_


def without(type_: Type, *fields: str) -> Type:
    """The type with nothing said of some fields of its tensors."""
    if isinstance(type_, TensorType):
        return type_ if type_ is NEVER else type_.refine(**dict.fromkeys(fields))
    if isinstance(type_, OptionalType | ListType | TupleType):
        return type_.with_contained(tuple(without(t, *fields) for t in type_.contained))
    return type_


def bind(formal: Type, actual: Type, bound: dict[str, Type]) -> None:
    """Join to each variable in a schema's type what stands in its place in an operand's."""
    match formal:
        case VarType(name):
            known = bound.get(name)
            bound[name] = actual if known is None else join(known, fit(known, actual))
        case OptionalType(element):
            bind(element, actual.element if isinstance(actual, OptionalType) else actual, bound)
        case ListType() | DictType() | SetType() | TupleType():
            if type(actual) is type(formal) and len(actual.contained) == len(formal.contained):
                for inner, actual_inner in zip(formal.contained, actual.contained, strict=True):
                    bind(inner, actual_inner, bound)


def open_lists(type_: Type) -> Type:
    """The type with nothing said of what is in lists: others may put anything there."""
    if isinstance(type_, ListType):
        return without_refinement(type_)
    if isinstance(type_, OptionalType | TupleType):
        return type_.with_contained(tuple(map(open_lists, type_.contained)))
    return type_
