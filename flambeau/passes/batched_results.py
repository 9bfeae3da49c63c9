"""Batches whose examples give dicts, as batches of what lies in these; tangents of dicts, as tangents of what does.

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
from flambeau.passes import constant_propagation, inline, lower_containers, lower_dicts, lower_tuples
from flambeau.passes.changed_arguments import is_container
from flambeau.program.batches import in_dims_of
from flambeau.program.containers import DICT, TUPLE, Leaf, Tree, opened
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.program.tuple_arguments import tensors_of
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
    settled = _settled(node.attribute("function"), settle)
    if settled is None or len(settled[1]) != len(node.results):
        return False
    listed, whole = settled
    axes = [dim for tree, dim in zip(whole, node.attribute("out_dims"), strict=True) for _ in _leaves(tree)]
    batch = TRANSFORM_PROGRAM.implementation(
        "vmap", listed, in_dims=tuple(in_dims_of(node)), out_dims=tuple(axes), randomness="different"
    )
    _replace(node, batch, node.operands, whole)
    return True


def open_tangents(node: Node, trees: Sequence[Tree | None], settle: Callable[[Graph], bool]) -> bool:
    """Put tangents of leaves, and what puts them together, in the place of those of containers; whether their places
    are known. `trees` are the operands that are containers."""
    function: Function = node.attribute("function")
    count, numbers = len(function.schema.arguments), node.attribute("argnums")
    pairs = [(trees[n], trees[count + k]) for k, n in enumerate(numbers)]
    closed = [v for v, tree in zip(node.operands, trees, strict=True) if tree is None and is_container(v)]
    if closed or not all(_is_alike(primal, tangent) for primal, tangent in pairs):
        return False
    settled = _settled(opened(function, trees[:count]), settle)
    if settled is None or 2 * len(settled[1]) != len(node.results):
        return False
    listed, whole = settled
    parts = [_parts(value, tree) for value, tree in zip(node.operands, trees, strict=True)]
    sizes = list(map(len, parts))
    leaves = [sum(sizes[:n]) + k for n in numbers for k in range(sizes[n])]
    program = TRANSFORM_PROGRAM.implementation("jvp", listed, argnums=tuple(leaves))
    _replace(node, program, [leaf for part in parts for leaf in part], [*whole, *whole])
    return True


def _parts(value: Value, tree: Tree | None) -> list[Value]:
    """What lies in an operand that is a container; others as they are."""
    return [value] if tree is None else [leaf.value for leaf in _leaves(tree)]


def _is_alike(primal: Tree | None, tangent: Tree | None) -> bool:
    """Whether a value and its tangent are tensors, or containers of the same structure."""
    if primal is None or tangent is None:
        return primal is tangent
    pairs = zip(primal.parts, tangent.parts, strict=False)
    is_same = primal.op == tangent.op and primal.keys == tangent.keys and len(primal.parts) == len(tangent.parts)
    return is_same and all(
        _is_alike(*(part if isinstance(part, Tree) else None for part in pair)) for pair in pairs
    )


def _settled(
    function: Function, settle: Callable[[Graph], bool]
) -> tuple[Function, list[Tree | Leaf]] | None:
    """A function that gives the leaves of what one gives as a tuple, and how they lay; None where that is not known."""
    graph = clone_graph(function.frozen_graph)
    inline.do(graph, is_folding=True)
    for _ in range(ROUNDS):
        lower_tuples.do(graph)
        constant_propagation.do(graph)
        lower_dicts.do(graph)
        changed = lower_containers.do(graph)
        if not settle(graph) and not changed:
            break
    [result] = graph.returns
    values = _items(result) if isinstance(result.static_type, TupleType) else [result]
    trees = [_tree(value) for value in values]
    whole = [tree for tree in trees if tree is not None]
    if not trees or len(whole) < len(trees):
        return None
    return _listed(function, graph, [leaf.value for tree in whole for leaf in _leaves(tree)]), whole


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


def _replace(node: Node, program: Any, operands: Sequence[Value], trees: Sequence[Tree | Leaf]) -> None:
    """Put what a program gives, a tuple of leaves or of such tuples, in a node's place."""
    graph, inner = node.graph, clone_graph(program.frozen_graph)
    inline.do(inner, is_folding=True)
    with graph.inserting(node), graph.at_range(node.range):
        [together] = insert_graph(graph, inner, operands)
        leaves = iter(tensors_of(graph, together))
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
