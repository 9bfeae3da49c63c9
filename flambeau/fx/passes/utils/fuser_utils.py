"""Nodes of a graph made a submodule that the graph calls.

>>> import flambeau
>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x: (x + 1).neg() * 2)
>>> _, add, neg, _, _ = traced.graph.nodes
>>> fused = fuse_by_partitions(traced, [{add: None, neg: None}])
>>> [node.name for node in fused.graph.nodes], fused(flambeau.tensor(1))
(['x', 'fused_0', 'mul', 'output'], tensor(-4))
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.passes.tools_common import legalize_graph


def topo_sort(nodes: Iterable[Node]) -> list[Node]:
    """Nodes of one graph in an order in which values come before their uses. Raises RuntimeError if there is none.

    >>> from flambeau import fx
    >>> x, add, neg, _ = fx.symbolic_trace(lambda x: (x + 1).neg()).graph.nodes
    >>> topo_sort([neg, add])
    [add, neg]
    """
    missing = dict.fromkeys(nodes, 0)
    for node in missing:
        missing[node] = sum(one in missing for one in node.all_input_nodes)
    ready = [node for node, count in missing.items() if count == 0]
    order: list[Node] = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for user in node.users:
            if user in missing:
                missing[user] -= 1
                if missing[user] == 0:
                    ready.append(user)
    if len(order) != len(missing):
        raise RuntimeError("topological sorted nodes doesn't have same length as input nodes: they need each other")
    return order


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether nodes can become one call: no value goes out of them and, through others, comes back into them.

    >>> from flambeau import fx
    >>> x, neg, relu, add, _ = fx.symbolic_trace(lambda x: x.neg().relu() + 1).graph.nodes
    >>> validate_partition([neg, relu]), validate_partition([neg, add])
    (True, False)
    """
    inside = set(partition)
    waiting = [user for node in inside for user in node.users if user not in inside]
    visited: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in visited:
            visited.add(node)
            waiting.extend(node.users)
    return True


def fuse_as_graphmodule(
    gm: GraphModule, nodes: Iterable[Node], module_name: str
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """A module of some nodes alone, and the nodes outside whose values it takes and inside whose values others use."""
    ordered = topo_sort(nodes)
    inside = set(ordered)
    inputs = dict.fromkeys(one for node in ordered for one in node.all_input_nodes if one not in inside)
    outputs = dict.fromkeys(node for node in ordered if any(user not in inside for user in node.users))
    graph, values = Graph(), dict[Node, Node]()
    for node in inputs:
        values[node] = graph.placeholder(node.name, node.type)
        values[node].meta = dict(node.meta)
    for node in ordered:
        values[node] = graph.node_copy(node, lambda one: values[one])
    results = tuple(values[node] for node in outputs)
    graph.output(results[0] if len(results) == 1 else results)
    graph.lint()
    return GraphModule(gm, graph, module_name), tuple(inputs), tuple(outputs)


def insert_subgm(
    gm: GraphModule, sub_gm: GraphModule, orig_inputs: Sequence[Node], orig_outputs: Sequence[Node]
) -> GraphModule:
    """Have a module call another, which takes the values of some nodes and gives those of others."""
    name = sub_gm.__dict__["_class_name"]
    gm.add_submodule(name, sub_gm)
    with gm.graph.inserting_before(gm.graph.output_node()):
        call = gm.graph.call_module(name, tuple(orig_inputs))
        if len(orig_outputs) == 1:
            orig_outputs[0].replace_all_uses_with(call)
        else:
            for position, node in enumerate(orig_outputs):
                node.replace_all_uses_with(gm.graph.call_function(operator.getitem, (call, position)))
    return gm


def erase_nodes(gm: GraphModule, nodes: Iterable[Node]) -> None:
    """Take nodes out, those that use others first."""
    for node in reversed(topo_sort(nodes)):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm: GraphModule, partitions: Sequence[Iterable[Node]], prefix: str = "fused_") -> GraphModule:
    """The module with each part of its nodes as a submodule, called `prefix` and its number; it is changed for it.

    Raises RuntimeError where parts need results of each other.
    """
    for number, nodes in enumerate(partitions):
        ordered = topo_sort(nodes)
        if not validate_partition(ordered):
            raise RuntimeError(f"Invalid partition, found dependency cycles: {ordered} need what others make of them")
        sub, inputs, outputs = fuse_as_graphmodule(gm, ordered, f"{prefix}{number}")
        insert_subgm(gm, sub, inputs, outputs)
        erase_nodes(gm, ordered)
    return legalize_graph(gm)
