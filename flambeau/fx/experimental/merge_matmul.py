"""Products of several matrices with one, computed as one product.

>>> import flambeau
>>> class Two(flambeau.nn.Module):
...     def forward(self, x, y, w):
...         return flambeau.matmul(x, w), flambeau.matmul(y, w)
>>> merged = merge_matmul(Two())
>>> sum(node.target is flambeau.matmul for node in merged.graph.nodes)
1
>>> [t.shape[0] for t in merged(flambeau.ones(2, 3), flambeau.ones(4, 3), flambeau.ones(3, 1))]
[2, 4]
"""

from __future__ import annotations

import operator
from typing import Any

from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.passes.tools_common import legalize_graph
from flambeau.fx.tracer import symbolic_trace
from flambeau.nn.module import Module
from flambeau.ops.surface import function


def split_result_tensors(result: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """The rows of a product that belong to each of the matrices that were put one below the other.

    >>> import flambeau
    >>> [t.shape[0] for t in split_result_tensors(flambeau.ones(3, 1), [flambeau.ones(1, 2), flambeau.ones(2, 2)])]
    [1, 2]
    """
    return tuple(function("split")(result, [one.shape[0] for one in inputs], dim=0))


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether a node may need the result of another; True as well where that is more than `search_depth` steps off."""
    if a is b:
        return True
    if not a.all_input_nodes:
        return False
    if search_depth == 0:
        return True
    return any(may_depend_on(one, b, search_depth - 1) for one in a.all_input_nodes)


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether surely none of the nodes needs the result of another."""
    return not any(
        may_depend_on(one, other) or may_depend_on(other, one)
        for k, one in enumerate(nodes)
        for other in nodes[k + 1 :]
    )


def merge_matmul(in_mod: Module) -> GraphModule:
    """A module in which matrices that go by the same one on the right are multiplied together.

    Args:
        in_mod: is traced. Its `flambeau.matmul` are of matrices.
    """
    traced = symbolic_trace(in_mod)
    graph = traced.graph
    cat, matmul = function("cat"), function("matmul")
    by_right: dict[Any, list[Node]] = {}
    for node in graph.nodes:
        if node.op == "call_function" and node.target is matmul and len(node.args) == 2:
            by_right.setdefault(node.args[1], []).append(node)
    changed = False
    for right, products in by_right.items():
        if len(products) < 2 or not are_nodes_independent(products):
            continue
        changed = True
        lefts = [node.args[0] for node in products]
        with graph.inserting_before(products[0]):
            rows = graph.call_function(cat, (lefts, 0))
            product = graph.call_function(matmul, (rows, right))
            parts = graph.call_function(split_result_tensors, (product, lefts))
            for k, node in enumerate(products):
                node.replace_all_uses_with(graph.call_function(operator.getitem, (parts, k)))
        for node in products:
            graph.erase_node(node)
    if changed:
        legalize_graph(traced)
    traced.recompile()
    return traced
