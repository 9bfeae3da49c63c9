"""Checks a graph against the rules of the IR, collects everything wrong and shows it beside the nodes.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x):\\n  %y = prim::If(%x)\\n    block0():\\n      -> (%x)\\n  return (%y)")
>>> print(*(f.text for f in findings(graph)), sep="\\n")
the condition of prim::If is a bool, not Tensor
prim::If has two blocks, not 1
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH, print_graph
from flambeau.ir.uses import Use
from flambeau.ir.verify_nodes import check_node
from flambeau.util.depth import deep_recursion
from flambeau.util.errors import VerifyError


class Finding(NamedTuple):
    """One violation. For a graph as a whole `node` is its return."""

    node: Node
    text: str


def verify(graph: Graph, *, operators: bool = True, stage: str = "") -> None:
    """Raise VerifyError with the annotated text of the graph if it breaks any rule.

    With `operators`, calls of operators that are not declared, or that fit none of their schemas, count too. `stage`
    says in the error who made the graph.
    """
    violations = findings(graph, operators=operators)
    if not violations:
        return
    notes: dict[Node, list[str]] = {}
    for finding in violations:
        notes.setdefault(finding.node, []).append(finding.text)
    shown = print_graph(graph, note=lambda node: notes.pop(node, ()))
    left = "".join(f"^^^ {text}\n" for texts in notes.values() for text in texts)
    after = f" after {stage}" if stage else ""
    count = "1 violation" if len(violations) == 1 else f"{len(violations)} violations"
    raise VerifyError(f"the graph is not valid{after}: {count}\n{shown}{left}")


@deep_recursion()
def findings(graph: Graph, *, operators: bool = True) -> list[Finding]:
    """Every violation, in program order."""
    return list(_Verifier(graph, operators).run())


class _Verifier:
    def __init__(self, graph: Graph, operators: bool) -> None:
        self._graph = graph
        self._operators = operators
        self._visible: set[Value] = set()
        self._names: dict[str, Value] = {}
        self._nodes: set[Node] = set()

    def run(self) -> Iterator[Finding]:
        yield from self._block(self._graph.body, None)
        yield from self._use_lists()

    def _block(self, block: Block, owner: Node | None) -> Iterator[Finding]:
        end = block.return_node
        if block.graph is not self._graph or block.owner_node is not owner:
            yield Finding(owner or end, "a block says it belongs to another graph or node")
        entered: list[Value] = []
        for index, value in enumerate(block.parameters):
            yield from self._defined(value, owner or end, entered, value.block is block and value.index == index)
        previous: Node | None = None
        for node in block:
            yield from self._links(node, block, previous)
            yield from self._node(node)
            for index, value in enumerate(node.results):
                yield from self._defined(value, node, entered, value.defining_node is node and value.index == index)
            previous = node
        yield from self._operands(end)
        self._nodes.add(end)
        self._visible.difference_update(entered)

    def _links(self, node: Node, block: Block, previous: Node | None) -> Iterator[Finding]:
        if node.graph is not self._graph or node.owner_block is not block:
            yield Finding(node, f"{node.op} says it belongs to another graph or block")
        if node.previous is not previous or (previous is not None and not previous.is_before(node)):
            yield Finding(node, f"{node.op} is wrongly linked to the node before it")

    def _node(self, node: Node) -> Iterator[Finding]:
        self._nodes.add(node)
        yield from self._operands(node)
        for text in check_node(node, self._operators):
            yield Finding(node, text)
        for block in node.nested_blocks:
            yield from self._block(block, node)
        subgraph = node.attributes.get(SUBGRAPH)
        if isinstance(subgraph, Graph):
            for finding in findings(subgraph, operators=self._operators):
                yield Finding(node, f"in its subgraph, {finding.node.op}: {finding.text}")

    def _operands(self, node: Node) -> Iterator[Finding]:
        for index, value in enumerate(node.operands):
            if value not in self._visible:
                yield Finding(node, f"operand {index}, %{value.name}, is not defined before it")
            if Use(node, index) not in value._uses:
                yield Finding(node, f"operand {index}, %{value.name}, does not know of this use")

    def _defined(self, value: Value, node: Node, entered: list[Value], is_in_place: bool) -> Iterator[Finding]:
        if not is_in_place:
            yield Finding(node, f"%{value.name} says it is defined elsewhere")
        if value.name in self._names:
            yield Finding(node, f"%{value.name} is the name of two values")
        if value.has_name and self._graph._names.get(value.name) is not value:
            yield Finding(node, f"the graph does not know the name of %{value.name}")
        self._names[value.name] = value
        self._visible.add(value)
        entered.append(value)

    def _use_lists(self) -> Iterator[Finding]:
        """Uses by nodes that are gone or use something else."""
        for value in self._names.values():
            for user, offset in value.uses():
                if user not in self._nodes:
                    where = value.defining_node if value.defining_node is not None else self._graph.body.return_node
                    yield Finding(where, f"%{value.name} is used by a {user.op} that is not in the graph")
                elif offset >= len(user.operands) or user.operand(offset) is not value:
                    yield Finding(user, f"%{value.name} takes itself for operand {offset}, which it is not")
