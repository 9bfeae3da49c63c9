"""What a module computes of its parameters alone, computed once.

>>> import flambeau
>>> class Scaled(flambeau.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.a, self.b = flambeau.nn.Parameter(flambeau.ones(2)), flambeau.nn.Parameter(flambeau.ones(2))
...     def forward(self, x):
...         return x * (self.a + self.b)
>>> folded = split_const_subgraphs(Scaled())
>>> [node.name for node in folded.graph.nodes], folded(flambeau.ones(2)).tolist()
(['x', '_fx_const_folded_attrs', 'mul', 'output'], [2.0, 2.0])
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.tracer import symbolic_trace
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.nn.parameter_containers import ParameterList
from flambeau.ops.surface import function
from flambeau.tensor.tensor import Tensor

FOLDED: Final = "_FX_CONST_FOLDED_ATTRS"
AGAIN: Final = "Folding has already been run: the module holds what was computed"


class FoldedGraphModule(GraphModule):
    """A module that runs another once, before its first call, for what does not depend on arguments."""

    def __init__(
        self, root: Any, graph: Graph, const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it, and what is computed once before the first time."""
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute what does not depend on arguments, and keep it. Raises AssertionError the second time."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError(AGAIN)
        self.has_folding_been_run = True
        values = self.const_subgraph_module()
        kept = _parameter(values) if isinstance(values, Tensor) else ParameterList([_parameter(v) for v in values])
        setattr(self, self.fx_const_folded_attrs_name, kept)


def _parameter(value: Tensor) -> Parameter:
    return Parameter(value.detach(), requires_grad=value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """A name, with a number behind it where the module has it already.

    >>> import flambeau
    >>> get_unique_attr_name_in_module(flambeau.nn.Linear(1, 1), "weight")
    'weight_1'
    """
    own, number = name, 0
    while hasattr(mod_traced, own):
        number += 1
        own = f"{name}_{number}"
    return own


def split_const_subgraphs(
    module: Module, skip_folding_node_fn: Callable[[Node], bool] | None = None, device_for_folded_attrs: str = "cpu"
) -> FoldedGraphModule:
    """A module that computes what depends on no argument once: when it is first called, or told to (`run_folding`).

    Args:
        module: is traced, unless it is made of a graph.
        skip_folding_node_fn: which nodes are computed in each call all the same.
        device_for_folded_attrs: where what is kept lies until it is computed.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced.graph, skip_folding_node_fn or (lambda node: False))
    kept = [n for n in traced.graph.nodes if n in constant and n.op != "get_attr" and not {*n.users} <= constant]
    if not kept:
        return FoldedGraphModule(traced, traced.graph)
    name = get_unique_attr_name_in_module(traced, FOLDED)
    inner = _graph_of(traced.graph, constant, kept)
    first: Any = function("empty")(1, device=device_for_folded_attrs)
    setattr(traced, name, Parameter(first) if len(kept) == 1 else ParameterList([Parameter(first) for _ in kept]))
    return FoldedGraphModule(traced, _rest(traced.graph, constant, kept, name), inner, name)


def _constant_nodes(graph: Graph, skips: Callable[[Node], bool]) -> set[Node]:
    """The nodes whose values depend on no argument."""
    constant: set[Node] = set()
    for node in graph.nodes:
        if node.op in ("placeholder", "output") or not {*node.all_input_nodes} <= constant:
            continue
        if (node.op == "get_attr" or node.all_input_nodes) and not skips(node) and not node.is_impure():
            constant.add(node)
    return constant


def _graph_of(graph: Graph, constant: set[Node], kept: list[Node]) -> Graph:
    """What gives the values of nodes."""
    own, values = Graph(), dict[Node, Node]()
    for node in graph.nodes:
        if node in constant:
            values[node] = own.node_copy(node, lambda one: values[one])
    own.output(values[kept[0]] if len(kept) == 1 else tuple(values[node] for node in kept))
    own.eliminate_dead_code()
    return own


def _rest(graph: Graph, constant: set[Node], kept: list[Node], name: str) -> Graph:
    """The graph with what was computed in the place of some nodes."""
    own, values = Graph(), dict[Node, Node]()
    attribute: Node | None = None
    for node in graph.nodes:
        if node in kept:
            attribute = own.get_attr(name) if attribute is None else attribute
            values[node] = attribute
            if len(kept) > 1:
                values[node] = own.call_function(operator.getitem, (attribute, kept.index(node)))
        elif node.op == "get_attr" or node not in constant:
            values[node] = own.node_copy(node, lambda one: values[one])
    own.eliminate_dead_code()
    return own
