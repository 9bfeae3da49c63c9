"""Tracing through the dispatcher: a function runs on tensors, and the operators that it comes to are the graph.

>>> import flambeau
>>> traced = make_fx(lambda x: flambeau.nn.functional.mse_loss(x, x + 1))(flambeau.ones(2))
>>> print(traced.code.strip())
def forward(self, x_1):
    add = flambeau.ops.aten.add.Tensor(x_1, 1)
    mse_loss = flambeau.ops.aten.mse_loss.default(x_1, add);  x_1 = add = None
    return mse_loss
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any
from weakref import ref

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_aggregate
from flambeau.nn.module import Module
from flambeau.tensor.modes import DispatchMode
from flambeau.tensor.tensor import Tensor


class Recording(DispatchMode):
    """Makes a node for each operator; tensors know theirs by identity."""

    def __init__(self, graph: Graph, root: Module, decompositions: Mapping[Any, Callable[..., Any]]) -> None:
        self.graph = graph
        self.root = root
        self.decompositions = decompositions
        self._nodes: dict[int, tuple[ref[Tensor], Node]] = {}
        self._arrays: dict[int, tuple[Any, Node]] = {}
        """Arrays by identity, and the node of the first tensor of each: the tape gives what it kept as another one."""
        self.kept: list[Any] = []

    def note(self, tensor: Tensor, node: Node) -> None:
        """A tensor is the value of a node."""
        array = tensor._array
        if id(tensor) in self._nodes or id(array) not in self._arrays:
            self._arrays[id(array)] = array, node
        self._nodes[id(tensor)] = (ref(tensor), node)
        self.kept.append(tensor)  # nobody else gets its identity meanwhile

    def node_of(self, value: Any) -> Any:
        """The node of a tensor; of one that came from elsewhere, an attribute of the module."""
        if not isinstance(value, Tensor):
            return value
        known = self._nodes.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        _, node = self._arrays.get(id(value._array), (None, None))
        if node is not None:
            self.note(value, node)
            return node
        name = f"_tensor_constant{sum(1 for n in vars(self.root)['_buffers'])}"
        self.root.register_buffer(name, value.detach() if value.requires_grad else value)
        node = self.graph.get_attr(name)
        self.note(value, node)
        return node

    def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        instead = self.decompositions.get(func)
        if instead is not None:
            with self:
                result = instead(*args, **kwargs)
            if result is not NotImplemented:
                return result
        nodes = map_aggregate((tuple(args), kwargs), self.node_of)
        node = self.graph.call_function(func, nodes[0], nodes[1])
        result = func(*args, **kwargs)
        self._results(result, node)
        return result

    def _results(self, result: Any, node: Node) -> None:
        if isinstance(result, Tensor):
            self.note(result, node)
        elif isinstance(result, tuple | list):
            for number, one in enumerate(result):
                if isinstance(one, Tensor):
                    self.note(one, self.graph.call_function(operator.getitem, (node, number)))


def make_fx(
    f: Callable[..., Any], decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
) -> Callable[..., GraphModule]:  # fmt: skip
    """What traces a function on the tensors that it is called with: a graph of operators, gradients included.

    Args:
        f: the function.
        decomposition_table: by overload, functions that are traced in its place.
        tracing_mode: "real" runs on the tensors; "fake" on tensors without data of their sizes.

    Numbers are constants of the graph, and so are tensors that are no arguments. Raises ValueError for another mode.

    >>> import flambeau
    >>> module = make_fx(lambda x: x * 2)(flambeau.ones(2))
    >>> module(flambeau.ones(3))
    tensor([2., 2., 2.])
    """
    if tracing_mode not in ("real", "fake"):
        raise ValueError(f'Unexpected tracing type: {tracing_mode}: choose "real" or "fake"')

    def traced(*args: Any) -> GraphModule:
        graph, root = Graph(), Module()
        mode = Recording(graph, root, decomposition_table or {})
        names = names_of(f, len(args))
        values = []
        for name, value in zip(names, args, strict=True):
            node = graph.placeholder(f"{name}_1")
            if isinstance(value, Tensor):
                value = value.detach().to("meta") if tracing_mode == "fake" else value.detach().requires_grad_(
                    value.requires_grad
                )  # fmt: skip
                mode.note(value, node)
            values.append(value)
        with mode:
            result = f(*values)
        graph.output(map_aggregate(result, mode.node_of))
        graph.eliminate_dead_code()
        return GraphModule(root, graph, getattr(f, "__name__", "traced"))

    return traced


def names_of(f: Callable[..., Any], count: int) -> list[str]:
    """What a function calls its first arguments."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[k] if k < len(names) else f"arg{k}" for k in range(count)]
