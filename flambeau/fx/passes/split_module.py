"""A graph cut into parts, each a submodule of a module that calls them in order.

>>> import flambeau
>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
>>> parts = split_module(traced, traced, lambda node: int(node.name == "mul"))
>>> [name for name, _ in parts.named_children()]
['submod_0', 'submod_1']
>>> parts(flambeau.ones(1))
tensor([4.])
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_arg
from flambeau.nn.module import Module

CYCLE: Final = "cycle exists between partitions: {names} need results of each other. Put their nodes into one"
_OUTSIDE: Final = ("placeholder", "get_attr", "output")
"""Nodes that stay in the graph around the parts."""


class _Part:
    """Nodes that go together."""

    def __init__(self, key: Any, name: str) -> None:
        self.key = key
        self.name = name
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        """What comes from outside, in the order of its use."""
        self.outputs: dict[Node, None] = {}
        """What others use."""
        self.needs: dict[Any, None] = {}
        """Keys of the parts whose results it takes."""

    def graph(self) -> Graph:
        """Its own graph."""
        graph, values = Graph(), dict[Node, Node]()
        for node in self.inputs:
            values[node] = graph.placeholder(node.name, type_expr=node.type)
            values[node].meta = node.meta.copy()
        for node in self.nodes:
            values[node] = graph.node_copy(node, lambda one: values[one])
        results = tuple(values[node] for node in self.outputs)
        graph.output(results[0] if len(results) == 1 else results)
        return graph


def split_module(
    m: GraphModule, root_m: Module | None, split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None, keep_original_order: bool = False,
    partition_affix: str | None = None,
) -> GraphModule:  # fmt: skip
    """Cut the graph of a module into parts, each of which is then a submodule `submod_<key>`.

    Args:
        m: the module whose graph is cut.
        root_m: where attributes and submodules are; `m` itself if None.
        split_callback: called with each node; which part it belongs to: a number or a name.
        qualname_map: is told, by the names of submodules in the result, what they were called.
        keep_original_order: have the parts called in the order of their first nodes.
        partition_affix: comes into the names: `submod_<affix>_<key>`.

    Raises RuntimeError if parts need results of each other.

    >>> import flambeau
    >>> from flambeau import fx
    >>> net = fx.symbolic_trace(flambeau.nn.Sequential(flambeau.nn.Linear(2, 3), flambeau.nn.ReLU()))
    >>> names = {}
    >>> parts = split_module(net, net, lambda node: int(node.target == "1"), names)
    >>> print(parts.code.strip())
    def forward(self, input):
        input_1 = input
        submod_0 = self.submod_0(input_1);  input_1 = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    >>> names
    {'submod_0.0': '0', 'submod_1.1': '1'}
    """
    prefix = "submod_" if partition_affix is None else f"submod_{partition_affix}_"
    return split(m, root_m, split_callback, lambda key: f"{prefix}{key}", qualname_map, keep_original_order)


def split(
    m: GraphModule, root_m: Module | None, split_callback: Callable[[Node], Any], name_of: Callable[[Any], str],
    qualname_map: dict[str, str] | None = None, keep_original_order: bool = False,
) -> GraphModule:  # fmt: skip
    """`split_module`, with parts called by their keys as `name_of` says."""
    root = m if root_m is None else root_m
    parts = _parts_of(m.graph, split_callback, name_of)
    order = _in_order(parts, keep_original_order)
    outer, values = Graph(), dict[Node, Any]()
    attributes: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            values[node] = outer.node_copy(node)
            if node.op == "get_attr":
                attributes[node.target] = operator.attrgetter(node.target)(root)
    for part in order:
        attributes[part.name] = GraphModule(root, part.graph())
        call = outer.call_module(part.name, tuple(values[node] for node in part.inputs))
        if len(part.outputs) == 1:
            values[next(iter(part.outputs))] = call
        else:
            for position, node in enumerate(part.outputs):
                values[node] = outer.call_function(operator.getitem, (call, position))
        if qualname_map is not None:
            qualname_map.update({f"{part.name}.{n.target}": n.target for n in part.nodes if n.op == "call_module"})
    last = m.graph.output_node()
    outer.output(map_arg(last.args[0], lambda node: values[node]), last.type)
    return GraphModule(attributes, outer)


def _parts_of(graph: Graph, split_callback: Callable[[Node], Any], name_of: Callable[[Any], str]) -> dict[Any, _Part]:
    """The parts by their keys, as nodes come, with what goes in and out."""
    parts: dict[Any, _Part] = {}
    part_of: dict[Node, _Part] = {}
    for node in graph.nodes:
        if node.op in _OUTSIDE:
            continue
        key = split_callback(node)
        part = part_of[node] = parts.setdefault(key, _Part(key, name_of(key)))
        part.nodes.append(node)
    for node in graph.nodes:
        own = part_of.get(node)
        for used in node.all_input_nodes:
            source = part_of.get(used)
            if source is not None and source is not own:
                source.outputs.setdefault(used)
            if own is not None and source is not own:
                own.inputs.setdefault(used)
                if source is not None:
                    own.needs.setdefault(source.key)
    return parts


def _in_order(parts: dict[Any, _Part], keep_original_order: bool) -> list[_Part]:
    """The parts, each behind those whose results it takes. Raises RuntimeError if there is no such order."""
    order: list[_Part] = []
    ready: set[Any] = set()
    waiting = list(parts.values())
    while waiting:
        able = [part for part in waiting if all(key in ready for key in part.needs)]
        if not able:
            raise RuntimeError(CYCLE.format(names=_listed(part.name for part in waiting)))
        chosen = able[:1] if keep_original_order else able
        for part in chosen:
            order.append(part)
            ready.add(part.key)
        waiting = [part for part in waiting if part.key not in ready]
    return order


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
