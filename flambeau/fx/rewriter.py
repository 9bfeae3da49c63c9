"""Putting one piece of a graph in the place of another, wherever it is found.

>>> import flambeau
>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x: flambeau.relu(x + 1) * 2)
>>> matches = replace_pattern(traced, lambda x: flambeau.relu(x), lambda x: flambeau.sigmoid(x))
>>> len(matches), "flambeau.sigmoid(add)" in traced.code
(1, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
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


_LITERALS: Final = (bool, int, float, complex, str)


class _Mapping(dict[Node, Any]):
    """What nodes of a pattern stand for, and how that is found out."""

    def __init__(self, ignore_literals: bool) -> None:
        super().__init__()
        self.ignore_literals = ignore_literals
        """Whether numbers and texts stand for any others."""


def _graph_of(value: Any) -> Graph:
    if isinstance(value, Graph):
        return value
    return value.graph if isinstance(value, GraphModule) else Tracer().trace(value)


def _matched(pattern: Any, value: Any, mapping: dict[Node, Any]) -> bool:
    """Whether a value of the graph is as the pattern says; notes what stands for what."""
    if isinstance(pattern, Node):
        return _node_matched(pattern, value, mapping)
    if isinstance(pattern, tuple | list):
        is_same = type(pattern) is type(value) and len(pattern) == len(value)
        return is_same and all(_matched(p, v, mapping) for p, v in zip(pattern, value, strict=True))
    if isinstance(pattern, dict):
        is_same = isinstance(value, dict) and pattern.keys() == value.keys()
        return is_same and all(_matched(pattern[key], value[key], mapping) for key in pattern)
    is_literal = isinstance(mapping, _Mapping) and mapping.ignore_literals and isinstance(pattern, _LITERALS)
    return bool((is_literal and isinstance(value, _LITERALS)) or (type(pattern) is type(value) and pattern == value))


def _node_matched(pattern: Node, value: Any, mapping: dict[Node, Any]) -> bool:
    if pattern in mapping:
        return mapping[pattern] is value
    if pattern.op == "placeholder":
        mapping[pattern] = value
        return True
    if not isinstance(value, Node) or pattern.op != value.op or pattern.target != value.target:
        return False
    mapping[pattern] = value
    return _matched(pattern.args, value.args, mapping) and _matched(pattern.kwargs, value.kwargs, mapping)


def _is_closed(pattern: Graph, mapping: dict[Node, Any], anchor: Node) -> bool:
    """Whether nobody besides uses what the pattern computes in between."""
    inside = {v for p, v in mapping.items() if p.op != "placeholder" and isinstance(v, Node)}
    return all(node is anchor or set(node.users) <= inside for node in inside)


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace each place of a pattern; places do not overlap. The module is compiled again.

    Args:
        gm: the module whose graph is changed.
        pattern: a function, module or graph; its arguments stand for anything.
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
    return _replaced(gm, pattern, replacement, ())


Filter = Callable[[Match, Graph, Graph], bool]
"""Called with a match, the graph it is in, and the pattern's."""


class ReplacedPatterns(NamedTuple):
    """One place where a pattern was, and what is there now."""

    anchor: Node
    """The node that gave what the pattern returns."""
    nodes_map: dict[Node, Any]
    """What each node of the pattern stood for."""
    replacements: list[Node]
    """The nodes that took its place."""


def replace_pattern_with_filters(
    gm: GraphModule, pattern: Any, replacement: Any, match_filters: Sequence[Filter] = (),
    ignore_literals: bool = False,
) -> list[ReplacedPatterns]:  # fmt: skip
    """`replace_pattern` in those places that all filters let pass; with the new nodes of each.

    Args:
        gm: the module whose graph is changed.
        pattern: a function, module or graph; its arguments stand for anything.
        replacement: what comes in its place, with as many arguments.
        match_filters: called with a match, the graph and the pattern's graph; whether the place is replaced.
        ignore_literals: whether numbers and texts in the pattern stand for any others.

    >>> from flambeau.fx import symbolic_trace
    >>> module = symbolic_trace(lambda x: x.neg().relu())
    >>> len(replace_pattern_with_filters(module, lambda x: x.neg(), lambda x: x * 3, [lambda match, *graphs: False]))
    0
    """
    before = set(gm.graph.nodes)
    places: list[ReplacedPatterns] = []

    def note(match: Match) -> None:
        fresh = [node for node in gm.graph.nodes if node not in before]
        before.update(fresh)
        places.append(ReplacedPatterns(match.anchor, match.nodes_map, fresh))

    _replaced(gm, pattern, replacement, match_filters, ignore_literals, note)
    return places


def _replaced(
    gm: GraphModule, pattern: Any, replacement: Any, filters: Sequence[Filter], ignore_literals: bool = False,
    note: Callable[[Match], Any] = lambda match: None,
) -> list[Match]:  # fmt: skip
    pattern_graph, new_graph = _graph_of(pattern), _graph_of(replacement)
    inputs = [n for n in pattern_graph.nodes if n.op == "placeholder"]
    new_inputs = [n for n in new_graph.nodes if n.op == "placeholder"]
    if len(inputs) != len(new_inputs):
        raise ValueError(f"the pattern takes {len(inputs)} arguments, its replacement {len(new_inputs)}")
    wanted = pattern_graph.output_node().args[0]
    if not isinstance(wanted, Node):
        raise ValueError("a pattern returns one value")
    matches: list[Match] = []
    taken: set[Node] = set()
    for match in _places(gm.graph, pattern_graph, wanted, ignore_literals):
        inside = match.inside()
        if not taken & inside and all(passes(match, gm.graph, pattern_graph) for passes in filters):
            taken |= inside
            matches.append(match)
    for match in matches:
        _replace(gm.graph, match, dict(zip(new_inputs, (match.nodes_map[n] for n in inputs), strict=True)), new_graph)
        note(match)
    gm.recompile()
    return matches


def _places(graph: Graph, pattern: Graph, wanted: Node, ignore_literals: bool) -> Iterator[Match]:
    """Wherever a pattern is found, whether places overlap or not."""
    for node in list(graph.nodes):
        mapping = _Mapping(ignore_literals)
        if not node.is_erased and _matched(wanted, node, mapping) and _is_closed(pattern, mapping, node):
            yield Match(node, mapping)


def _replace(graph: Graph, match: Match, values: dict[Node, Any], new_graph: Graph) -> None:
    with graph.inserting_before(match.anchor):
        result = graph.graph_copy(new_graph, values)
    match.anchor.replace_all_uses_with(result)
    order = {node: k for k, node in enumerate(graph.nodes)}
    for node in sorted(match.inside(), key=lambda one: -order[one]):
        if not node.users:
            graph.erase_node(node)
