"""Graphs compared, and made modules of their own.

>>> from flambeau import fx
>>> one, same, other = (fx.symbolic_trace(f).graph for f in (lambda x: x + 1, lambda y: y + 1, lambda x: x - 1))
>>> compare_graphs(one, same), compare_graphs(one, other)
(True, False)
"""

from __future__ import annotations

from collections.abc import Mapping

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.passes.utils.matcher_utils import SubgraphMatcher
from flambeau.nn.module import Module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module of submodules, which does nothing.

    Args:
        d: the submodules by their names.

    >>> from flambeau import nn
    >>> [name for name, _ in HolderModule({"first": nn.ReLU()}).named_children()]
    ['first']
    """

    def __init__(self, d: Mapping[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A module of a graph that names submodules and parameters of another module, which it shares with that.

    Args:
        gm: the module that has them.
        subgraph: the graph.
        comp_name: what the new module will be called in a third one, before names in what is returned.
        class_name: what its class is called.

    Gives the module, and by the names of what it calls or reads, behind `comp_name`, their names in `gm`.

    >>> from flambeau import fx, nn
    >>> traced = fx.symbolic_trace(nn.Sequential(nn.ReLU(), nn.Tanh()))
    >>> graph = fx.Graph()
    >>> _ = graph.output(graph.call_module("1", (graph.placeholder("x"),)))
    >>> lift_subgraph_as_module(traced, graph, "tail")[1]
    {'tail.1': '1'}
    """
    named = [node.target for node in subgraph.nodes if node.op in ("call_module", "get_attr")]
    prefix = f"{comp_name}." if comp_name else ""
    return GraphModule(gm, subgraph, class_name), {f"{prefix}{name}": name for name in named}


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same in the same way, whatever their values are called.

    Args:
        left: a graph.
        right: another.

    >>> from flambeau import fx
    >>> compare_graphs(*[fx.symbolic_trace(lambda x: x * 2).graph for _ in range(2)])
    True
    """
    if len(left.nodes) != len(right.nodes):
        return False
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return bool(matcher.match(right))
