"""Groups of nodes that make each other's operands, for whoever makes a graph of its own of each.

A group grows from a node to those that make its operands, past others only where nobody can tell, and never into or
out of a block. What shows memory of something else, and lists of tensors, stay within: they are no results of a group.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x):
...   %a = aten::relu(%x)
...   %n : int = aten::dim(%x)
...   %b = aten::tanh(%a)
...   return (%b, %n)''')
>>> is_meant = lambda node, aliases: node.op != "aten::dim"
>>> [[n.op for n in group] for group in grown_groups(graph.body, AliasAnalysis(graph), is_meant)]
[['aten::relu', 'aten::tanh']]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.gradients import holds_tensors
from flambeau.ir.graph import Block, Node
from flambeau.ir.walk import operands_within
from flambeau.passes.fuse import bring_together
from flambeau.schema.types import TensorType

WITHIN: Final = frozenset({"prim::ListConstruct", "prim::TupleConstruct", "prim::ListUnpack", "prim::TupleUnpack"})
"""What only brings operands of operators together, or takes their results apart."""


def grown_groups(
    block: Block, aliases: AliasAnalysis, is_candidate: Callable[[Node, AliasAnalysis], bool]
) -> list[list[Node]]:
    """The groups of one block, in order. A group whose results would show memory of something else, or be lists, is
    made again without the nodes that give these."""
    left_out: set[Node] = set()
    while True:
        candidates = [n for n in block if n not in left_out and is_candidate(n, aliases)]
        groups = _grown(candidates, aliases)
        escaping = {n for group in groups for n in group if _escapes(n, group, aliases)}
        if not escaping:
            return groups
        left_out |= escaping


def _grown(candidates: Sequence[Node], aliases: AliasAnalysis) -> list[list[Node]]:
    """Groups of nodes that make each other's operands, each a run of neighbours."""
    group_of: dict[Node, list[Node]] = {}
    for node in candidates:
        group_of[node] = [node]
        makers = [v.defining_node for v in operands_within(node) if v.defining_node in group_of]
        earlier = {id(group_of[m]): group_of[m] for m in makers if m is not None and m is not node}
        for group in sorted(earlier.values(), key=lambda g: -g[-1]._order):
            mine = group_of[node]
            if group is not mine and bring_together(aliases, group, mine):
                merged = group + mine
                group_of.update(dict.fromkeys(merged, merged))
    unique = {id(g): g for g in group_of.values()}
    return sorted(unique.values(), key=lambda g: g[0]._order)


def _escapes(node: Node, group: Sequence[Node], aliases: AliasAnalysis) -> bool:
    """Whether something outside of a group uses a result of this node that is no new tensor."""
    inside = set(group)
    for value in node.results:
        is_new = isinstance(value.static_type, TensorType) and not any(
            aliases.may_alias(value, v) for v in operands_within(node) if holds_tensors(v.static_type)
        )
        if not is_new and any(_top(use.user, node.owner_block) not in inside for use in value.uses()):
            return True
    takes_lists = any(
        holds_tensors(v.static_type) and not isinstance(v.static_type, TensorType) and v.defining_node not in inside
        for v in operands_within(node)
        if v.owner_block is node.owner_block
    )
    return takes_lists


def _top(node: Node, block: Block) -> Node:
    """The node of a block that a node lies in, or is."""
    current = node
    while current.owner_block is not block and current.owner_block.owner_node is not None:
        current = current.owner_block.owner_node
    return current
