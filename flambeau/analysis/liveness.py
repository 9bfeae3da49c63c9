"""Which nodes of a graph somebody needs.

A node is needed if the outside sees it (it prints, raises, draws random numbers, writes memory that escapes), if it is
marked to run for its error (`required_failures`), if a node that is needed uses its result, or if it writes memory that
such a node may look at. So are results of branches, and values carried through loops.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  %z = aten::neg(%x)\\n  return (%z)")
>>> [n.op for n in graph.nodes() if n in Liveness(graph, graph.listed_nodes()).nodes]
['aten::neg']
"""

from __future__ import annotations

from flambeau.analysis.effects import own_effect, own_may_raise, own_writes
from flambeau.analysis.manager import alias_analysis
from flambeau.analysis.memory import Location
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.kinds import REQUIRED
from flambeau.ir.walk import nodes_within
from flambeau.schema.opdef import Effect


def _runs_for_its_error(node: Node) -> bool:
    return REQUIRED in node.attributes or (node.graph.keeps_errors and own_may_raise(node))


def _is_given(value: Value) -> bool:
    """Whether it is a parameter of the graph."""
    return value.defining_node is None and value.owner_block.owner_node is None


def surely_written(node: Node) -> list[Value]:
    """The operands that an operator says it writes to, and what they are views of.

    >>> from flambeau.ir import parse_ir
    >>> text = "graph(%x : Tensor):\\n  %v : Tensor = aten::t(%x)\\n  %w : Tensor = aten::relu_(%v)\\n  return ()"
    >>> graph = parse_ir(text)
    >>> [value.name for value in surely_written(graph.find("aten::relu_"))]
    ['v', 'x']
    """
    definition = node.definition
    if definition is None:
        return []
    values: list[Value] = []
    for operand, argument in zip(node.operands, definition.schema.arguments, strict=False):
        if argument.alias is not None and argument.alias.is_write:
            shown: Value | None = operand
            while shown is not None:
                values.append(shown)
                shown = _base(shown)
    return values


def _base(view: Value) -> Value | None:
    """The operand whose memory a result is, as its operator says; None for other values."""
    node = view.defining_node
    definition = None if node is None else node.definition
    if node is None or definition is None or view.index >= len(definition.schema.returns):
        return None
    alias = definition.schema.returns[view.index].alias
    if alias is None or alias.is_wildcard or not alias.before:
        return None
    for operand, argument in zip(node.operands, definition.schema.arguments, strict=False):
        if argument.alias is not None and not alias.sets.isdisjoint(argument.alias.before):
            return operand
    return None


class Liveness:
    """Marks what is needed, from the outside in."""

    def __init__(self, graph: Graph, nodes: list[Node], *, keeps_writes: bool = False) -> None:
        """`nodes` are those of the graph at every depth, outer before inner; with `keeps_writes` all that write memory
        stay, which needs no look at who shares it.
        """
        self._graph = graph
        self.nodes: set[Node] = set()
        """What stays."""
        self.values: set[Value] = set()
        """What somebody needs."""
        self._waiting: list[Value] = []
        for value in graph.returns:
            self._value(value)
        self._writing: list[Node] = []
        """What writes memory, unless all of that stays."""
        self._written: dict[Node, list[Value]] = {}
        """Of each of these, values whose memory it surely writes, as far as somebody asked."""
        for node in nodes:
            if node.op == CONSTANT:
                continue  # which most nodes are
            if own_effect(node) is not Effect.NONE or _runs_for_its_error(node):
                self._node(node)
            elif own_writes(node):
                if keeps_writes:
                    self._node(node)
                else:
                    self._writing.append(node)
        self._settle()

    def require(self, node: Node) -> None:
        """Have a node stay, and what it needs."""
        self._node(node)
        self._settle()

    def _settle(self) -> None:
        self._drain()
        if self._writing:
            self._mark_writers(self._writing)

    def _mark_writers(self, writing: list[Node]) -> None:
        """Mark the nodes that write memory which the outside, or a node that stays, may look at."""
        left = self._mark_plain_writers(writing)
        if not left:
            return
        alias = alias_analysis(self._graph)
        written = {node: alias.writes(node) for node in left}
        seen: set[Location] = set()
        looked_at: set[Value] = set()
        while left:
            seen |= alias.reach(self.values - looked_at)
            looked_at |= self.values
            # Memory that the outside cannot reach is seen under no other name.
            needed = [n for n in left if any(p.escaped or p in seen for p in written[n])]
            if not needed:
                return
            for node in needed:
                self._node(node)
            self._drain()
            left = [n for n in left if n not in self.nodes]

    def _mark_plain_writers(self, writing: list[Node]) -> list[Node]:
        """Mark the nodes that write to what the graph was given, or to a value that somebody needs, or to a view of
        either: most do, and no alias analysis is needed to see that. Those that are left come back.
        """
        left = [n for n in writing if n not in self.nodes]
        for node in left:
            if node not in self._written:
                self._written[node] = surely_written(node)
        while left:
            needed = [n for n in left if any(v in self.values or _is_given(v) for v in self._written[n])]
            if not needed:
                break
            for node in needed:
                self._node(node)
            self._drain()
            left = [n for n in left if n not in self.nodes]
        return left

    def _value(self, value: Value) -> None:
        if value not in self.values:
            self.values.add(value)
            self._waiting.append(value)

    def _node(self, node: Node) -> None:
        """A node must run, and so must the control flow around it."""
        if node in self.nodes:
            return
        self.nodes.add(node)
        if node.op == "prim::If":
            self._value(node.operand(0))
        elif node.op == "prim::Loop":
            self._value(node.operand(0))
            self._value(node.operand(1))
            self._value(node.nested_blocks[0].returns[0])
        else:
            for inner in nodes_within(node) if node.nested_blocks else (node,):
                self.nodes.add(inner)
                for value in inner.operands:
                    self._value(value)
        owner = node.owner_block.owner_node
        if owner is not None:
            self._node(owner)

    def _drain(self) -> None:
        while self._waiting:
            value = self._waiting.pop()
            node = value.defining_node if value.defining_node is not None else value.owner_block.owner_node
            if node is None:
                continue
            self._node(node)
            if node.op == "prim::If" and value.defining_node is node:
                for block in node.nested_blocks:
                    self._value(block.returns[value.index])
            elif node.op == "prim::Loop":
                self._carried(node, value.index if value.defining_node is node else value.index - 1)

    def _carried(self, loop: Node, index: int) -> None:
        if index >= 0:
            self._value(loop.operand(index + 2))
            self._value(loop.nested_blocks[0].returns[index + 1])
            self._value(loop.nested_blocks[0].parameters[index + 1])
