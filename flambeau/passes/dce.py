"""Remove what nobody needs.

```
%a : Tensor = aten::mul(%x, %x)            return (%x)
%b : Tensor = aten::relu_(%a)       →
return (%x)
```

A node stays if the outside sees it (it prints, raises, draws random numbers, writes memory that escapes), if a node
that stays uses its result, or if it writes memory that such a node may look at. Results of branches and values
carried through loops go too. A failing operator whose result nobody uses is removed with its failure, but from the
body of a `try`.
"""

from __future__ import annotations

from flambeau.analysis.effects import own_effect, own_may_raise, own_writes
from flambeau.analysis.manager import alias_analysis
from flambeau.analysis.memory import Location
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.walk import nodes_within
from flambeau.schema.opdef import Effect


def do(graph: Graph, *, keeps_writes: bool = False) -> bool:
    """Remove dead nodes, results of `prim::If`, carried values, at every depth and in subgraphs; with `keeps_writes`
    nothing that writes memory, which needs no look at who shares it.
    """
    changed = False
    nodes = graph.listed_nodes()
    for node in nodes:
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph):
            changed |= do(inner, keeps_writes=keeps_writes)
    return _Liveness(graph, nodes, keeps_writes).sweep() or changed


class _Liveness:
    """Marks what is needed, from the outside in, then removes the rest."""

    def __init__(self, graph: Graph, nodes: list[Node], keeps_writes: bool) -> None:
        self._graph = graph
        self._all = nodes
        """Every node at every depth, outer before inner."""
        self._nodes: set[Node] = set()
        self._values: set[Value] = set()
        self._waiting: list[Value] = []
        for value in graph.returns:
            self._value(value)
        writing: list[Node] = []
        for node in nodes:
            if node.op == CONSTANT:
                continue  # which most nodes are
            if own_effect(node) is not Effect.NONE or (graph.keeps_errors and own_may_raise(node)):
                self._node(node)
            elif own_writes(node):
                if keeps_writes:
                    self._node(node)
                else:
                    writing.append(node)
        self._drain()
        if writing:
            self._mark_writers(writing)

    def _mark_writers(self, writing: list[Node]) -> None:
        """Mark the nodes that write memory which the outside, or a node that stays, may look at."""
        alias = alias_analysis(self._graph)
        written = {node: alias.writes(node) for node in writing}
        left = [n for n in writing if n not in self._nodes]
        seen: set[Location] = set()
        looked_at: set[Value] = set()
        while left:
            seen |= alias.reach(self._values - looked_at)
            looked_at |= self._values
            # Memory that the outside cannot reach is seen under no other name.
            needed = [n for n in left if any(p.escaped or p in seen for p in written[n])]
            if not needed:
                return
            for node in needed:
                self._node(node)
            self._drain()
            left = [n for n in left if n not in self._nodes]

    def _value(self, value: Value) -> None:
        if value not in self._values:
            self._values.add(value)
            self._waiting.append(value)

    def _node(self, node: Node) -> None:
        """A node must run, and so must the control flow around it."""
        if node in self._nodes:
            return
        self._nodes.add(node)
        if node.op == "prim::If":
            self._value(node.operand(0))
        elif node.op == "prim::Loop":
            self._value(node.operand(0))
            self._value(node.operand(1))
            self._value(node.nested_blocks[0].returns[0])
        else:
            for inner in nodes_within(node) if node.nested_blocks else (node,):
                self._nodes.add(inner)
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

    # -- removal ------------------------------------------------------------------------------------------------------

    def sweep(self) -> bool:
        """Remove what was not marked; whether there was any."""
        dead = [n for n in self._all if n not in self._nodes]
        for node in dead:
            node.set_operands(())
            for block in node.nested_blocks:
                block.return_node.set_operands(())
        changed = bool(dead)
        unneeded = {n: self._unneeded(n) for n in self._all if n in self._nodes and n.op in ("prim::If", "prim::Loop")}
        # All uses go before any definition: a loop in a loop may hand a dead value to and fro.
        for node, indices in unneeded.items():
            _drop_uses(node, indices)
        for node, indices in unneeded.items():
            _drop_definitions(node, indices)
            changed = changed or bool(indices)
        for node in reversed(dead):
            node.erase()
        return changed

    def _unneeded(self, node: Node) -> list[int]:
        """The results of live control flow that nobody needs, the last first."""
        is_loop = node.op == "prim::Loop"
        return [
            index
            for index in reversed(range(len(node.results)))
            if node.result(index) not in self._values
            and not (is_loop and node.nested_blocks[0].parameters[index + 1] in self._values)
        ]


def _drop_uses(node: Node, indices: list[int]) -> None:
    offset = 1 if node.op == "prim::Loop" else 0
    for index in indices:
        for block in node.nested_blocks:
            block.remove_return(index + offset)
        if offset:
            node.remove_operand(index + 2)


def _drop_definitions(node: Node, indices: list[int]) -> None:
    for index in indices:
        node.remove_result(index)
        if node.op == "prim::Loop":
            node.nested_blocks[0].remove_parameter(index + 1)
