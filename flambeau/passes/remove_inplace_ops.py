"""Turn writes to memory that only this graph sees into new tensors, those through views too.

```
%a : Tensor = aten::exp(%x)                         %a : Tensor = aten::exp(%x)
%r : Tensor = aten::select(%a, %0, %1)              %r : Tensor = aten::select(%a, %0, %1)
%w : Tensor = aten::fill_(%r, %n)             →     %w : Tensor = aten::fill(%r, %n)
%y : Tensor = aten::neg(%a)                         %b : Tensor = aten::select_scatter(%a, %w, %0, %1)
                                                    %y : Tensor = aten::neg(%b)
```

What a write changes is put back into what the view was of, and views are taken again where they are used. A tensor
qualifies if the graph made it, nothing contains it, all its views and writes stand in the block that made it, and at
most one of them is returned: two would share memory. Nothing here is faster than the writes; it is for whoever has to
go through a graph in which values never change, such as a derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cmp_to_key
from itertools import pairwise
from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis
from flambeau.ir import kinds
from flambeau.ir.clone import clone_node
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.uses import Use
from flambeau.ir.walk import ancestor_in
from flambeau.passes.remove_mutation import holders_of, is_removable, only_location
from flambeau.schema import match, registry
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import TENSOR, ListType, TensorType
from flambeau.util.record import dataclass, field

ZERO: Final = "aten::zero_"
FILL: Final = "aten::fill"
VIEW: Final = "aten::view"
PutBack = Callable[[Value, Value], Value]
"""Of what a view was of and of what it shows now: what it was of is now. It inserts the nodes for that."""
put_back: Final = RuleTable[Callable[[Node], PutBack | None]]("how what a view shows is put back")
"""Registers functions of a view; None from one for a view through which nothing is written."""
keeps_form: Final = RuleTable[Callable[[Node], bool]]("whether its functional form gives what it leaves")
"""Registers writes that keep dtype and sizes of what they write, whatever else they are given."""


def do(graph: Graph) -> bool:
    """Make every write functional that can be; whether there was any."""
    if not any(_is_write(node) for node in graph.listed_nodes()):
        return False
    aliases = alias_analysis(graph)
    holders = holders_of(graph, aliases)
    families = [family for names in holders.values() if (family := _family(names, aliases)) is not None]
    for family in families:
        _Rewriting(graph, family).run()
    return bool(families)


@dataclass(slots=True)
class _Family:
    """A tensor with its views and writes."""

    base: Value
    parents: dict[Value, Value] = field(default_factory=dict)
    """Of each view what it is of; of what a write gives back what it wrote."""


def _family(names: list[Value], aliases: AliasAnalysis) -> _Family | None:
    """The tensor that all these values show, if writes to it can go."""
    family = _members(names, aliases)
    if family is None:
        return None
    makers = {value.defining_node for value in family.parents}
    writes = aliases.writers(family.base)
    can_go = makers.issuperset(writes) and all(_can_be_put_back(write, family) for write in writes)
    return family if writes and can_go and _is_kept_once(family, writes) else None


def _members(names: list[Value], aliases: AliasAnalysis) -> _Family | None:
    """A new tensor with views and writes of its own block; None where there is anything else among these values."""
    bases = [v for v in names if aliases.is_new(v)]
    if len(bases) != 1 or aliases.escapes(bases[0]) or any(only_location(v, aliases) is None for v in names):
        return None
    family = _Family(bases[0])
    for value in names:
        node = value.defining_node
        if value is not family.base and (node is None or not _is_of(node, family)):
            return None
        if value is not family.base and node is not None:
            family.parents[value] = node.operand(0)
    known = {family.base, *family.parents}
    return family if known.issuperset(family.parents.values()) else None


def _is_of(node: Node, family: _Family) -> bool:
    """Whether a node of the same block takes a view or writes."""
    return node.owner_block is family.base.owner_block and (_is_view(node) or _is_write(node))


def _is_kept_once(family: _Family, writes: list[Node]) -> bool:
    """Whether at most one view, or the tensor itself, is returned or put anywhere, and that after all writes."""
    kept = [(use.user, name) for name in (family.base, *family.parents) for use in name.uses() if _keeps(use)]
    ancestors = [ancestor_in(user, family.base.owner_block) for user, _ in kept]
    is_late = all(at is not None and all(write.is_before(at) for write in writes) for at in ancestors)
    return is_late and len({_shown(name, family) for _, name in kept}) <= 1


def _keeps(use: Use[Node]) -> bool:
    """Whether a use may keep the tensor itself: it is returned, or put into a container."""
    definition = use.user.definition
    if definition is None or use.offset >= len(definition.schema.arguments):
        return use.user.op not in kinds.QUERY
    alias = definition.schema.arguments[use.offset].alias
    return alias is not None and alias.is_wildcard


def _is_view(node: Node) -> bool:
    return node.definition is not None and node.definition.is_view and len(node.results) == 1


def _is_write(node: Node) -> bool:
    """Whether a node writes its first operand, gives it back, and has a functional form that gives the same."""
    if len(node.results) != 1 or node.definition is None or not isinstance(node.result().static_type, TensorType):
        return False
    if node.op in keeps_form:
        return keeps_form[node.op](node)
    return node.definition.family == "in_place" and is_removable(node)


def _can_be_put_back(write: Node, family: _Family) -> bool:
    """Whether there is a rule for each view on the way from what is written to the tensor itself."""
    return all(_way_back(view) is not None for view in _views(write.operand(0), family))


def _way_back(view: Node) -> PutBack | None:
    return put_back[view.op](view) if view.op in put_back else None


def _views(value: Value, family: _Family) -> Iterator[Node]:
    """The views between a value and the tensor that it shows, the last first."""
    while value is not family.base:
        node = value.defining_node
        assert node is not None
        if _is_view(node):
            yield node
        value = family.parents[value]


def _shown(value: Value, family: _Family) -> Value:
    """The view that a value is, or the tensor itself: behind what writes give back."""
    while value is not family.base and value.defining_node is not None and not _is_view(value.defining_node):
        value = family.parents[value]
    return value


class _Rewriting:
    """The nodes of a block in order, each given what its operands are at that moment."""

    def __init__(self, graph: Graph, family: _Family) -> None:
        self._graph, self._family = graph, family
        self._current: dict[Value, Value] = {family.base: family.base}
        """The latest value of the tensor, and of each view that was taken since the last write."""
        self._added: list[Node] = []

    def run(self) -> None:
        """Rewrite."""
        family, block = self._family, self._family.base.owner_block
        used_in: dict[Node, list[tuple[Use[Node], Value]]] = {}
        for name in (family.base, *family.parents):
            for use in name.uses():
                at = ancestor_in(use.user, block)
                assert at is not None
                used_in.setdefault(at, []).append((use, name))
        for node in sorted(used_in, key=cmp_to_key(_in_order)):
            for (user, offset), name in used_in[node]:
                user.replace_operand(offset, self._latest(name, node))
            if len(node.results) == 1 and node.result() in family.parents:
                if _is_view(node):
                    self._current[node.result()] = node.result()
                else:
                    self._write(node, _shown(family.parents[node.result()], family))
        for node in reversed(self._added):
            if not any(v.is_used for v in node.results):
                node.erase()

    def _latest(self, value: Value, before: Node) -> Value:
        """What a value of the family is now; a view is taken again before a node."""
        value = _shown(value, self._family)
        if value not in self._current:
            assert value.defining_node is not None
            source = self._latest(self._family.parents[value], before)
            view = clone_node(value.defining_node, self._graph, {}).insert_before(before)
            view.replace_operand(0, source)
            self._added.append(view)
            self._current[value] = view.result()
        return self._current[value]

    def _write(self, node: Node, target: Value) -> None:
        """Compute what is written as a new tensor, and put it back."""
        parents = [target]
        while parents[-1] is not self._family.base:
            parents.append(_shown(self._family.parents[parents[-1]], self._family))
        before = {parent: self._latest(parent, node) for parent in parents[::-1]}
        self._make_functional(node)
        following, value = node.next or node.owner_block.return_node, node.result()
        last = following.previous
        self._current = {target: value}
        with self._graph.inserting(following), self._graph.at_range(node.range):
            for shown, parent in pairwise(parents):
                assert shown.defining_node is not None
                way_back = _way_back(shown.defining_node)
                assert way_back is not None
                value = self._current[parent] = way_back(before[parent], value)
        while last is not None and (last := last.next) is not None and last is not following:
            self._added.append(last)

    def _make_functional(self, node: Node) -> None:
        if node.op == ZERO:
            with self._graph.inserting(node):
                node.add_operand(insert_constant(self._graph, 0))
            node.set_op(FILL)
        else:
            node.set_op(registry.out_of_place(node.op))


def _in_order(first: Node, second: Node) -> int:
    return -1 if first.is_before(second) else 1


# -- writes -----------------------------------------------------------------------------------------------------------


@keeps_form(ZERO)
def _zero(node: Node) -> bool:
    return True


@keeps_form("aten::copy_", "aten::fill_", "aten::index_put_", "aten::index_fill_", "aten::index_copy_")
@keeps_form("aten::index_add_", "aten::scatter_", "aten::scatter_add_")
def _has_functional_form(node: Node) -> bool:
    types = [v.static_type for v in node.operands]
    return match.find_overload(registry.out_of_place(node.op), types, [node.result().static_type]) is not None


# -- views ------------------------------------------------------------------------------------------------------------


def _insert(name: str, *operands: Value) -> Value:
    return operands[0].owner_block.graph.insert(name, operands, [TENSOR]).result()


def _laid_out_as(whole: Value, value: Value) -> Value:
    """A value in the strides of what it takes the place of."""
    return _insert("aten::copy", whole, value, insert_constant(whole.owner_block.graph, False))


@put_back("aten::select")
def _selected(view: Node) -> PutBack | None:
    return lambda whole, part: _insert("aten::select_scatter", whole, part, *view.operands[1:])


@put_back("aten::slice")
def _sliced(view: Node) -> PutBack | None:
    return lambda whole, part: _insert("aten::slice_scatter", whole, part, *view.operands[1:])


@put_back("aten::diagonal")
def _diagonal(view: Node) -> PutBack | None:
    return lambda whole, part: _insert("aten::diagonal_scatter", whole, part, *view.operands[1:])


@put_back("aten::t", "aten::transpose")
def _transposed(view: Node) -> PutBack | None:
    return lambda whole, part: _laid_out_as(whole, _insert(view.op, part, *view.operands[1:]))


@put_back("aten::view", "aten::view_as", "aten::squeeze", "aten::unsqueeze", "aten::unflatten")
def _reshaped(view: Node) -> PutBack | None:
    if view.op == VIEW and not isinstance(view.operand(1).static_type, ListType):
        return None  # in another dtype
    return lambda whole, part: _laid_out_as(whole, _insert("aten::reshape_as", part, whole))
