"""Turn writes to memory that only this graph sees into new results.

```
%a : Float(*) = aten::mul(%x, %y)               %a : Float(*) = aten::mul(%x, %y)
%b : Float(*) = aten::add_(%a, %n, %1)    →     %b : Float(*) = aten::add(%a, %n, %1)
%c : Float(*) = aten::exp(%a)                   %c : Float(*) = aten::exp(%b)
```

Without writes more can be fused, merged and moved. A tensor qualifies if the graph made it, no view knows it, no
container does before all writes have happened, and every write to it is an in-place pointwise operator of the same
block that would give the dtype and the sizes the tensor has anyway: one that promotes or broadcasts would fail in place
but not otherwise.

Who asks for more (`checks_dtype=False`) takes every write of one tensor and numbers to succeed, has `fill_`, `zero_`
and `normal_` among them, and tensors that the branches of a `prim::If` make, in them or behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cmp_to_key, partial

from flambeau.analysis import operator_rules, shapes
from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis
from flambeau.analysis.memory import Location
from flambeau.ir import kinds
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.uses import Use
from flambeau.ir.walk import ancestor_in
from flambeau.schema import match, registry
from flambeau.schema.opdef import OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import DEVICE, INT, ListType, TensorType, Type, is_number


def do(graph: Graph, wanted: Callable[[Node], bool] = lambda node: True, *, checks_dtype: bool = True) -> bool:
    """Make every write functional that can be, and that is `wanted`.

    Without `checks_dtype`, a write of one tensor alone is taken to succeed.
    """
    may_go = partial(_may_go, wanted=wanted, checks_dtype=checks_dtype, resizes=cache(_resizes))
    writes = [n for n in graph.listed_nodes() if may_go(n)]
    if not writes:
        return False
    aliases = alias_analysis(graph)
    holders = holders_of(graph, aliases)
    changed = False
    for value in dict.fromkeys(_first(n, may_go) for n in writes):
        known = holders.get(only_location(value, aliases), None)
        if not checks_dtype:
            known = _beside_branches(value, known, holders, aliases)
        if known is not None and _is_private(value, known, aliases, may_go):
            _rewrite(value, known)
            changed = True
    return changed


def _may_go(
    node: Node, wanted: Callable[[Node], bool], checks_dtype: bool, resizes: Callable[[Graph], bool]
) -> bool:
    if not wanted(node):
        return False
    definition = node.definition
    if is_removable(node, resizes) or checks_dtype or definition is None or len(node.results) != 1:
        return is_removable(node, resizes)
    has_form = definition.family == "in_place" or node.op in _forms
    return has_form and sum(isinstance(v.static_type, TensorType) for v in node.operands) == 1


def _resizes(graph: Graph) -> bool:
    """Whether a graph may change the sizes of a tensor that exists."""
    return any(map(shapes.may_resize, graph.listed_nodes()))


def is_removable(node: Node, resizes: Callable[[Graph], bool] = _resizes) -> bool:
    """Whether a node writes its first operand, and its functional form would give the same tensor.

    Who asks for many nodes of a graph remembers which graphs change the sizes of tensors.
    """
    functional = _pointwise_form(node)
    if functional is None or functional.dtype is None:
        return False
    target, *others = node.operands
    target_type = _known_type(target)
    if target_type is None:
        return False
    if not all(_keeps_sizes(v.static_type, target_type) or _is_within_sizes(v, target, resizes) for v in others):
        return False
    types = [target_type, *(v.static_type for v in others)]
    known = [t if isinstance(t, TensorType) or is_number(t) else None for t in types]
    return functional.dtype(*known) is target_type.dtype


def _known_type(value: Value) -> TensorType | None:
    """The type of a tensor whose dtype is known, by its type or by what made it; None for others."""
    type_, node = value.static_type, value.defining_node
    if not isinstance(type_, TensorType) or type_.dtype is not None:
        return type_ if isinstance(type_, TensorType) else None
    if node is None or node.definition is None or node.nested_blocks:
        return None
    result = operator_rules.result_types(node, node.definition, node.results)[value.index]
    return result if isinstance(result, TensorType) and result.dtype is not None else None


def _pointwise_form(node: Node) -> OpDef | None:
    """The pointwise operator that does without a write what an in-place one does with it."""
    definition = node.definition
    if definition is None or definition.family != "in_place" or len(node.results) != 1:
        return None
    types = [v.static_type for v in node.operands]
    functional = match.find_overload(registry.out_of_place(node.op), types, [node.result().static_type])
    return functional if functional is not None and functional.family == "pointwise" else None


def _keeps_sizes(type_: Type, target: TensorType) -> bool:
    """Whether an operand of this type never makes the result larger than the target."""
    if not isinstance(type_, TensorType):
        return True
    if type_.sizes is None or target.sizes is None or len(type_.sizes) > len(target.sizes):
        return False
    return all(
        s == 1 or (s is not None and s == t) for s, t in zip(type_.sizes[::-1], target.sizes[::-1], strict=False)
    )


def _is_within_sizes(operand: Value, target: Value, resizes: Callable[[Graph], bool]) -> bool:
    """Whether the target was broadcast with all that the operand was computed of, so that the operand is no larger."""
    if resizes(target.owner_block.graph):
        return False
    leaves, _ = _pointwise_sources(operand)
    target_leaves, through = _pointwise_sources(target)
    return leaves <= target_leaves | through


def _pointwise_sources(value: Value) -> tuple[set[Value], set[Value]]:
    """The tensors that pointwise operators made a value of, and all results on the way."""
    leaves: set[Value] = set()
    through: set[Value] = set()
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if current in through or not isinstance(current.static_type, TensorType):
            continue
        node = current.defining_node
        definition = None if node is None else node.definition
        if node is None or definition is None or definition.family not in ("pointwise", "in_place"):
            leaves.add(current)
            continue
        through.add(current)
        waiting += node.operands if definition.family == "pointwise" else node.operands[:1]
    return leaves, through


def _first(node: Node, may_go: Callable[[Node], bool]) -> Value:
    """The tensor whose memory a chain of writes began with."""
    value = node.operand(0)
    while value.defining_node is not None and may_go(value.defining_node):
        value = value.defining_node.operand(0)
    return value


def only_location(value: Value, aliases: AliasAnalysis) -> Location | None:
    """The location that a value is; None where it may be several, or none."""
    locations = aliases.locations(value)
    return next(iter(locations)) if len(locations) == 1 else None


def holders_of(graph: Graph, aliases: AliasAnalysis) -> dict[Location | None, list[Value]]:
    """The values that may be each location."""
    holders: dict[Location | None, list[Value]] = {}
    for node in graph.listed_nodes():
        for value in (*node.results, *(p for block in node.nested_blocks for p in block.parameters)):
            for location in aliases.locations(value):
                holders.setdefault(location, []).append(value)
    return holders


def _is_private(value: Value, holders: list[Value], aliases: AliasAnalysis, may_go: Callable[[Node], bool]) -> bool:
    """Whether the memory is new, seen by the graph alone, and known only under the names of in-place results."""
    if value.defining_node is None or aliases.escapes(value) or value not in holders:
        return False
    block = value.owner_block
    for other in holders:
        if other is value:
            continue
        node = other.defining_node
        if node is None or node.owner_block is not block or not may_go(node) or node.operand(0) not in holders:
            return False
    makers = {node for other in holders if other is not value and (node := other.defining_node) is not None}
    return all(writer in makers for writer in aliases.writers(value)) and _is_stored_last(holders, makers, block)


def _is_stored_last(holders: list[Value], writers: set[Node], block: Block) -> bool:
    """Whether containers are given the memory when nobody writes to it any more."""
    users = {use.user for holder in holders for use in holder.uses()} - writers
    stores = [ancestor_in(user, block) for user in users if _may_store(user)]
    return all(node is not None and writer.is_before(node) for node in stores for writer in writers)


def _may_store(node: Node) -> bool:
    definition = node.definition
    if definition is None or node.op in kinds.BUILD:
        return True
    return definition.schema.is_mutable and not isinstance(node.operand(0).static_type, TensorType)


def _rewrite(value: Value, holders: list[Value]) -> None:
    """Let each node use the latest result instead of the memory it stands for."""
    writers = {v.defining_node for v in holders if v is not value}
    block, current = value.owner_block, value
    used_in: dict[Node, list[Use[Node]]] = {}
    for use in [use for holder in dict.fromkeys(holders) for use in holder.uses()]:
        at = ancestor_in(use.user, block)
        assert at is not None
        used_in.setdefault(at, []).append(use)
    for node in sorted(used_in, key=cmp_to_key(_in_order)):
        for user, offset in used_in[node]:
            if user.operand(offset) is not current:
                user.replace_operand(offset, current)
        if node in writers:
            _forms.get(node.op, _without_mark)(node)
            current = node.result()


_forms: RuleTable[Callable[[Node], None]] = RuleTable("how it becomes an operator that gives what it would write")


def _without_mark(node: Node) -> None:
    node.set_op(registry.out_of_place(node.op))


@_forms("aten::fill_")
def _filled(node: Node) -> None:
    node.set_op("aten::fill")


@_forms("aten::zero_")
def _zeroed(node: Node) -> None:
    with node.graph.inserting(node):
        absent = insert_constant(node.graph, None)
    node.set_op("aten::zeros_like")
    for _ in range(5):  # of the dtype, the layout, the device and the order in memory that the tensor has
        node.add_operand(absent)


@_forms("aten::normal_")
def _drawn(node: Node) -> None:
    """Numbers of the sizes, the dtype and the device that the tensor has."""
    graph, (target, *numbers, generator) = node.graph, node.operands
    with graph.inserting(node), graph.at_range(node.range):
        sizes = graph.insert("aten::size", (target,), (ListType(INT),)).result()
        dtype = graph.insert("prim::dtype", (target,), (INT,)).result()
        device = graph.insert("prim::device", (target,), (DEVICE,)).result()
        absent = insert_constant(graph, None)
    node.set_operands((*numbers, sizes, generator, dtype, absent, device, absent))
    node.set_op("aten::normal")


def _beside_branches(
    value: Value, known: list[Value] | None, holders: dict[Location | None, list[Value]], aliases: AliasAnalysis
) -> list[Value] | None:
    """The names of a memory in one block, where branches take part: those of an If that gives what each of its branches
    has made for that alone, and those in a branch of what the If gives at its end. None where others know the memory.
    """
    if known is not None:
        outer = value.owner_block.owner_node
        is_branch = outer is not None and outer.op == "prim::If"
        return [v for v in known if v is value or not is_branch or v.defining_node is not outer]
    node = value.defining_node
    if node is None or node.op != "prim::If":
        return None
    names: dict[Value, None] = {}
    for block in node.nested_blocks:
        own = block.returns[value.index]
        names_of_it = holders.get(only_location(own, aliases))
        if names_of_it is None or own.owner_block is not block or len(own.uses()) != 1:
            return None
        names.update(dict.fromkeys(v for v in names_of_it if v is not own))
    return list(names)


def _in_order(first: Node, second: Node) -> int:
    return -1 if first.is_before(second) else 1
