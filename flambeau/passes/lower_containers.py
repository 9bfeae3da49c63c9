"""Do without lists and dicts that nobody else ever sees and whose places are constants: their items become values.

```
%l : Tensor[] = prim::ListConstruct(%a, %b)        %q : Tensor = prim::Loop(%n, %true, %a)
 = prim::Loop(%n, %true)                             block0(%i : int, %p : Tensor):
  block0(%i : int):                                    %d : Tensor = aten::mul(%p, %b)
    %p : Tensor = aten::__getitem__(%l, %0)     →      -> (%true, %d)
    %r : Tensor = aten::__getitem__(%l, %1)
    %d : Tensor = aten::mul(%p, %r)
    %_ : Tensor[] = aten::_set_item(%l, %0, %d)
    -> (%true)
```

A list qualifies if it keeps its length, a dict if it keeps its keys, and all that is done with it is reading and
assigning items at constant places, or asking for its length, its keys or all its items. Loops over the keys of a dict
are written out for that. What lies within another container can go once that is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import constant_propagation, loop_unrolling, lower_objects, lower_tuples, peephole
from flambeau.passes.remove_list_mutation import DICT, LIST
from flambeau.passes.scalar_replacement import LOOP, Access, Scalars, State, behind, touched
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import BOOL, INT, ClassType, DictType, ListType, TupleType, Type, without_refinement

KINDS: Final = (LIST, DICT)
"""What builds containers."""
MOST: Final = 32
"""Items of containers that become values: loops carry each that is assigned in them."""
Rule = Callable[["_Places", Node], Access | None]
container_accesses: Final = RuleTable[Rule]("what is done with a container whose places are known")
"""Of the container and the node; None from one that makes it another one, or looks for a place that is not known."""
structure_reads: Final = RuleTable[Callable[["_Places", Node], Value]]("what the keys of a dict tell")
"""Registers what makes an answer that stays the same for as long as a dict keeps its keys."""


def do(graph: Graph) -> bool:
    """Lower every container that can be; whether there was any."""
    changed = False
    while True:
        is_changed = _write_out_loops(graph)
        for node in graph.listed_nodes():
            if node.op in KINDS and node.is_inserted and _lower(node):
                is_changed = True
        if not is_changed:
            return changed
        changed = True
        lower_objects.do(graph)
        lower_tuples.do(graph)


class _Places:
    """The places of a container as it is made."""

    def __init__(self, made: Node) -> None:
        self.made = made
        self.graph: Graph = made.graph
        value = made.result()
        self.is_dict = isinstance(value.static_type, DictType)
        self.type_ = value.static_type
        items = made.operands
        if not self.is_dict:
            self.keys: list[Value] = []
            self.start: State = dict(enumerate(items))
            return
        self.keys = list({_key(k): k for k in items[::2]}.values())
        self.start = {_key(k): v for k, v in zip(items[::2], items[1::2], strict=True)}

    @property
    def is_known(self) -> bool:
        """Whether each place is a constant, and there are few."""
        return len(self.start) <= MOST and None not in self.start

    @property
    def element(self) -> Type:
        """The type of the items."""
        return without_refinement(self.type_.contained[-1])

    def place(self, index: Value) -> Any:
        """The place that a constant names; None where it is no constant, or no place of the container."""
        key = _key(index)
        if not self.is_dict and isinstance(key, int) and key < 0:
            key += len(self.start)
        return key if key in self.start else None


def _key(value: Value) -> Any:
    """What a constant key or index is; None for what is no constant of the kinds that keys of places have."""
    key = constants.constant_value(value) if constants.is_constant(value) else None
    return key if type(key) in (int, str) else None


def _lower(node: Node) -> bool:
    value = node.result()
    if not isinstance(value.static_type, ListType | DictType):
        return False
    if not value.is_used:  # it would seem to hold what is in it
        node.erase()
        return True
    if not _is_worth_it(value):
        return False
    places = _Places(node)
    accesses = _accesses(places, value) if places.is_known else None
    around = None if accesses is None else touched(value.owner_block, accesses)
    if accesses is None or around is None:
        return False
    scalars = Scalars(accesses, around, lambda place: places.element, lambda place: "")
    scalars.lower(list(behind(node)), dict(places.start))
    node.erase()
    return True


def _is_worth_it(value: Value) -> bool:
    """Whether a container is changed, or hides what others would look through: other rules take literal lists."""
    type_ = value.static_type
    if isinstance(type_.contained[-1], ListType | DictType | TupleType | ClassType) or isinstance(type_, DictType):
        return True
    return any(use.user.op in (_GET_ITEM, _SET_ITEM) and use.offset == 0 for use in value.uses())


_GET_ITEM: Final = "aten::__getitem__"
_SET_ITEM: Final = "aten::_set_item"


def _accesses(places: _Places, value: Value) -> dict[Node, Access] | None:
    """What is done with a container; None where some of it may be anything."""
    found: dict[Node, Access] = {}
    for use in value.uses():
        rule = container_accesses.get(use.user.op) if use.offset == 0 else None
        access = None if rule is None or use.user in found else rule(places, use.user)
        if access is None:
            return None
        found[use.user] = access
    return found


@container_accesses("aten::__getitem__")
def _item(places: _Places, node: Node) -> Access | None:
    place = places.place(node.operand(1))
    return None if place is None else Access(place)


@container_accesses("aten::_set_item")
def _assignment(places: _Places, node: Node) -> Access | None:
    place = places.place(node.operand(1))
    is_free = not any(v.is_used for v in node.results) and node.operand(2) is not node.operand(0)
    return Access(place, 2) if place is not None and is_free else None


@container_accesses("aten::values")
def _values(places: _Places, node: Node) -> Access:
    type_ = without_refinement(node.result().static_type)
    return Access(make=lambda state: _listed(places, [state[place] for place in places.start], type_))


@container_accesses("aten::items")
def _items(places: _Places, node: Node) -> Access | None:
    type_ = without_refinement(node.result().static_type)
    if not isinstance(type_, ListType):
        return None
    pair, graph = type_.element, places.graph

    def make(state: State) -> Value:
        both = [(key, state[_key(key)]) for key in places.keys]
        return _listed(places, [graph.insert("prim::TupleConstruct", one, [pair]).result() for one in both], type_)

    return Access(make=make)


@container_accesses("aten::keys", "aten::len", "aten::__contains__")
def _from_structure(places: _Places, node: Node) -> Access | None:
    """What does not depend on the items: of dicts what `structure_reads` says."""
    rule = structure_reads.get(node.op)
    if rule is None or (len(node.operands) > 1 and (not places.is_dict or _key(node.operand(1)) is None)):
        return None
    return Access(make=lambda state: rule(places, node))


@structure_reads("aten::keys")
def _all_keys(places: _Places, node: Node) -> Value:
    return _listed(places, places.keys, without_refinement(node.result().static_type))


@structure_reads("aten::len")
def _length(places: _Places, node: Node) -> Value:
    return insert_constant(places.graph, len(places.start), INT)


@structure_reads("aten::__contains__")
def _contains(places: _Places, node: Node) -> Value:
    return insert_constant(places.graph, _key(node.operand(1)) in places.start, BOOL)


def _listed(places: _Places, items: list[Value], type_: Type) -> Value:
    made: Value = places.graph.insert(LIST, items, [type_]).result()
    return made


# -- loops over keys and items ----------------------------------------------------------------------------------------


def _write_out_loops(graph: Graph) -> bool:
    """Write out the loops over the keys of a dict that keeps them, or over a list that keeps its length, if it is
    changed or holds containers."""
    changed = False
    for kind in KINDS:
        for node in graph.find_all(kind):
            places = _Places(node)
            is_wanted = places.is_known and (_hides_items(places) or _is_changed(node.result()))
            if is_wanted and _keeps_places(places) and _has_unknown_place(places):
                changed = _write_out_structure(places) or changed
    if changed:
        peephole.do(graph)
        constant_propagation.do(graph, values_only=True)
    is_over = True
    while is_over:
        is_over = any(_goes_over_literal(loop) and loop_unrolling.write_out(loop) for loop in graph.find_all(LOOP))
        changed = changed or is_over
    if changed:
        peephole.do(graph)
    return changed


def _write_out_structure(places: _Places) -> bool:
    """Put in what is known of a container's length and keys; whether that was asked."""
    asking = [use.user for use in places.made.result().uses() if use.user.op in structure_reads]
    for node in (n for n in asking if len(n.operands) == 1):
        with places.graph.inserting(node), places.graph.at_range(node.range):
            node.result().replace_uses_with(structure_reads[node.op](places, node))
        node.erase()
    return bool(asking)


def _hides_items(places: _Places) -> bool:
    """Whether a container is a dict, or holds what values could take the place of."""
    return places.is_dict or isinstance(places.element, ListType | DictType | TupleType | ClassType)


def _is_changed(value: Value) -> bool:
    return any(use.user.op == _SET_ITEM and use.offset == 0 for use in value.uses())


def _keeps_places(places: _Places) -> bool:
    """Whether nothing is done with a container that may add or take away places."""
    for use in places.made.result().uses():
        rule = container_accesses.get(use.user.op) if use.offset == 0 else None
        is_assigned = use.user.op == _SET_ITEM
        if rule is None or (is_assigned and places.place(use.user.operand(1)) is None):
            return False
    return True


def _has_unknown_place(places: _Places) -> bool:
    uses = places.made.result().uses()
    return any(len(use.user.operands) > 1 and _key(use.user.operand(1)) is None for use in uses)


def _goes_over_literal(loop: Node) -> bool:
    """Whether a loop takes the items of keys that are written out, or of such a list, by its counter."""
    (body,) = loop.nested_blocks
    for use in body.parameters[0].uses():
        made = use.user.operand(0).defining_node if use.user.op == _GET_ITEM and use.offset == 1 else None
        if made is None or made.op != LIST:
            continue
        places = _Places(made)
        if _are_keys(made) or (_keeps_places(places) and (_hides_items(places) or _is_changed(made.result()))):
            return True
    return False


def _are_keys(made: Node) -> bool:
    """Whether a list is of constant keys."""
    return bool(made.operands) and all(isinstance(_key(v), str) for v in made.operands)
