"""Putting one piece of a graph in the place of another, wherever it is found.

>>> import flambeau
>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x: flambeau.relu(x + 1) * 2)
>>> matches = replace_pattern(traced, lambda x: flambeau.relu(x), lambda x: flambeau.sigmoid(x))
>>> len(matches), "flambeau.sigmoid(add)" in traced.code
(1, True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_arg
from flambeau.fx.passes.tools_common import legalize_graph
from flambeau.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from flambeau.fx.tracer import Tracer


class Match(NamedTuple):
    """One place where a pattern was.

    >>> from flambeau.fx import symbolic_trace
    >>> module = symbolic_trace(lambda x: x.neg())
    >>> (match,) = replace_pattern(module, lambda x: x.neg(), lambda x: x * 3)
    >>> match.anchor.target
    'neg'
    """

    anchor: Node
    """The node that gave what the pattern returns."""
    nodes_map: dict[Node, Any]
    """What each node of the pattern stood for."""

    def inside(self) -> set[Node]:
        """The nodes that are replaced.

        >>> from flambeau.fx import symbolic_trace
        >>> (match,) = replace_pattern(symbolic_trace(lambda x: x.neg()), lambda x: x.neg(), lambda x: x * 3)
        >>> match.inside()
        {neg}
        """
        return {v for p, v in self.nodes_map.items() if p.op != "placeholder" and isinstance(v, Node)}


def _graph_of(value: Any) -> Graph:
    if isinstance(value, Graph):
        return value
    return value.graph if isinstance(value, GraphModule) else Tracer().trace(value)


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace each place of a pattern; places do not overlap. The module is compiled again.

    Args:
        gm: the module whose graph is changed.
        pattern: a function, module or graph; its arguments stand for anything, each for something else.
        replacement: what comes in its place, with as many arguments.

    Raises ValueError for a replacement with other arguments.

    >>> import flambeau
    >>> from flambeau.fx import symbolic_trace
    >>> module = symbolic_trace(lambda x: x.neg().relu())
    >>> len(replace_pattern(module, lambda x: x.neg(), lambda x: x * 3))
    1
    >>> module(flambeau.ones(1))
    tensor([3.])
    """
    return [Match(replaced.anchor, replaced.nodes_map) for replaced in _replaced(gm, pattern, replacement, ())]


Filter = Callable[[InternalMatch, Graph, Graph], bool]
"""Called with a match, the graph it is in, and the pattern's."""
Callback = Callable[[InternalMatch, Graph, Graph], Any]
"""Called with the same; gives what comes in the place of the match."""


class ReplacedPatterns(NamedTuple):
    """One place where a pattern was, and what is there now."""

    anchor: Node
    """The node that gave what the pattern returns."""
    nodes_map: dict[Node, Any]
    """What each node of the pattern stood for."""
    replacements: list[Node]
    """The nodes that took its place."""


def replace_pattern_with_filters(
    gm: GraphModule, pattern: Any, replacement: Any = None, match_filters: Sequence[Filter] | None = None,
    ignore_literals: bool = False, replacement_callback: Callback | None = None,
) -> list[ReplacedPatterns]:  # fmt: skip
    """`replace_pattern` in those places that all filters let pass; with the new nodes of each.

    Args:
        gm: the module whose graph is changed.
        pattern: a function, module or graph; its arguments stand for anything, each for something else.
        replacement: what comes in its place, with as many arguments.
        match_filters: called with a match (`passes.utils.matcher_utils.InternalMatch`), the graph and the pattern's
            graph; whether the place is replaced.
        ignore_literals: whether numbers and texts in the pattern stand for any others.
        replacement_callback: gives the replacement of each place instead, called with the same.

    Raises ValueError without a replacement, or for one with other arguments.

    >>> from flambeau.fx import symbolic_trace
    >>> module = symbolic_trace(lambda x: x.neg().relu())
    >>> len(replace_pattern_with_filters(module, lambda x: x.neg(), lambda x: x * 3, [lambda match, *graphs: False]))
    0
    """
    return _replaced(gm, pattern, replacement, match_filters or (), ignore_literals, replacement_callback)


def _replaced(
    gm: GraphModule, pattern: Any, replacement: Any, filters: Sequence[Filter], ignore_literals: bool = False,
    callback: Callback | None = None,
) -> list[ReplacedPatterns]:  # fmt: skip
    if replacement is None and callback is None:
        raise ValueError("a replacement is wanted, or a replacement_callback that gives one for each place")
    pattern_graph = _graph_of(pattern)
    fixed = None if replacement is None else _graph_of(replacement)
    matcher = SubgraphMatcher(pattern_graph, remove_overlapping_matches=True, ignore_literals=ignore_literals)
    matches = [m for m in matcher.match(gm.graph) if all(passes(m, gm.graph, pattern_graph) for passes in filters)]
    done: list[ReplacedPatterns] = []
    now: dict[Node, Any] = {}
    for match in matches:
        new_graph = fixed
        if callback is not None:
            new_graph = _graph_of(callback(match, gm.graph, pattern_graph))
        assert new_graph is not None
        match.placeholder_nodes = [now.get(v, v) if isinstance(v, Node) else v for v in match.placeholder_nodes]
        done.append(_replace(gm.graph, match, new_graph, now))
    if matches and len(matcher.pattern_returning_nodes) > 1:
        legalize_graph(gm)
    gm.recompile()
    return done


def _replace(graph: Graph, match: InternalMatch, new_graph: Graph, now: dict[Node, Any]) -> ReplacedPatterns:
    """Put a graph in the place of a match. `now` is told which nodes stand where others were."""
    inputs = [n for n in new_graph.nodes if n.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise ValueError(f"the pattern takes {len(match.placeholder_nodes)} arguments, its replacement {len(inputs)}")
    values = dict(zip(inputs, match.placeholder_nodes, strict=True))
    order = {node: k for k, node in enumerate(graph.nodes)}
    inside = sorted(match.inside(), key=lambda one: order[one])
    anchor = match.returning_nodes[0]
    users = [user for node in match.returning_nodes for user in node.users if user not in match.inside()]
    with graph.inserting_before(min(users, key=lambda one: order[one], default=inside[-1])):
        result = graph.graph_copy(new_graph, values)
    fresh: list[Node] = [node for node in graph.nodes if node not in order]
    results: list[Any] = []
    map_arg(result, results.append)
    if not results:
        results = list(result) if isinstance(result, tuple | list) else [result]
    if len(results) != len(match.returning_nodes):
        raise ValueError(f"the pattern returns {len(match.returning_nodes)} values, its replacement {len(results)}")
    for node, new in zip(match.returning_nodes, results, strict=True):
        node.replace_all_uses_with(new)
        now[node] = new
    for node in reversed(inside):
        if not node.users:
            graph.erase_node(node)
    return ReplacedPatterns(anchor, match.nodes_map, fresh)
