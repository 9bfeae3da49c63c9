"""Finding pieces of a graph that look like a pattern, itself a graph.

>>> from flambeau.ir import parse_ir
>>> pattern = parse_ir("graph(%a, %b):\\n  %m = aten::mm(%a, %b)\\n  %r = aten::relu(%m)\\n  return (%r)")
>>> graph = parse_ir("graph(%x, %y):\\n  %1 = aten::mm(%y, %x)\\n  %2 = aten::relu(%1)\\n  return (%2)")
>>> [found.values[pattern.parameters[0]].name for found in find_matches(pattern, graph)]
['y']

A pattern has one result. Its constants match equal constants, its attributes equal attributes; what only the pattern's
own nodes use must, in the graph, be used only by the nodes matched, so that a match can be replaced as a whole.
"""

from __future__ import annotations

from flambeau.ir.constants import CONSTANT, same_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.util.record import dataclass, field


@dataclass
class Match:
    """Where a pattern was found."""

    anchor: Node
    """The node that gives the pattern's result."""
    values: dict[Value, Value] = field(default_factory=dict)
    """From the pattern's values to the graph's."""
    nodes: dict[Node, Node] = field(default_factory=dict)
    """From the pattern's nodes to the graph's, constants included."""


def find_matches(pattern: Graph, graph: Graph) -> list[Match]:
    """Matches that share no node (constants apart), in program order. Raises ValueError for a pattern without nodes."""
    if len(pattern.returns) != 1 or pattern.returns[0].defining_node is None:
        raise ValueError("a pattern returns one value, made by one of its nodes")
    matches: list[Match] = []
    taken: set[Node] = set()
    for node in graph.body.walk():
        result = pattern.returns[0]
        assert result.defining_node is not None
        if node.op != result.defining_node.op or node in taken:
            continue
        match = _Matcher(pattern).match(node)
        if match is None:
            continue
        mine = {n for n in match.nodes.values() if n.op != CONSTANT}
        if not mine & taken:
            taken |= mine
            matches.append(match)
    return matches


class _Matcher:
    def __init__(self, pattern: Graph) -> None:
        self._pattern = pattern
        self._result = pattern.returns[0]

    def match(self, anchor: Node) -> Match | None:
        match = Match(anchor)
        assert self._result.defining_node is not None
        if not self._node(self._result.defining_node, anchor, match):
            return None
        return match if self._is_closed(match) else None

    def _value(self, wanted: Value, value: Value, match: Match) -> bool:
        known = match.values.get(wanted)
        if known is not None:
            return known is value
        if wanted.defining_node is None:
            match.values[wanted] = value
            return True
        if value.defining_node is None or value.index != wanted.index:
            return False
        return self._node(wanted.defining_node, value.defining_node, match)

    def _node(self, wanted: Node, node: Node, match: Match) -> bool:
        known = match.nodes.get(wanted)
        if known is not None:
            return known is node
        if (
            wanted.op != node.op
            or len(wanted.operands) != len(node.operands)
            or wanted.nested_blocks
            or node.nested_blocks
        ):
            return False
        if len(wanted.results) != len(node.results) or wanted.attributes.keys() != node.attributes.keys():
            return False
        if not all(same_constant(value, node.attributes[name]) for name, value in wanted.attributes.items()):
            return False
        match.nodes[wanted] = node
        for mine, theirs in zip(wanted.results, node.results, strict=True):
            match.values[mine] = theirs
        return all(self._value(w, g, match) for w, g in zip(wanted.operands, node.operands, strict=True))

    def _is_closed(self, match: Match) -> bool:
        """Whether what the pattern does not return is used by the matched nodes alone."""
        matched = set(match.nodes.values())
        inner = (v for node in match.nodes if node.op != CONSTANT for v in node.results if v is not self._result)
        same_block = all(n.owner_block is match.anchor.owner_block for n in matched if n.op != CONSTANT)
        return same_block and all(use.user in matched for v in inner for use in match.values[v].uses())
