"""Groups that no one kernel can compute become several, before anything runs.

The pass that makes groups knows operators; whether a kernel exists for all of them together is known to the lowering,
from dtypes, ranks and sizes of 1. Where sizes of 1 are known only when it runs, so is what to cut. Results of fewer
dimensions than others, with all that they need, become a group that runs first. What is refused for other reasons is
cut where folds begin and end: each piece is as long as a kernel can be, and what no kernel computes by itself stays in
the graph as it was.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from flambeau.codegen.lower import Lowered, LoweringError, RepeatedResultsError, lower_graph, lower_region
from flambeau.executor.lowered_groups import LoweredGroups, group_key
from flambeau.ir.clone import insert_graph
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import operands_within
from flambeau.passes.fuse import GROUP
from flambeau.passes.fuse_routines import routine_of
from flambeau.passes.outline import outline
from flambeau.passes.static_operands import static_count
from flambeau.schema.types import TensorType, Type

Pieces = list[tuple[list[int], bool]]
"""Of each piece the places of its nodes among those of a group that are no constants, and whether it has a kernel."""
PiecesByKey = dict[Hashable, Pieces]
"""What was found out of groups, by what they do and of what types their inputs are."""


def split_groups(graph: Graph, lowered: LoweredGroups | None = None) -> bool:
    """Cut the groups whose inputs are known to have no kernel together; whether there were any.

    The kernels of the others go into `lowered`.
    """
    pieces_by_key: PiecesByKey = {}
    lowered = {} if lowered is None else lowered
    cuts = [(node, pieces) for node in graph.find_all(GROUP) if (pieces := _pieces_of(node, pieces_by_key, lowered))]
    for node, pieces in cuts:
        _cut(node, pieces)
    return bool(cuts)


def split_by_types(groups: Mapping[Node, Sequence[Type]]) -> bool:
    """Cut groups that turned out to have no kernel for inputs of these types; whether any could be cut."""
    cuts = []
    for group, types in groups.items():
        inner: Graph = group.attribute("Subgraph")
        nodes = [n for n in inner.nodes() if n.op != CONSTANT]
        pieces = _pieces(nodes, dict(zip(inner.parameters, types, strict=True)))
        if len(pieces) > 1:
            cuts.append((group, pieces))
    for group, pieces in cuts:
        _cut(group, pieces)
    return bool(cuts)


def _pieces_of(group: Node, pieces_by_key: PiecesByKey, lowered: LoweredGroups) -> Pieces:
    """What to cut a group into; nothing where the group is one, or not known."""
    inner: Graph = group.attribute("Subgraph")
    if routine_of(inner) or static_count(inner):
        return []
    types = {
        v: _more_refined(v.static_type, operand.static_type)
        for v, operand in zip(inner.parameters, group.operands, strict=True)
    }
    if not all(_is_known(t) for t in types.values()):
        return []
    key = group_key(inner, list(types.values()))
    if key is not None and key in lowered:
        return []
    pieces = pieces_by_key.get(key)
    if pieces is None:
        kernel = _lowered_whole(inner, list(types.values()))
        if kernel is not None:
            if key is not None:
                lowered[key] = kernel
            return []
        pieces = _pieces([n for n in inner.nodes() if n.op != CONSTANT], types)
        if key is not None:
            pieces_by_key[key] = pieces
    return pieces


def _lowered_whole(inner: Graph, types: Sequence[Type]) -> Lowered | None:
    """The kernel of a whole group; None where there is none."""
    if not all(isinstance(v.static_type, TensorType) for v in inner.returns):
        return None
    try:
        return lower_graph(inner, types)
    except LoweringError:
        return None


def _pieces(nodes: list[Node], types: Mapping[Value, Type]) -> Pieces:
    indices = {node: k for k, node in enumerate(nodes)}
    pieces: Pieces = []
    waiting = [nodes]
    while waiting:
        run = waiting.pop()
        refusal = _refusal(run, types)
        if refusal is None:
            pieces.append(([indices[n] for n in run], True))
            continue
        first = _needed_first(run, refusal)
        if not first:
            ends = [k for k in _ends(run) if 0 < k < len(run)]
            first = next((run[:k] for k in ends if _can_be_cut(run[:k], types)), [])
        if not first:
            pieces.append(([indices[run[0]]], False))
        rest = [n for n in run if n not in set(first or run[:1])]
        waiting += [part for part in (rest, first) if part]
    return [] if pieces == [(list(range(len(nodes))), True)] else pieces


def _can_be_cut(run: Sequence[Node], types: Mapping[Value, Type]) -> bool:
    """Whether a kernel computes these nodes, or one some of them and others the rest."""
    refusal = _refusal(run, types)
    return refusal is None or bool(_needed_first(run, refusal))


def _needed_first(run: Sequence[Node], refusal: LoweringError) -> list[Node]:
    """What gives the results that do not vary along all dimensions of others, if there is anything else."""
    if not isinstance(refusal, RepeatedResultsError):
        return []
    outputs = _outputs(run)
    inside = set(run)
    needed: set[Node] = set()
    waiting = [outputs[k].defining_node for k in refusal.places]
    while waiting:
        node = waiting.pop()
        if node in inside and node not in needed and node is not None:
            needed.add(node)
            waiting += [v.defining_node for v in operands_within(node)]
    return [n for n in run if n in needed] if len(needed) < len(run) else []


def _ends(nodes: Sequence[Node]) -> list[int]:
    """Where a piece may end, the last first: before and after folds, and in halves."""
    folds = [k for k, n in enumerate(nodes) if n.definition is not None and n.definition.accumulator]
    halves = [len(nodes) >> shift for shift in range(1, 6)]
    ends = {len(nodes), *folds, *(k + 1 for k in folds), *halves, *range(1, min(len(nodes), 4))}
    return sorted(ends, reverse=True)


def _more_refined(own: Type, operand: Type) -> Type:
    return operand if isinstance(operand, TensorType) and operand.sizes is not None else own


def _is_known(type_: Type) -> bool:
    return not isinstance(type_, TensorType) or (type_.dtype is not None and type_.sizes is not None)


def _outputs(nodes: Sequence[Node]) -> list[Value]:
    """What nodes outside use of these."""
    inside = set(nodes)
    return [v for n in nodes for v in n.results if not all(u.user in inside for u in v.uses())]


def _refusal(nodes: Sequence[Node], types: Mapping[Value, Type]) -> LoweringError | None:
    """Why no kernel computes these nodes of a group, which may use what nodes before them give; None where one does."""
    inside = set(nodes)
    used = dict.fromkeys(v for n in nodes for v in operands_within(n) if v.defining_node not in inside)
    constants = dict.fromkeys(
        v.defining_node for v in used if v.defining_node is not None and v.defining_node.op == CONSTANT
    )
    inputs = [v for v in used if v.defining_node is None or v.defining_node.op != CONSTANT]
    known = [types.get(v, v.static_type) for v in inputs]
    outputs = _outputs(nodes)
    if not all(map(_is_known, known)) or not all(isinstance(v.static_type, TensorType) for v in outputs):
        return LoweringError("types that are not known")
    try:
        lower_region([*constants, *nodes], inputs, outputs, known)
    except LoweringError as refusal:
        return refusal
    return None


def _cut(group: Node, pieces: Pieces) -> None:
    """Put a group's nodes back into its block, and make groups of the pieces that have kernels."""
    added = _put_back(group)
    nodes = [n for n in added if n.op != CONSTANT]
    for node in (nodes[k] for indices, _ in pieces for k in indices):
        node.move_before(group)
    group.erase()
    for indices, has_kernel in pieces:
        if has_kernel:
            outline([nodes[k] for k in indices], GROUP)
    for node in added:
        if node.op == CONSTANT and not node.result().is_used:
            node.erase()


def _put_back(group: Node) -> list[Node]:
    """Copy a group's nodes to before it, and let their results be used in place of its own; the copies."""
    graph, before = group.graph, group.previous
    with graph.inserting(group):
        results = insert_graph(graph, group.attribute("Subgraph"), group.operands)
    added: list[Node] = []
    current = group.owner_block.first if before is None else before.next
    while current is not None and current is not group:
        added.append(current)
        current = current.next
    for old, new in zip(group.results, results, strict=True):
        old.replace_uses_with(new)
    return added
