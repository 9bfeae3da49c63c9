"""What a graph computes twice, computed once.

>>> from flambeau import fx
>>> result = CSEPass()(fx.symbolic_trace(lambda x: (x + 1) * (x + 1)))
>>> result.modified, [node.name for node in result.graph_module.graph.nodes]
(True, ['x', 'add', 'mul', 'output'])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_aggregate
from flambeau.fx.passes.infra.pass_base import PassBase, PassResult
from flambeau.schema.opdef import Effect
from flambeau.schema.registry import overloads

_ALONE: Final = ("placeholder", "output", "get_attr", "call_module", "call_method")
"""Kinds of nodes of which not even equal ones are one: modules and methods may write, or draw."""


class CSEPass(PassBase):
    """Makes one node of calls of functions that are equal, arguments and all.

    Args:
        is_impure_node: of which nodes each stays; without it those that are called for what they do.

    Calls of operators that draw or write stay in any case.
    """

    def __init__(self, is_impure_node: Callable[[Node], bool] | None = None) -> None:
        super().__init__()
        self._is_impure = is_impure_node or (lambda node: node.is_impure())

    def call(self, graph_module: GraphModule) -> PassResult:
        """The module with a new graph."""
        graph, values = Graph(), dict[Node, Node]()
        known: dict[Any, Node] = {}
        changed = False
        old = graph_module.graph
        for node in old.nodes:
            if node.op in _ALONE or self._is_impure(node) or may_differ(node.target):
                values[node] = graph.node_copy(node, lambda one: values[one])
                continue
            key = _key(node, values)
            same = known.get(key) if key is not None else None
            if same is not None:
                values[node], changed = same, True
                continue
            values[node] = graph.node_copy(node, lambda one: values[one])
            if key is not None:
                known[key] = values[node]
        return PassResult(GraphModule(graph_module, graph, graph_module.__dict__["_class_name"]), changed)


def may_differ(target: Any) -> bool:
    """Whether two calls of a function with equal arguments may give, or do, something else.

    >>> import flambeau
    >>> may_differ(flambeau.rand_like), may_differ(flambeau.relu)
    (True, False)
    """
    name = getattr(target, "__name__", "")
    operator = getattr(target, "operator_name", f"aten::{name}")
    is_in_place = name.endswith("_") and not name.endswith("__")
    return is_in_place or any(op.effect is not Effect.NONE for op in overloads(operator))


def _key(node: Node, values: dict[Node, Node]) -> Any:
    """What equal calls have in common; None where an argument cannot be compared."""

    def part(value: Any) -> Any:
        if isinstance(value, Node):
            return values[value]
        return type(value), value

    def hashed(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value), tuple(map(hashed, value))
        if isinstance(value, dict):
            return dict, tuple((k, hashed(v)) for k, v in value.items())
        return repr(value) if isinstance(value, float) else value

    key = node.target, hashed(map_aggregate(node.args, part)), hashed(map_aggregate(node.kwargs, part))
    try:
        hash(key)
    except TypeError:
        return None
    return key
