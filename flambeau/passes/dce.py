"""Remove what nobody needs.

```
%a : Tensor = aten::mul(%x, %x)            return (%x)
%b : Tensor = aten::relu_(%a)       →
return (%x)
```

What stays is what `analysis.liveness` says. Results of branches and values carried through loops go too. A failing
operator whose result nobody uses is removed with its failure, but from the body of a `try`, and where the program was
written that way (`analysis.required_failures`).
"""

from __future__ import annotations

from flambeau.analysis.liveness import Liveness
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH


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
    return _Removal(graph, nodes, keeps_writes).sweep() or changed


class _Removal:
    """Removes what is not needed."""

    def __init__(self, graph: Graph, nodes: list[Node], keeps_writes: bool) -> None:
        self._all = nodes
        self._needed = Liveness(graph, nodes, keeps_writes=keeps_writes)

    def sweep(self) -> bool:
        """Remove what was not marked; whether there was any."""
        dead = [n for n in self._all if n not in self._needed.nodes]
        for node in dead:
            node.set_operands(())
            for block in node.nested_blocks:
                block.return_node.set_operands(())
        changed = bool(dead)
        control = [n for n in self._all if n in self._needed.nodes and n.op in ("prim::If", "prim::Loop")]
        unneeded = {n: self._unneeded(n) for n in control}
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
            if node.result(index) not in self._needed.values
            and not (is_loop and node.nested_blocks[0].parameters[index + 1] in self._needed.values)
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
