"""When a value of one type may stand where another is expected, and what type holds two values.

>>> from flambeau.schema.types import INT, NONE, STRING, ListType, OptionalType
>>> is_subtype(INT, OptionalType(INT)), is_subtype(ListType(INT), ListType(OptionalType(INT)))
(True, False)
>>> str(unify(INT, NONE)), unify(INT, STRING)
('int?', None)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from flambeau.schema.element_type import joined
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    ANY,
    NONE,
    NUMBER,
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
    DictType,
    EnumType,
    FloatType,
    FutureType,
    InterfaceType,
    IntType,
    ListType,
    NamedType,
    NoneType,
    NumberType,
    OptionalType,
    RRefType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    union_order,
    without_refinement,
)


def is_subtype(a: Type, b: Type) -> bool:
    """Whether every value of `a` is a value of `b`. Lists and dicts are invariant (up to tensor refinement)."""
    if a is b or isinstance(b, AnyType):
        return True
    if (isinstance(a, b.__class__) or isinstance(b, a.__class__)) and a == b:  # an int read from an array is an int
        return True
    if isinstance(a, UnionType):
        return all(is_subtype(m, b) for m in a.members)
    if isinstance(a, OptionalType):
        return is_subtype(a.element, b) and is_subtype(NONE, b)
    return _accepts(b, a)


_MEMBERS: Final[Mapping[type[Type], type[Type] | tuple[type[Type], ...]]] = {
    NumberType: (IntType, FloatType, BoolType, ComplexType),
    AnyListType: ListType,
    AnyTupleType: TupleType,
    AnyDictType: DictType,
    AnyEnumType: EnumType,
    AnyClassType: ClassType,
}
"""The classes of types that each type without contents stands for."""


def _accepts(b: Type, a: Type) -> bool:
    """Whether every value of `a`, which is no union, is a value of another type `b`."""
    match b:
        case OptionalType(element):
            return isinstance(a, NoneType) or is_subtype(a, element)
        case UnionType(members):
            return any(is_subtype(a, m) for m in members)
        case TensorType():
            return isinstance(a, TensorType) and _refines(a, b)
        case TupleType():
            return isinstance(a, TupleType) and _is_tuple_subtype(a, b)
        case ListType() | DictType() | SetType() | RRefType():
            return type(a) is type(b) and without_refinement(a) == without_refinement(b)
        case FutureType(inner) | AwaitType(inner):
            return isinstance(a, type(b)) and is_subtype(a.contained[0], inner)
        case ClassType() | InterfaceType():
            return _satisfies(a, b)
    return isinstance(a, _MEMBERS.get(type(b), ()))


def _satisfies(a: Type, b: ClassType | InterfaceType) -> bool:
    """Whether objects of `a` are what a class or an interface asks for."""
    kind = ClassType if isinstance(b, ClassType) else NamedType
    return isinstance(a, kind) and b.definition is not None and b.definition.is_satisfied_by(a)


def _refines(a: TensorType, b: TensorType) -> bool:
    """Whether all that `b` knows, `a` knows too."""

    def known(mine: object, theirs: object) -> bool:
        return theirs is None or mine == theirs

    def dims(mine: tuple[int | None, ...] | None, theirs: tuple[int | None, ...] | None) -> bool:
        return theirs is None or (mine is not None and len(mine) == len(theirs) and all(map(known, mine, theirs)))

    return (
        known(a.dtype, b.dtype)
        and known(a.device, b.device)
        and known(a.requires_grad, b.requires_grad)
        and dims(a.sizes, b.sizes)
        and dims(a.strides, b.strides)
    )


def _is_tuple_subtype(a: TupleType, b: TupleType) -> bool:
    if len(a.elements) != len(b.elements) or not all(map(is_subtype, a.elements, b.elements)):
        return False
    return b.name is None or (a.name == b.name and a.fields == b.fields)


def unify(a: Type, b: Type, *, default_to_union: bool = False) -> Type | None:
    """The type of a variable that is an `a` on one path and a `b` on another; None when there is none.

    `default_to_union` makes that a Union instead, as for the elements of a list literal.
    """
    if a == b:
        return joined(a, b)
    if is_subtype(a, b):
        return b
    if is_subtype(b, a):
        return a
    structural = _unify_structure(a, b)
    if structural is not None:
        return structural
    plain_a, plain_b = without_refinement(a), without_refinement(b)
    if plain_a == plain_b:
        return plain_a
    return union_of((a, b)) if default_to_union else None


def _unify_structure(a: Type, b: Type) -> Type | None:
    """The type that two tensors, two optionals or two tuples have in common, by their parts; None if they have none."""
    match a, b:
        case TensorType(), TensorType():
            return a.merge(b)
        case (NoneType(), other) | (other, NoneType()):
            return OptionalType.of(other)
        case (OptionalType(), _) | (_, OptionalType()):
            inner = unify(_strip(a), _strip(b))
            return None if inner is None else OptionalType.of(inner)
        case TupleType(left), TupleType(right) if len(left) == len(right):
            elements = [unify(x, y) for x, y in zip(left, right, strict=True)]
            unified = [e for e in elements if e is not None]
            return TupleType(tuple(unified)) if len(unified) == len(elements) else None
    return None


def _strip(t: Type) -> Type:
    return t.element if isinstance(t, OptionalType) else t


def unify_all(types: Sequence[Type], *, default_to_union: bool = False) -> Type | None:
    """`unify` over a sequence; None for an empty one too."""
    if not types:
        return None
    result: Type | None = types[0]
    for t in types[1:]:
        if result is None:
            return None
        result = unify(result, t, default_to_union=default_to_union)
    return result


def union_of(members: Iterable[Type]) -> Type:
    """The union, flattened, without members that another one covers, sorted; the member itself if only one is left."""
    kept: list[Type] = []
    for m in _flattened(members):
        if isinstance(m, AnyType):
            return ANY
        if any(is_subtype(m, k) for k in kept):
            continue
        kept = [k for k in kept if not is_subtype(k, m)] + [m]
    if {type(k) for k in kept} == {IntType, FloatType, ComplexType}:
        return NUMBER
    if len(kept) == 1:
        return kept[0]
    if len(kept) == 2 and NONE in kept:
        return OptionalType(next(k for k in kept if k != NONE))
    return UnionType(tuple(sorted(kept, key=union_order)))


def _flattened(members: Iterable[Type]) -> Iterator[Type]:
    """The members, with the contents of unions and optionals in place of these."""
    for member in members:
        for m in member.members if isinstance(member, UnionType) else (member,):
            yield from (m.element, NONE) if isinstance(m, OptionalType) else (m,)


def common(type_: Type, other: Type) -> Type | None:
    """The members of a union or optional that are of another type too; None where none is.

    >>> from flambeau.schema.types import FLOAT, INT, STRING
    >>> str(common(UnionType((FLOAT, INT, STRING)), UnionType((INT, STRING))))
    'Union(int, str)'
    """
    left = [m for m in _members(type_) if is_subtype(m, other)]
    return union_of(left) if left else None


def _members(type_: Type) -> tuple[Type, ...]:
    if isinstance(type_, OptionalType):
        return type_.element, NONE
    return type_.members if isinstance(type_, UnionType) else (type_,)


def subtract(type_: Type, removed: Type) -> Type | None:
    """What is left of a union or optional when `removed` is ruled out; None when nothing is."""
    left = [m for m in _members(type_) if not is_subtype(m, removed)]
    return union_of(left) if left else None
