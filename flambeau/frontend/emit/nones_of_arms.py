"""A None that one arm alone gives a variable takes its type from the other arm, without emission starting over.

if c: a, b = None, None      →    None of type Tensor? is stored in both, and behind the arms they are Tensor?
else: a, b = x, y

Only where nobody has looked at the variable in between: whatever was emitted is then what the next emission would give.
"""

from __future__ import annotations

from flambeau.frontend.emit.frames import Frame, Variable
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.captured_names import Name
from flambeau.ir.graph import Block, Node, Value
from flambeau.schema.types import OptionalType, TupleType, Type
from flambeau.util.record import replace

_LOAD, _STORE = "prim::Load", "prim::Store"
_NONE, _TUPLE = "prim::Constant", "prim::TupleConstruct"


def type_nones(e: Emitter, name: Name, arms: tuple[Frame[Sugared], Frame[Sugared]], if_: Node) -> None:
    """Give the variable of a name that two arms bind its type, where one stores a None, or a tuple with some, whose
    type is not known yet.
    """
    if not e.type_variables.is_pending or e.scope.frame.find(name) is not None:
        return
    for mine, block, its in zip(arms, if_.nested_blocks, reversed(arms), strict=True):
        variable, other = mine.names.get(name), its.names.get(name)
        if not isinstance(variable, Variable) or not isinstance(other, Variable):
            continue
        open_ = [pair for pair in _parts(variable.type, other.type) if e.type_variables.is_none_for(*pair)]
        store = _untouched_store(e, block, variable.slot) if open_ and not _has_functions(mine) else None
        for none, type_ in open_:
            nones = None if store is None else _made_of(store, none)
            if nones is None:
                return
            e.type_variables.note(none, OptionalType.of(type_))
            for value in nones:
                value.set_type(_replaced(value.static_type, none, OptionalType.of(type_)))
        if store is not None:
            type_ = store.attributes["type"] = store.operand(0).static_type
            mine.names[name] = replace(variable, type=type_, declared=type_)


def _parts(mine: Type, other: Type) -> list[tuple[Type, Type]]:
    """Two types, or those of the items of two tuples."""
    if not isinstance(mine, TupleType) or not isinstance(other, TupleType) or len(mine.elements) != len(other.elements):
        return [(mine, other)]
    return list(zip(mine.elements, other.elements, strict=True))


def _has_functions(arm: Frame[Sugared]) -> bool:
    """Whether an arm binds anything that may have captured a variable."""
    return any(isinstance(meaning, Sugared) for meaning in arm.names.values())


def _untouched_store(e: Emitter, block: Block, slot: str) -> Node | None:
    """The only store of a slot in a block, if nothing reads it there."""
    if slot in e.builder.cells or slot in e.builder.observers:
        return None
    store: Node | None = None
    for node in block.walk():
        if node.op in (_LOAD, _STORE) and node.attributes["name"] == slot:
            if node.op == _LOAD or store is not None or node.owner_block is not block:
                return None
            store = node
    return store


def _made_of(store: Node, type_: Type) -> list[Value] | None:
    """The None of a type that is stored, and the tuples that it is in, if nothing else is made of it."""
    stored = store.operand(0)
    maker = stored.defining_node
    items = maker.operands if maker is not None and maker.op == _TUPLE else (stored,)
    none = next((item for item in items if item.static_type is type_), None)
    if none is None or none.defining_node is None or none.defining_node.op != _NONE:
        return None
    tuples = [use.user for use in none.uses() if use.user is not store]
    if any(
        node.op != _TUPLE or any(use.user is not store for use in node.result().uses()) for node in tuples
    ):
        return None
    return [none, *(node.result() for node in tuples)]


def _replaced(known: Type, before: Type, after: Type) -> Type:
    """A type, or a tuple's, with another one in the place of one."""
    if known is before:
        return after
    return known.with_contained(tuple(after if part is before else part for part in known.contained))
