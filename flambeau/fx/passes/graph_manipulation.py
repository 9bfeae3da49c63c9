"""Nodes counted in bytes, and put in the places of others.

>>> import flambeau
>>> from flambeau import fx, nn
>>> traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3)))
>>> get_size_of_all_nodes(traced, [flambeau.ones(4, 2)])
>>> [(node.name, node.size_bytes.output_size, node.size_bytes.total_size) for node in traced.graph.nodes]
[('input_1', 32, 32), ('_0', 48, 84), ('output', 48, 48)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_arg
from flambeau.fx.passes.shape_prop import ShapeProp, TensorMetadata
from flambeau.tensor.tensor import Tensor

NO_META: Final = "Node {node} has no tensor metadata associated with it! Check that shape propagation has run."


class size_bytes(NamedTuple):  # noqa: N801  (as programs write it)
    """How many bytes the value of a node takes, and how many with the parameters and buffers of what it calls.

    >>> size_bytes(8, 20).total_size
    20
    """

    output_size: int
    total_size: int


def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Callable[..., Any] | str, new_op: str,
    new_target: Callable[..., Any] | str,
) -> None:  # fmt: skip
    """Have all nodes of a kind with a target be of another kind, with another one.

    Args:
        fx_module: the module whose graph is changed.
        old_op: the kind of the nodes.
        old_target: what they call.
        new_op: the kind that they are then.
        new_target: what they call then.

    >>> import flambeau
    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda x: flambeau.relu(x))
    >>> replace_target_nodes_with(traced, "call_function", flambeau.relu, "call_function", flambeau.neg)
    >>> traced(flambeau.ones(1))
    tensor([-1.])
    """
    graph, values = Graph(fx_module), dict[Node, Node]()
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args, kwargs = map_arg((node.args, node.kwargs), lambda one: values[one])
            values[node] = graph.create_node(new_op, new_target, args, kwargs, node.name, node.type)
            values[node].meta = dict(node.meta)
        else:
            values[node] = graph.node_copy(node, lambda one: values[one])
    fx_module.graph = graph


def get_size_of_all_nodes(fx_module: GraphModule, args: Sequence[Any] | None = None) -> None:
    """Write to each node `size_bytes`: the sizes of its value, alone and with what it reads of the module.

    Args:
        fx_module: the module.
        args: examples for its arguments, on which it runs; without them, shape propagation has run before.

    Raises RuntimeError where nobody knows the sizes of a value.
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        node.size_bytes = get_size_of_node(fx_module, node)  # type: ignore[attr-defined]


def get_tensor_meta(node: Node) -> TensorMetadata:
    """What shape propagation found of the value of a node. Raises RuntimeError where it has not run."""
    meta: Any = node.meta.get("tensor_meta")
    if meta is None:
        raise RuntimeError(NO_META.format(node=node))
    return meta  # type: ignore[no-any-return]


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of a node's value, alone and with the state of the submodule that it calls."""
    output = sum(meta.shape.numel() * meta.dtype.itemsize for meta in _metadata(get_tensor_meta(node)))
    state = 0
    if node.op == "call_module":
        module = fx_module.get_submodule(node.target)
        state = sum(_bytes(tensor) for tensor in [*module.parameters(), *module.buffers()])
    return size_bytes(output, output + state)


def _metadata(meta: Any) -> list[TensorMetadata]:
    """That of each tensor in a value."""
    if isinstance(meta, TensorMetadata):
        return [meta]
    parts = meta.values() if isinstance(meta, dict) else meta if isinstance(meta, list | tuple) else ()
    return [one for part in parts for one in _metadata(part)]


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.dtype.itemsize
