"""Do without lists and dicts that nobody else ever sees and whose slots are constants: their items become values.

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
assigning items at constant slots, or asking for its length, its keys or all its items. Loops over the keys of a dict
are written out for that. What lies within another container can go once that is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import constant_propagation, loop_unrolling, lower_objects, lower_tuples, peephole
from flambeau.passes.changed_arguments import FUNCTIONS, only_reads
from flambeau.passes.remove_list_mutation import DICT, LIST
from flambeau.passes.scalar_replacement import LOOP, Access, Scalars, State, behind, touched
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import BOOL, INT, ClassType, DictType, ListType, TupleType, Type, without_refinement

KINDS: Final = (LIST, DICT)
"""What builds containers."""
MOST: Final = 32
"""Items of containers that become values: loops carry each that is assigned in them."""
MOST_NODES: Final = 2048
"""Nodes of a loop over items that is written out: with containers left nothing in it is native."""
Rule = Callable[["_Layout", Node], Access | None]
container_accesses: Final = RuleTable[Rule]("what is done with a container whose places are known")
"""Of the container and the node; None from one that makes it another one, or looks for a slot that is not known."""
item_lists: Final = RuleTable[Rule]("what lists all items of a dict")
structure_reads: Final = RuleTable[Callable[["_Layout", Node], Value]]("what the keys of a dict tell")
"""Registers what makes an answer that stays the same for as long as a dict keeps its keys."""


def do(graph: Graph, *, are_lists_open: bool = False) -> bool:
    """Lower every container that can be; whether there was any. With `are_lists_open`, loops over any literal list are
    written out."""
    changed = False
    of_dicts: set[Node] = set()
    while True:
        is_changed = _write_out_loops(graph, are_lists_open, of_dicts)
        for node in graph.listed_nodes():
            if node.op in KINDS and node.is_inserted and _lower(node, of_dicts):
                is_changed = True
        if not is_changed:
            return changed
        changed = True
        lower_objects.do(graph)
        lower_tuples.do(graph)


class _Layout:
    """The slots of a container as it is made."""

    def __init__(self, construction: Node, of_dicts: set[Node] | None = None) -> None:
        self.construction = construction
        self.of_dicts = set() if of_dicts is None else of_dicts
        """Lists of all items of a dict, which may be of different ranks: new ones go in."""
        self.graph: Graph = construction.graph
        value = construction.result()
        self.is_dict = isinstance(value.static_type, DictType)
        self.type_ = value.static_type
        items = construction.operands
        if not self.is_dict:
            self.keys: list[Value] = []
            self.start: State = dict(enumerate(items))
            return
        self.keys = list({_key(k): k for k in items[::2]}.values())
        self.start = {_key(k): v for k, v in zip(items[::2], items[1::2], strict=True)}

    @property
    def is_known(self) -> bool:
        """Whether each slot is a constant, and there are few."""
        return len(self.start) <= MOST and None not in self.start

    @property
    def element(self) -> Type:
        """The type of the items."""
        return without_refinement(self.type_.contained[-1])

    def slot(self, index: Value) -> Any:
        """The slot that a constant names; None where it is no constant, or no slot of the container."""
        key = _key(index)
        if not self.is_dict and isinstance(key, int) and key < 0:
            key += len(self.start)
        return key if key in self.start else None


def _key(value: Value) -> Any:
    """What a constant key or index is; None for what is no constant of the kinds that keys of slots have."""
    key = constants.constant_value(value) if constants.is_constant(value) else None
    return key if type(key) in (int, str) else None


def _lower(node: Node, of_dicts: set[Node]) -> bool:
    value = node.result()
    if not isinstance(value.static_type, ListType | DictType):
        return False
    if not value.is_used:  # it would seem to hold what is in it
        node.erase()
        return True
    if not _is_worth_it(value):
        return False
    layout = _Layout(node, of_dicts)
    accesses = _accesses(layout, value) if layout.is_known else None
    around = None if accesses is None else touched(value.owner_block, accesses)
    if accesses is None or around is None:
        return False
    scalars = Scalars(accesses, around, lambda slot: layout.element, lambda slot: "")
    scalars.lower(list(behind(node)), dict(layout.start))
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


def _accesses(layout: _Layout, value: Value) -> dict[Node, Access] | None:
    """What is done with a container; None where some of it may be anything."""
    accesses: dict[Node, Access] = {}
    for use in value.uses():
        rule = container_accesses.get(use.user.op) if use.offset == 0 else None
        access = None if rule is None or use.user in accesses else rule(layout, use.user)
        if access is None:
            return None
        accesses[use.user] = access
    return accesses


@container_accesses("aten::__getitem__")
def _item(layout: _Layout, node: Node) -> Access | None:
    slot = layout.slot(node.operand(1))
    return None if slot is None else Access(slot)


@container_accesses("aten::_set_item")
def _assignment(layout: _Layout, node: Node) -> Access | None:
    slot = layout.slot(node.operand(1))
    is_free = not any(v.is_used for v in node.results) and node.operand(2) is not node.operand(0)
    return Access(slot, 2) if slot is not None and is_free else None


@container_accesses("aten::values")
@item_lists("aten::values")
def _values(layout: _Layout, node: Node) -> Access:
    type_ = without_refinement(node.result().static_type)

    def make(state: State) -> Value:
        values = _listed(layout, [state[slot] for slot in layout.start], type_)
        if values.defining_node is not None:
            layout.of_dicts.add(values.defining_node)
        return values

    return Access(make=make)


@container_accesses("aten::items")
@item_lists("aten::items")
def _items(layout: _Layout, node: Node) -> Access | None:
    type_ = without_refinement(node.result().static_type)
    if not isinstance(type_, ListType):
        return None
    pair, graph = type_.element, layout.graph

    def make(state: State) -> Value:
        both = [(key, state[_key(key)]) for key in layout.keys]
        return _listed(layout, [graph.insert("prim::TupleConstruct", one, [pair]).result() for one in both], type_)

    return Access(make=make)


@container_accesses("aten::slice")
def _part(layout: _Layout, node: Node) -> Access | None:
    bounds = node.operands[1:]
    if layout.is_dict or len(bounds) != 3 or not all(map(constants.is_constant, bounds)):
        return None
    type_, part = without_refinement(node.result().static_type), slice(*map(constants.constant_value, bounds))
    return Access(make=lambda state: _listed(layout, [state[n] for n in range(len(layout.start))][part], type_))


@container_accesses("aten::keys", "aten::len", "aten::__contains__")
def _from_structure(layout: _Layout, node: Node) -> Access | None:
    """What does not depend on the items: of dicts what `structure_reads` says."""
    rule = structure_reads.get(node.op)
    if rule is None or (len(node.operands) > 1 and (not layout.is_dict or _key(node.operand(1)) is None)):
        return None
    return Access(make=lambda state: rule(layout, node))


@structure_reads("aten::keys")
def _all_keys(layout: _Layout, node: Node) -> Value:
    return _listed(layout, layout.keys, without_refinement(node.result().static_type))


@structure_reads("aten::len")
def _length(layout: _Layout, node: Node) -> Value:
    return insert_constant(layout.graph, len(layout.start), INT)


@structure_reads("aten::__contains__")
def _contains(layout: _Layout, node: Node) -> Value:
    return insert_constant(layout.graph, _key(node.operand(1)) in layout.start, BOOL)


def _listed(layout: _Layout, items: list[Value], type_: Type) -> Value:
    result: Value = layout.graph.insert(LIST, items, [type_]).result()
    return result


# -- loops over keys and items ----------------------------------------------------------------------------------------


def _write_out_loops(graph: Graph, are_lists_open: bool, of_dicts: set[Node]) -> bool:
    """Write out the loops over the keys or the items of a dict that keeps them, or over a list that keeps its length,
    if it is changed or holds containers, or any list is to be open."""
    changed = False
    for kind in KINDS:
        for node in graph.find_all(kind):
            layout = _Layout(node, of_dicts)
            if layout.is_known and _is_wanted(layout, are_lists_open) and _has_unknown_slot(layout):
                changed = _write_out_structure(layout) or changed
    if changed:
        peephole.do(graph)
        constant_propagation.do(graph, values_only=True)
    is_over = True
    while is_over:
        loops = [loop for loop in graph.find_all(LOOP) if _goes_over_literal(loop, are_lists_open, of_dicts)]
        is_over = any(loop_unrolling.write_out(loop, MOST_NODES) for loop in loops)
        changed = changed or is_over
    if changed:
        peephole.do(graph)
    return changed


def _is_wanted(layout: _Layout, are_lists_open: bool) -> bool:
    """Whether loops over a container, which keeps its slots, are written out."""
    is_open = are_lists_open or layout.construction in layout.of_dicts or _hides_items(layout)
    return (is_open or _is_changed(layout.construction.result())) and _keeps_slots(layout)


def _write_out_structure(layout: _Layout) -> bool:
    """Put in what is known of a container's length and keys, and of one that nothing changes its items; whether that
    was asked."""
    uses = layout.construction.result().uses()
    changed = not _is_changed(layout.construction.result()) and _write_out_items(layout)
    asking = [use.user for use in uses if use.user.op in structure_reads and len(use.user.operands) == 1]
    for node in asking:
        with layout.graph.inserting(node), layout.graph.at_range(node.range):
            node.result().replace_uses_with(structure_reads[node.op](layout, node))
        node.erase()
    return bool(asking) or changed


def _write_out_items(layout: _Layout) -> bool:
    """Put in lists of all items of a container that stays as it is made; whether there was any."""
    users = [use.user for use in layout.construction.result().uses() if use.user.op in item_lists]
    changed = False
    for node in users:
        access = item_lists[node.op](layout, node)
        if access is not None and access.make is not None:
            with layout.graph.inserting(node), layout.graph.at_range(node.range):
                node.result().replace_uses_with(access.make(layout.start))
            node.erase()
            changed = True
    return changed


def _hides_items(layout: _Layout) -> bool:
    """Whether a container is a dict, or holds what values could take the place of."""
    return layout.is_dict or isinstance(layout.element, ListType | DictType | TupleType | ClassType)


def _is_changed(value: Value) -> bool:
    return any(use.user.op == _SET_ITEM and use.offset == 0 for use in value.uses())


def _keeps_slots(layout: _Layout) -> bool:
    """Whether nothing is done with a container that may add or take away slots."""
    for use in layout.construction.result().uses():
        if only_reads(use.user):
            continue
        rule = container_accesses.get(use.user.op) if use.offset == 0 else None
        is_assigned = use.user.op == _SET_ITEM
        if rule is None or (is_assigned and layout.slot(use.user.operand(1)) is None):
            return False
    return True


def _has_unknown_slot(layout: _Layout) -> bool:
    uses = layout.construction.result().uses()
    return any(
        use.user.op in FUNCTIONS or (len(use.user.operands) > 1 and _key(use.user.operand(1)) is None) for use in uses
    )


def _goes_over_literal(loop: Node, are_lists_open: bool, of_dicts: set[Node]) -> bool:
    """Whether a loop takes the items of keys that are written out, or of such a list, by its counter."""
    (body,) = loop.nested_blocks
    for use in body.parameters[0].uses():
        literal = use.user.operand(0).defining_node if use.user.op == _GET_ITEM and use.offset == 1 else None
        if literal is None or literal.op != LIST:
            continue
        layout = _Layout(literal)
        is_wanted = _hides_items(layout) or _is_changed(literal.result()) or literal in of_dicts
        if are_lists_open or _are_keys(literal) or (is_wanted and _keeps_slots(layout)):
            return True
    return False


def _are_keys(literal: Node) -> bool:
    """Whether a list is of constant keys."""
    return bool(literal.operands) and all(isinstance(_key(v), str) for v in literal.operands)
