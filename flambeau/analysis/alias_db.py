"""What may share memory, as TorchScript's users ask for it: `graph.alias_db().may_contain_alias(a, b)`."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.topological_moves import move_after, move_before
from flambeau.ir.graph import Graph, Node, Value


class AliasDb:
    """What may share memory in a graph as it was when this was made.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x : Tensor, %d : int):\\n  %y : Tensor = aten::select(%x, %d, %d)\\n  return (%y)")
    >>> AliasDb(graph).may_contain_alias(graph.parameters[0], graph.returns[0])
    True
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._aliases = AliasAnalysis(graph)

    def may_contain_alias(self, a: Value | Sequence[Value], b: Value | Sequence[Value]) -> bool:
        """Whether anything in or at one may be anything in or at the other."""
        return self._aliases.may_contain_alias(a, b)

    def has_writers(self, value: Value | Node) -> bool:
        """Whether any node may write to the value, or to an operand or result of the node, or to something in it."""
        if isinstance(value, Node):
            return any(map(self._aliases.has_writers, (*value.operands, *value.results)))
        return self._aliases.has_writers(value)

    def move_after_topologically_valid(self, node: Node, anchor: Node) -> bool:
        """Move a node to right behind another; whether that was possible.

        What lies between and shares data, memory or effects with it comes along, in order.
        """
        return move_after(self._aliases, node, anchor)

    def move_before_topologically_valid(self, node: Node, anchor: Node) -> bool:
        """Move a node to right before another, as `move_after_topologically_valid` does."""
        return move_before(self._aliases, node, anchor)

    def dump(self) -> None:
        """Print what may share memory."""
        print(self, end="")

    def to_graphviz_str(self) -> str:
        """A picture in the language of Graphviz: an edge joins two values that may be the same memory."""
        values = self._memory_values()
        lines = ["digraph alias_db {", '  rankdir = "LR"', *(f'  "%{v.name}"' for v in values)]
        for a, b in self._aliased_pairs():
            lines.append(f'  "%{a.name}" -> "%{b.name}" [dir="none"]')
        escaping = [v for v in values if self._aliases.escapes(v)]
        lines += [f'  "%{v.name}" -> "WILDCARD for type {v.static_type}"' for v in escaping]
        return "\n".join([*lines, "}"]) + "\n"

    def __str__(self) -> str:
        lines = ["===1. GRAPH===", str(self._graph), "===2. ALIAS DB==="]
        pairs = self._aliased_pairs()
        for value in self._memory_values():
            others = [b.name for a, b in pairs if a is value] + [a.name for a, b in pairs if b is value]
            points = [f"%{name}" for name in others] + ["WILDCARD"] * self._aliases.escapes(value)
            writers = ", ".join(n.op for n in self._aliases.writers(value))
            targets = ", ".join(points) or "itself alone"
            lines.append(f"%{value.name} may be {targets}; written by {writers or 'nobody'}")
        return "\n".join(lines) + "\n"

    def _memory_values(self) -> list[Value]:
        """The values that are memory."""
        results = [v for node in self._graph.all_nodes() for v in node.results]
        return [v for v in (*self._graph.parameters, *results) if self._aliases.locations(v)]

    def _aliased_pairs(self) -> list[tuple[Value, Value]]:
        values = self._memory_values()
        return [(a, b) for i, a in enumerate(values) for b in values[i + 1 :] if self._aliases.may_alias(a, b)]
