"""Give functions that are differentiated or run for batches what lies in lists and dicts that the graph builds.

```
%p : Dict(str, Tensor) = prim::DictConstruct(%k, %w)           %d : Tensor = prim::Gradient[function=g](%w, %x)
%g : Dict(str, Tensor) = prim::Gradient[function=f](%p, %x) →  %g : Dict(str, Tensor) = prim::DictConstruct(%k, %d)
```

`g` makes the dict of its parameters and is `f` of it, so that the compiler knows the keys there too, and has gradients
by tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import batched_results
from flambeau.passes.changed_arguments import FUNCTIONS, changes_arguments, is_container, is_written
from flambeau.program.batches import VMAP
from flambeau.program.containers import DICT, LIST, TUPLE, Leaf, Tree, holds_tensors, opened
from flambeau.program.gradients import GRADIENT
from flambeau.program.tangents import TANGENTS
from flambeau.schema.types import ListType, TupleType, without_refinement

MOST: Final = 256
"""Leaves of the containers that a node is given."""
NUMBERS: Final = {GRADIENT: "argnums", TANGENTS: "argnums", VMAP: "batched"}
"""The attributes that name operands."""


def do(graph: Graph) -> bool:
    """Open the containers that nodes of functions are given, where the graph builds them and nothing writes to them;
    whether there were any."""
    nodes = [node for op in FUNCTIONS for node in graph.find_all(op) if "function" in node.attributes]
    users = [node for node in nodes if any(map(is_container, node.operands))]
    if any(changes_arguments(node.attribute("function")) for node in users):
        return False
    changed = False
    for node in users:
        changed = _open_arguments(graph, node) or changed
    for node in [n for n in nodes if n not in users and batched_results.gives_dicts(n)]:
        changed = _open_results(node) or changed
    return changed


def _open_results(node: Node) -> bool:
    """Give what lies in the results of a node that is given no containers; whether that is known."""
    if node.op == TANGENTS:
        return batched_results.open_tangents(node, [None] * len(node.operands), do)
    return node.op == VMAP and batched_results.open_results(node, do)


def _open_arguments(graph: Graph, node: Node) -> bool:
    """Give a node what lies in containers; whether there was any whose places are known."""
    aliases = alias_analysis(graph)
    with graph.inserting(node), graph.at_range(node.range):
        trees = [_tree(value, aliases) for value in node.operands]
    if node.op == TANGENTS and (batched_results.gives_dicts(node) or _has_tangents_of_containers(node)):
        return batched_results.open_tangents(node, trees, do)
    kept = set(node.attribute(NUMBERS[node.op])) if node.op != GRADIENT else set()
    trees = [None if n in kept else tree for n, tree in enumerate(trees)]
    if not 0 < sum(len(list(tree.leaves())) for tree in trees if tree is not None) <= MOST:
        return False
    _open(node, trees)
    return True


def _has_tangents_of_containers(node: Node) -> bool:
    """Whether tangents are of something else than tensors."""
    return any(is_container(node.operand(number)) for number in node.attribute(NUMBERS[TANGENTS]))


def takes_lists(graph: Graph) -> bool:
    """Whether a node of a function is given a list."""
    nodes = [node for op in FUNCTIONS for node in graph.find_all(op)]
    return any(isinstance(v.static_type, ListType) for node in nodes for v in node.operands)


def _tree(value: Value, aliases: AliasAnalysis) -> Tree | None:
    """What lies in a list or dict that the graph builds and leaves as it is; None for other values."""
    maker = value.defining_node
    if maker is None or maker.op not in (LIST, DICT) or not maker.operands or not holds_tensors(value.static_type):
        return None
    if is_written(value, aliases):
        return None
    items = maker.operands
    keys, values = ((), items) if maker.op == LIST else (items[::2], items[1::2])
    if not all(map(constants.is_constant, keys)) or len({constants.constant_value(k) for k in keys}) < len(keys):
        return None
    names = tuple([constants.constant_value(key) for key in keys])
    return Tree(maker.op, without_refinement(value.static_type), names, _parts(values, aliases))


def _parts(values: Sequence[Value], aliases: AliasAnalysis) -> tuple[Tree | Leaf, ...]:
    parts: list[Tree | Leaf] = []
    for value in values:
        type_ = without_refinement(value.static_type)
        if isinstance(type_, TupleType) and holds_tensors(type_):
            parts.append(Tree(TUPLE, type_, (), _parts(_elements(value), aliases)))
        else:
            parts.append(_tree(value, aliases) or Leaf(value, type_))
    return tuple(parts)


def _elements(value: Value) -> Sequence[Value]:
    """What is in a tuple, taken apart at the insertion point if need be."""
    maker = value.defining_node
    if maker is not None and maker.op == TUPLE:
        return maker.operands
    graph = value.owner_block.graph
    return graph.insert("prim::TupleUnpack", [value], list(value.static_type.contained)).results


def _open(node: Node, trees: Sequence[Tree | None]) -> None:
    """Put the leaves in the place of containers, in the gradients too."""
    graph = node.graph
    spans: list[range] = []
    operands: list[Value] = []
    for value, tree in zip(node.operands, trees, strict=True):
        leaves = [value] if tree is None else [leaf.value for leaf in tree.leaves()]
        spans.append(range(len(operands), len(operands) + len(leaves)))
        operands += leaves
    numbers = node.attribute(NUMBERS[node.op])
    results = _result_trees(node, trees)
    with graph.inserting(node), graph.at_range(node.range):
        new = graph.insert(node.op, operands, [leaf.type_ for tree in results for leaf in _leaves(tree)])
        new.attributes = {**node.attributes, NUMBERS[node.op]: [n for number in numbers for n in spans[number]]}
        for name in FUNCTIONS[node.op]:
            new.attributes[name] = opened(node.attribute(name), trees)
        values = iter(new.results)
        together = [tree.built(graph, values) if isinstance(tree, Tree) else next(values) for tree in results]
    for old, value in zip(node.results, together, strict=True):
        old.replace_uses_with(value)
    node.erase()


def _result_trees(node: Node, trees: Sequence[Tree | None]) -> list[Tree | Leaf]:
    """How the results of a node lie: gradients as what they are by."""
    results: list[Tree | Leaf] = [Leaf(v, v.static_type) for v in node.results]
    if node.op == GRADIENT:
        numbers = node.attribute(NUMBERS[GRADIENT])
        first = len(results) - len(numbers)
        results[first:] = [trees[n] or leaf for n, leaf in zip(numbers, results[first:], strict=True)]
    return results


def _leaves(part: Tree | Leaf) -> list[Leaf]:
    return list(part.leaves()) if isinstance(part, Tree) else [part]
