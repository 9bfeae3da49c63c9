"""Where a piece of a graph is found in another graph.

>>> import flambeau
>>> from flambeau import fx
>>> pattern = fx.symbolic_trace(lambda x: flambeau.relu(x)).graph
>>> graph = fx.symbolic_trace(lambda x: flambeau.relu(x) + flambeau.relu(x * 2)).graph
>>> [match.returning_nodes for match in SubgraphMatcher(pattern).match(graph)]
[[relu], [relu_1]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from flambeau.fx.graph import Graph
from flambeau.fx.node import Node
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

NO_RESULT: Final = "SubgraphMatcher cannot be initialized with an pattern without nodes that it returns"
_LITERALS: Final = (bool, int, float, complex, str)


@dataclass
class InternalMatch:
    """One place where a pattern was found."""

    anchors: list[Node]
    """The nodes of the pattern that the search began with: what it returns."""
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    """What each node of the pattern stands for."""
    placeholder_nodes: list[Any] = field(default_factory=list)
    """What its arguments stand for."""
    returning_nodes: list[Node] = field(default_factory=list)
    """What the nodes that it returns stand for."""
    name_node_map: dict[str, Any] = field(default_factory=dict)
    """What nodes of the pattern stand for, by their names."""

    def inside(self) -> set[Node]:
        """The nodes of the graph that the pattern covers, without what its arguments stand for."""
        kinds = ("placeholder", "output")
        return {v for p, v in self.nodes_map.items() if p.op not in kinds and isinstance(v, Node)}


class SubgraphMatcher:
    """Finds a pattern in graphs: what it calls, and how values go from call to call.

    Args:
        pattern: its placeholders stand for anything, each for something else.
        match_output: whether what the pattern returns is what the graph returns.
        match_placeholder: whether its placeholders stand for placeholders alone.
        remove_overlapping_matches: whether of places that share nodes the first one counts alone.
        ignore_literals: whether numbers and texts in it stand for any others.

    Raises ValueError for a pattern that returns no node.

    >>> from flambeau import fx
    >>> negated = fx.symbolic_trace(lambda x: x.neg()).graph
    >>> len(SubgraphMatcher(negated).match(negated))
    1
    """

    def __init__(
        self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
        remove_overlapping_matches: bool = True, ignore_literals: bool = False,
    ) -> None:  # fmt: skip
        output = pattern.output_node()
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        alone = [n for n in self.pattern_returning_nodes if len(n.users) == 1]
        self.pattern_anchors = [output] if match_output else alone
        if not self.pattern_anchors:
            raise ValueError(NO_RESULT)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places in a graph, in the order of their last nodes.

        Args:
            graph: where the pattern is looked for.
            node_name_match: accepted; a text that is no part of the search.
        """
        matches = [m for m in self._candidates(list(graph.nodes), self.pattern_anchors, {}) if self._is_closed(m)]
        if not self.remove_overlapping_matches:
            return matches
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in matches:
            if not taken & match.inside():
                taken |= match.inside()
                kept.append(match)
        return kept

    def _candidates(
        self, nodes: list[Node], anchors: Sequence[Node], mapping: dict[Node, Any]
    ) -> Iterator[InternalMatch]:
        """The places where all anchors are found, given what is known of the first of them."""
        if not anchors:
            yield self._finished(mapping)
            return
        first, *others = anchors
        for node in [mapping[first]] if first in mapping else nodes:
            trial = dict(mapping)
            if self._matched(first, node, trial):
                yield from self._candidates(nodes, others, trial)

    def _finished(self, mapping: dict[Node, Any]) -> InternalMatch:
        return InternalMatch(
            self.pattern_anchors,
            mapping,
            [mapping[n] for n in self.pattern_placeholder_nodes if n in mapping],
            [mapping[n] for n in self.pattern_returning_nodes if n in mapping],
            {node.name: value for node, value in mapping.items()},
        )

    def _is_closed(self, match: InternalMatch) -> bool:
        """Whether nobody besides uses what the pattern computes in between."""
        inside, results = match.inside(), {*match.returning_nodes}
        allowed = inside | {v for p, v in match.nodes_map.items() if p.op == "output"}
        reads = {v for p, v in match.nodes_map.items() if p.op == "get_attr"}
        return all(node in results or node in reads or set(node.users) <= allowed for node in inside)

    def _matched(self, pattern: Any, value: Any, mapping: dict[Node, Any]) -> bool:
        """Whether a value of the graph is as the pattern says; notes what stands for what."""
        if isinstance(pattern, Node):
            return self._node_matched(pattern, value, mapping)
        if isinstance(pattern, tuple | list):
            is_same = isinstance(value, tuple | list) and len(pattern) == len(value)
            return is_same and all(self._matched(p, v, mapping) for p, v in zip(pattern, value, strict=True))
        if isinstance(pattern, dict):
            is_same = isinstance(value, dict) and pattern.keys() == value.keys()
            return is_same and all(self._matched(pattern[key], value[key], mapping) for key in pattern)
        if self.ignore_literals and isinstance(pattern, _LITERALS):
            return isinstance(value, _LITERALS)
        return type(pattern) is type(value) and bool(pattern == value)

    def _node_matched(self, pattern: Node, value: Any, mapping: dict[Node, Any]) -> bool:
        if pattern in mapping:
            return mapping[pattern] is value
        is_node = isinstance(value, Node)
        if is_node and any(one is value for one in mapping.values()):
            return False
        if pattern.op == "placeholder":
            if self.match_placeholder and not (is_node and value.op == "placeholder"):
                return False
            mapping[pattern] = value
            return True
        if not is_node or not self._is_alike(pattern, value):
            return False
        mapping[pattern] = value
        return self._matched(pattern.args, value.args, mapping) and self._matched(pattern.kwargs, value.kwargs, mapping)

    def _is_alike(self, pattern: Node, node: Node) -> bool:
        """Whether two nodes do the same, whatever they do it with."""
        if pattern.op != node.op:
            return False
        if pattern.op == "output":
            return True
        if pattern.op in ("get_attr", "call_module"):
            return _are_alike(_attribute(pattern), _attribute(node), pattern.target == node.target)
        return bool(pattern.target == node.target)


def _attribute(node: Node) -> Any:
    """What a node names in its module; None where it is not there."""
    value = node.graph.owning_module
    for name in node.target.split("."):
        value = getattr(value, name, None)
    return value


def _are_alike(one: Any, other: Any, by_name: bool) -> bool:
    """Whether what two nodes name may stand for each other: tensors, and modules of one class, by the same name or
    without parameters; what is not there by its name alone."""
    if one is None or other is None:
        return by_name
    if isinstance(one, Module):
        is_plain = not any(True for _ in one.parameters()) and repr(one) == repr(other)
        return type(one) is type(other) and (by_name or is_plain)
    return isinstance(one, Tensor) and isinstance(other, Tensor)
