"""Groups that no one kernel can compute become several, before anything runs.

The pass that makes groups knows operators; whether a kernel exists for all of them together is known to the lowering,
from dtypes, ranks and sizes of 1. A group that it refuses is cut where folds begin and end: each piece is as long as a
kernel can be, and what no kernel computes by itself stays in the graph as it was.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from flambeau.codegen.lower import LoweringError, lower_region
from flambeau.ir.clone import insert_graph
from flambeau.ir.code_key import code_key
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph
from flambeau.ir.node import Node
from flambeau.ir.value import Value
from flambeau.ir.walk import operands_within
from flambeau.passes.fuse import GROUP
from flambeau.passes.outline import outline
from flambeau.schema.types import TensorType, Type

Known = dict[Hashable, list[tuple[int, bool]]]
"""What was found out of groups, by what they do and of what types their inputs are."""


def split_groups(graph: Graph) -> bool:
    """Cut the groups whose inputs are known to have no kernel together; whether there were any."""
    known: Known = {}
    found = [(node, lengths) for node in graph.find_all(GROUP) if (lengths := _lengths(node, known))]
    for node, lengths in found:
        _cut(node, lengths)
    return bool(found)


def _lengths(group: Node, known: Known) -> list[tuple[int, bool]]:
    """How many nodes the pieces have, and whether each has a kernel; nothing where the group is one, or not known."""
    inner: Graph = group.attribute("Subgraph")
    types = {v: _known(v.type, given.type) for v, given in zip(inner.inputs, group.inputs, strict=True)}
    if not all(_is_known(t) for t in types.values()):
        return []
    code = code_key(inner.nodes(), inner.inputs, inner.outputs)
    key = None if code is None else (code, *types.values())
    found = known.get(key)
    if found is None:
        found = _pieces(inner, types)
        if key is not None:
            known[key] = found
    return found


def _pieces(inner: Graph, types: Mapping[Value, Type]) -> list[tuple[int, bool]]:
    nodes = [n for n in inner.nodes() if n.kind != CONSTANT]
    if _lowers(nodes, types):
        return []
    pieces: list[tuple[int, bool]] = []
    start = 0
    while start < len(nodes):
        ends = [k for k in _ends(nodes) if k > start]
        length = next((k - start for k in ends if _lowers(nodes[start:k], types)), 0)
        pieces.append((length or 1, bool(length)))
        start += length or 1
    return pieces


def _ends(nodes: Sequence[Node]) -> list[int]:
    """Where a piece may end, the last first: before and after folds, and in halves."""
    folds = [k for k, n in enumerate(nodes) if n.definition is not None and n.definition.accumulator]
    halves = [len(nodes) >> shift for shift in range(1, 6)]
    places = {len(nodes), *folds, *(k + 1 for k in folds), *halves, *range(1, min(len(nodes), 4))}
    return sorted(places, reverse=True)


def _known(own: Type, given: Type) -> Type:
    return given if isinstance(given, TensorType) and given.sizes is not None else own


def _is_known(type_: Type) -> bool:
    return not isinstance(type_, TensorType) or (type_.dtype is not None and type_.sizes is not None)


def _lowers(nodes: Sequence[Node], types: Mapping[Value, Type]) -> bool:
    """Whether a kernel computes these nodes of a group, which may use what nodes before them give."""
    inside = set(nodes)
    used = dict.fromkeys(v for n in nodes for v in operands_within(n) if v.node not in inside)
    constants = dict.fromkeys(v.node for v in used if v.node is not None and v.node.kind == CONSTANT)
    inputs = [v for v in used if v.node is None or v.node.kind != CONSTANT]
    known = [types.get(v, v.type) for v in inputs]
    outputs = [v for n in nodes for v in n.outputs if not all(u.user in inside for u in v.uses)]
    if not all(map(_is_known, known)) or not all(isinstance(v.type, TensorType) for v in outputs):
        return False
    try:
        lower_region([*constants, *nodes], inputs, outputs, known)
    except LoweringError:
        return False
    return True


def _cut(group: Node, lengths: Sequence[tuple[int, bool]]) -> None:
    """Put a group's nodes back into its block, and make groups of the pieces that have kernels."""
    graph, before = group.graph, group.previous
    with graph.inserting(group):
        results = insert_graph(graph, group.attribute("Subgraph"), group.inputs)
    added: list[Node] = []
    current = group.owner_block.first if before is None else before.next
    while current is not None and current is not group:
        added.append(current)
        current = current.next
    for old, new in zip(group.outputs, results, strict=True):
        old.replace_uses_with(new)
    group.destroy()
    rest = iter([n for n in added if n.kind != CONSTANT])
    for length, has_kernel in lengths:
        piece = [next(rest) for _ in range(length)]
        if has_kernel:
            outline(piece, GROUP)
    for node in added:
        if node.kind == CONSTANT and not node.output().is_used:
            node.destroy()
