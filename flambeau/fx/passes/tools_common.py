"""What passes over graphs have in common.

>>> from flambeau import fx
>>> legalize_graph(fx.symbolic_trace(lambda x: x + 1))(1)
2
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.names import module_of
from flambeau.fx.node import Node
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Bring the nodes of a module's graph into an order in which values come before their uses, and give the module.

    Raises RuntimeError where values need each other.

    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda x: (x + 1).neg())
    >>> x, add, neg, _ = traced.graph.nodes
    >>> neg.append(add)
    >>> [node.name for node in legalize_graph(traced).graph.nodes]
    ['x', 'add', 'neg', 'output']
    """
    missing = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    ready = [node for node, count in missing.items() if count == 0]
    graph = Graph(gm)
    values: dict[Node, Node] = {}
    while ready:
        node = ready.pop(0)
        values[node] = graph.node_copy(node, lambda one: values[one])
        for user in node.users:
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)
    if len(values) < len(missing):
        waiting = next(node for node in missing if node not in values)
        raise RuntimeError(f"Input graph has cycles, unable to add {waiting} to the sorted graph")
    gm.graph = graph
    return gm


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Bring the nodes of a module's graph into an order in which values come before their uses, and give the module.
    Of nodes that could come next, the one that was first comes first, so that a graph in order stays as it is.

    Raises RuntimeError where values need each other.

    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda x: (x.neg(), x.relu()))
    >>> [node.name for node in stable_topological_sort(traced).graph.nodes]
    ['x', 'neg', 'relu', 'output']
    """
    waiting, done = list(gm.graph.nodes), set[Node]()
    last: Node = gm.graph.root
    while waiting:
        node = next((one for one in waiting if all(used in done for used in one.all_input_nodes)), None)
        if node is None:
            raise RuntimeError(f"Input graph has cycles, unable to add {waiting[0]} to the sorted graph")
        waiting.remove(node)
        done.add(node)
        if last.after is not node:
            last.append(node)
        last = node
    return gm


def get_acc_ops_name(k: Any) -> str:
    """How a function or a class is written, with the module that users reach it by; a text is itself.

    >>> import flambeau
    >>> get_acc_ops_name(flambeau.relu), get_acc_ops_name("size")
    ('flambeau.relu', 'size')
    """
    if isinstance(k, str):
        return k
    module = "flambeau.nn" if k.__module__.startswith("flambeau.nn.layers") else module_of(k)
    return f"{module}.{k.__name__}"


def get_node_target(submodules: Mapping[str, Module], node: Node) -> str:
    """What a node calls: the class of a layer, a function with its module, the name of a method.

    Args:
        submodules: by their names, `dict(module.named_modules())`.
        node: a call.

    Raises AssertionError for a node that is no call.

    >>> from flambeau import fx, nn
    >>> traced = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> [get_node_target(dict(traced.named_modules()), node) for node in traced.graph.find_nodes(op="call_module")]
    ['flambeau.nn.ReLU']
    """
    if node.op not in ("call_function", "call_method", "call_module"):
        raise AssertionError(f"Expect op types of call_module, call_function and call_method, but found {node.op}")
    return get_acc_ops_name(type(submodules[node.target]) if node.op == "call_module" else node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether shape propagation found that a node gives a tensor.

    >>> import flambeau
    >>> from flambeau import fx
    >>> from flambeau.fx.passes.shape_prop import ShapeProp
    >>> traced = fx.symbolic_trace(lambda x: x.size(0))
    >>> _ = ShapeProp(traced).propagate(flambeau.ones(2))
    >>> [is_node_output_tensor(node) for node in traced.graph.nodes]
    [True, False, False]
    """
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, Tensor)
