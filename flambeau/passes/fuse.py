"""Gather pointwise operators, and reductions of their results, into groups that become one kernel.

```
%a : Float(*) = aten::mul(%x, %y)             %b : Float(*) = prim::FusionGroup_0(%x, %y)
%b : Float(*) = aten::relu(%a)          →     with prim::FusionGroup_0 = graph(%x : Float(*), %y : Float(*)):
                                                ...
```

Groups are as large as the order of memory and effects allows: a group is a run of neighbours, and nodes move next to
it only past nodes they may exchange places with. They never cross the border of a block. Dtypes, ranks and sizes are
the kernel's business at run time: it is made for what comes, or leaves the group to the interpreter. Values that
need gradients stay outside.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import may_raise
from flambeau.analysis.manager import alias_analysis
from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.graph import Block, Graph, Node
from flambeau.ir.walk import blocks
from flambeau.passes.folded import folded
from flambeau.passes.fusible import Fusible, changes_last, sizes_of
from flambeau.passes.outline import outline

GROUP = "prim::FusionGroup"
SMALLEST = 1
"""Even one operator is faster as a kernel: no temporary arrays, a call that is native from end to end."""
FARTHEST = 64
"""Nodes that may lie between two nodes of one group."""
LARGEST = 128
"""Nodes in one group."""
_NEEDS_ELEMENTS = frozenset({"max", "min", "max_at", "min_at", "argmax", "argmin"})


def do(graph: Graph) -> bool:
    """Make groups in every block."""
    fusible = Fusible(graph)
    fusible_nodes = [n for n in graph.listed_nodes() if fusible.is_fusible(n)]
    candidates = {n for n in fusible_nodes if _takes_sizes_along(graph, n)}
    if len(candidates) < SMALLEST:
        return False
    aliases = alias_analysis(graph)
    runs = [g for block in blocks(graph.body) for g in _Grouping(block, candidates, aliases).groups()]
    groups = [g for g in runs if _is_used(g)]
    for group in groups:
        outline(group, GROUP)
    return bool(groups)


def _is_used(group: list[Node]) -> bool:
    """Whether anything outside uses a result."""
    inside = set(group)
    return any(use.user not in inside for n in group for v in n.results for use in v.uses())


def _takes_sizes_along(graph: Graph, node: Node) -> bool:
    """Give a normalisation a list of sizes of its own, right before it, so that both can be in one group; false where
    a size might have changed on the way.
    """
    makers = sizes_of(node)
    if not makers:
        return True
    current: Node | None = makers[0]
    if any(n.owner_block is not node.owner_block for n in makers):
        return False
    while current is not None and current is not node:
        if current.nested_blocks or (current.definition is not None and current.definition.schema.is_mutable):
            return False
        if current.definition is None and not current.op.startswith("prim::"):
            return False
        current = current.next
    copies: Copies = {}
    for each in makers:
        clone_node(each, graph, copies).insert_before(node)
    old = makers[-1].result()
    node.replace_uses_of(old, copies[old])
    for each in reversed(makers):
        if not any(v.uses() for v in each.results):
            each.erase()
    return True


class _Grouping:
    """Groups of one block, each a run of neighbouring nodes."""

    def __init__(self, block: Block, candidates: set[Node], aliases: AliasAnalysis) -> None:
        self._aliases = aliases
        self._group_of: dict[Node, list[Node]] = {}
        for node in list(block):
            if node in candidates:
                self._group_of[node] = [*sizes_of(node), node]
                self._join(node)

    def groups(self) -> list[list[Node]]:
        """The groups that are large enough, in program order."""
        unique = {id(g): g for g in self._group_of.values() if len(g) >= SMALLEST}
        return sorted(unique.values(), key=lambda g: g[0]._order)

    def _join(self, node: Node) -> None:
        """Merge a node with the groups of its operands, the nearest first."""
        makers = [
            v.defining_node for member in self._group_of[node] for v in member.operands if v.defining_node is not None
        ]
        sources = {id(g): g for n in makers if (g := self._group_of.get(n)) is not None and n is not node}
        for earlier in sorted(sources.values(), key=lambda g: -g[-1]._order):
            mine = self._group_of[node]
            may_grow = earlier is not mine and len(earlier) + len(mine) <= LARGEST and _fold_alike(earlier + mine)
            if may_grow and bring_together(self._aliases, earlier, mine):
                merged = earlier + mine
                for member in merged:
                    self._group_of[member] = merged


def _fold_alike(nodes: list[Node]) -> bool:
    """Whether all folds that are known run over the same dimensions: a kernel folds over one choice of them. Whether
    nothing follows what changes places, too.
    """
    return changes_last(nodes) and len({folds for n in nodes if (folds := folded(n)) is not None}) <= 1


def _may_exchange(aliases: AliasAnalysis, first: Node, second: Node) -> bool:
    """Whether the order of two nodes may change: those that fail on values stay in order with all that may fail."""
    if any(map(_fails_when_empty, (first, second))) and may_raise(first) and may_raise(second):
        return False
    return aliases.may_exchange(first, second)


def _fails_when_empty(node: Node) -> bool:
    """Whether it fails on tensors without elements, which no types tell."""
    return node.definition is not None and node.definition.accumulator in _NEEDS_ELEMENTS


def bring_together(aliases: AliasAnalysis, earlier: list[Node], later: list[Node]) -> bool:
    """Make two runs neighbours by moving one of them, if that changes nothing."""
    between: list[Node] = []
    current = earlier[-1].next
    while current is not None and current is not later[0]:
        between.append(current)
        if len(between) > FARTHEST:
            return False
        current = current.next
    if current is None:
        return False
    if all(_may_exchange(aliases, b, n) for b in between for n in later):
        insertion_point = earlier[-1]
        for node in later:
            node.move_after(insertion_point)
            insertion_point = node
        return True
    if all(_may_exchange(aliases, n, b) for b in between for n in earlier):
        for node in earlier:
            node.move_before(later[0])
        return True
    return False
