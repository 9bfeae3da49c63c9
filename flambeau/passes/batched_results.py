"""Batches whose examples give dicts, as batches of what lies in these.

```
%g : Dict(str, Tensor) = prim::Vmap[function=f](%w, %x)  →  %d : Tensor = prim::Vmap[function=g](%w, %x)
                                                            %g : Dict(str, Tensor) = prim::DictConstruct(%k, %d)
```

`g` gives what lies in the dict of `f`, whose keys are seen once functions in it were given what lies in theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.ir import constants
from flambeau.ir.clone import clone_graph, insert_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import constant_propagation, inline, lower_dicts, lower_tuples
from flambeau.program.batches import in_dims_of
from flambeau.program.containers import DICT, TUPLE, Leaf, Tree
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.types import DictType, TupleType, without_refinement
from flambeau.util.inversions import LATE_RUNNER, TRANSFORM_PROGRAM

ROUNDS = 4
"""How often functions in a function are given what lies in their containers."""


def gives_dicts(node: Node) -> bool:
    """Whether a result of a node is a dict."""
    return any(isinstance(v.static_type, DictType) for v in node.results)


def open_results(node: Node, settle: Callable[[Graph], bool]) -> bool:
    """Put a batch of leaves, and what puts them together, in a batch's place; whether the keys were seen. `settle`
    gives functions what lies in their containers."""
    function: Function = node.attribute("function")
    graph = clone_graph(function.frozen_graph)
    inline.do(graph, is_folding=True)
    for _ in range(ROUNDS):
        lower_tuples.do(graph)
        constant_propagation.do(graph)
        lower_dicts.do(graph)
        if not settle(graph):
            break
    [result] = graph.returns
    values = _items(result) if isinstance(result.static_type, TupleType) else [result]
    trees = [_tree(value) for value in values]
    if len(trees) != len(node.results) or any(tree is None for tree in trees):
        return False
    whole = [tree for tree in trees if tree is not None]
    axes = [dim for tree, dim in zip(whole, node.attribute("out_dims"), strict=True) for _ in _leaves(tree)]
    batch = TRANSFORM_PROGRAM.implementation(
        "vmap", _listed(function, graph, [leaf.value for tree in whole for leaf in _leaves(tree)]),
        in_dims=tuple(in_dims_of(node)), out_dims=tuple(axes), randomness="different",
    )  # fmt: skip
    _replace(node, batch, whole)
    return True


def _listed(function: Function, graph: Graph, leaves: Sequence[Value]) -> Function:
    """A function of a graph that gives these values as a tuple."""
    types = tuple([without_refinement(leaf.static_type) for leaf in leaves])
    with graph.inserting(graph.body.return_node):
        together = graph.insert(TUPLE, leaves, [TupleType(types)]).result()
    graph.body.remove_return(0)
    graph.add_return(together)
    result = Function(function.name, graph, schema_of(function.name, graph, {}))
    LATE_RUNNER.implementation(result)
    return result


def _replace(node: Node, batch: Any, trees: Sequence[Tree | Leaf]) -> None:
    graph, inner = node.graph, clone_graph(batch.frozen_graph)
    inline.do(inner, is_folding=True)
    with graph.inserting(node), graph.at_range(node.range):
        [together] = insert_graph(graph, inner, node.operands)
        leaves = iter(graph.insert("prim::TupleUnpack", [together], list(together.static_type.contained)).results)
        values = [tree.built(graph, leaves) if isinstance(tree, Tree) else next(leaves) for tree in trees]
    for old, value in zip(node.results, values, strict=True):
        old.replace_uses_with(value)
    node.erase()


def _items(value: Value) -> Sequence[Value]:
    maker = value.defining_node
    return maker.operands if maker is not None and maker.op == TUPLE else []


def _tree(value: Value) -> Tree | Leaf | None:
    """A dict that a graph builds for its result alone; a tensor as it is; None for other dicts."""
    type_, maker = value.static_type, value.defining_node
    if not isinstance(type_, DictType):
        return Leaf(value, type_)
    if maker is None or maker.op != DICT or not maker.operands or len(value.uses()) > 1:
        return None  # what else is done with it may change its keys
    keys, values = maker.operands[::2], maker.operands[1::2]
    if not all(map(constants.is_constant, keys)):
        return None
    names = tuple(map(constants.constant_value, keys))
    if len(set(names)) < len(names):
        return None
    return Tree(DICT, without_refinement(type_), names, tuple([Leaf(v, v.static_type) for v in values]))


def _leaves(tree: Tree | Leaf) -> list[Leaf]:
    return list(tree.leaves()) if isinstance(tree, Tree) else [tree]
