"""Containers that were just written, and the types that they take on where they are passed.

f([1, 2])        where f takes a List[Optional[int]]:    %x : int?[] = prim::ListConstruct(%one, %two)

A list of ints is no list of optional ints, because what is put into the one could be seen in the other. A literal or
comprehension that nothing else refers to may still become either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flambeau.ir.graph import Node, Value
from flambeau.ir.uses import Use
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import DictType, ListType, OptionalType, TupleType, Type, UnionType


def written_as(value: Value, wanted: Type, uses: int = 0) -> Type | None:
    """The type that a container takes on where `wanted` is expected; None if it is not new, or does not fit.

    `uses` says how many nodes use it beside those that fill it.
    """
    choices = _choices(value) if len(value.uses()) <= uses else ()
    if choices:
        return wanted if all(is_subtype(c.static_type, wanted) or written_as(c, wanted, 1) for c in choices) else None
    for candidate in _candidates(wanted):
        if _parts(value, candidate, uses) is not None:
            return candidate
    return None


def retype(value: Value, wanted: Type) -> None:
    """Give a container, and those in it, the type that `written_as` found."""
    for choice in _choices(value):
        inner = None if is_subtype(choice.static_type, wanted) else written_as(choice, wanted, 1)
        if inner is not None:
            retype(choice, inner)
    for part, type_ in _parts(value, wanted, len(value.uses())) or ():
        inner = None if is_subtype(part.static_type, type_) else written_as(part, type_, 1)
        if inner is not None:
            retype(part, inner)
    value.set_type(wanted)
    for use in _filling(value):
        for output in use.user.results:
            output.set_type(wanted)


def _choices(value: Value) -> tuple[Value, ...]:
    """The values that a conditional expression chooses from."""
    node = value.defining_node
    return () if node is None or node.op != "prim::If" else tuple(b.returns[value.index] for b in node.nested_blocks)


def _candidates(wanted: Type) -> Iterator[Type]:
    match wanted:
        case OptionalType(element):
            yield from _candidates(element)
        case UnionType(members):
            for member in members:
                yield from _candidates(member)
        case ListType() | DictType() | TupleType():
            yield wanted


def _filling(value: Value) -> list[Use[Node]]:
    """The nodes of a comprehension that put items into its result."""
    return [u for u in value.uses() if u.offset == 0 and _stored(u.user)]


def _stored(node: Node) -> tuple[int, ...]:
    """Which operands a node puts into the container that its first one is."""
    return () if node.definition is None else node.definition.schema.stored


def _parts(value: Value, wanted: Type, uses: int) -> list[tuple[Value, Type]] | None:
    """The items with the types that they have to fit; None if the whole cannot become a `wanted`."""
    node, filling = value.defining_node, _filling(value)
    if node is None or len(value.uses()) - len(filling) > uses:
        return None
    items = (*node.operands, *(use.user.operand(i) for use in filling for i in _stored(use.user)))
    parts = _typed_items(value, node.op, items, wanted)
    if parts is None:
        return None
    fits = all(is_subtype(item.static_type, type_) or written_as(item, type_, 1) is not None for item, type_ in parts)
    return parts if fits else None


def _typed_items(value: Value, made_by: str, items: Sequence[Value], wanted: Type) -> list[tuple[Value, Type]] | None:
    """What is in a container beside the types that it has in a `wanted`; None for a container of another kind."""
    match made_by, wanted:
        case "prim::ListConstruct", ListType(element):
            return [(item, element) for item in items]
        case "prim::DictConstruct", DictType(key, element):
            return [(item, key) for item in items[::2]] + [(item, element) for item in items[1::2]]
        case "prim::TupleConstruct", TupleType(elements) if len(elements) == len(items):
            assert isinstance(value.static_type, TupleType)
            return list(zip(items, elements, strict=True)) if value.static_type.name == wanted.name else None
    return None
