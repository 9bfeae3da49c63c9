"""Copies of graphs, blocks and nodes.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  return (%y)")
>>> str(clone_graph(graph)) == str(graph)
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.util.depth import deep_recursion

Copies = dict[Value, Value]
"""From each value to its copy; filled while copying. A value that is missing is used as it is."""


@deep_recursion()
def clone_graph(graph: Graph, copies: Copies | None = None) -> Graph:
    """A graph with the same text, numbers of unnamed values included. `copies` then tells which value became which.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> copy = clone_graph(graph)
    >>> str(copy) == str(graph), copy is graph
    (True, False)
    """
    copies = {} if copies is None else copies
    new = Graph(graph.name)
    new.keeps_errors = graph.keeps_errors
    clone_block(graph.body, new.body, copies)
    for old, copy in copies.items():
        if not old.has_name and copy.owner_block.graph is new:
            new.number(copy, old.number)
    return new


def clone_block(source: Block, target: Block, copies: Copies) -> None:
    """Append copies of the parameters, nodes and returns of `source` to the empty block `target`."""
    for parameter in source.parameters:
        copies[parameter] = target.add_parameter(parameter.static_type, parameter._name)
    clone_nodes(source, target, copies)
    for value in source.returns:
        target.add_return(copies.get(value, value))


def clone_nodes(source: Block, target: Block, copies: Copies) -> None:
    """Append copies of the nodes of `source` to `target`."""
    for node in source.own_nodes():
        target.append(clone_node(node, target.graph, copies))


def clone_node(node: Node, graph: Graph, copies: Copies, *, with_blocks: bool = True) -> Node:
    """A copy in no block, with copies of the nested blocks, unless told otherwise, and of subgraphs. Constants are
    shared with the original."""
    new = Node(graph, node.op)
    new.copy_metadata(node)
    if node.attributes:
        new.attributes = {name: _clone_attribute(value) for name, value in node.attributes.items()}
    new.set_operands([copies.get(value, value) for value in node._operands])
    for value in node.results:
        copies[value] = new.add_result(value.static_type, value._name)
    if [v.static_type for v in new._operands] == [v.static_type for v in node._operands]:
        new._definition = node._definition
    if with_blocks:
        for block in node.nested_blocks:
            clone_block(block, new.add_block(), copies)
    return new


def _clone_attribute(value: Any) -> Any:
    return clone_graph(value) if isinstance(value, Graph) else value


def insert_graph(graph: Graph, body: Graph, inputs: Sequence[Value], copies: Copies | None = None) -> list[Value]:
    """Copy the nodes of `body` to the insertion point of `graph`, its parameters being `inputs`; the returned values.

    Raises ValueError unless there is an input per parameter.
    """
    if len(inputs) != len(body.parameters):
        raise ValueError(f"the graph takes {len(body.parameters)} inputs but was given {len(inputs)}")
    copies = {} if copies is None else copies
    copies.update(zip(body.parameters, inputs, strict=True))
    for node in body.body.own_nodes():
        graph.insert_node(clone_node(node, graph, copies))
    return [copies[v] for v in body.returns]


def move_nodes(source: Block, anchor: Node, replacements: Copies | None = None) -> list[Value]:
    """Move all nodes of `source` to before `anchor`, its parameters replaced; the values it returned."""
    for parameter, value in (replacements or {}).items():
        parameter.replace_uses_with(value)
    for node in source.own_nodes():
        node.move_before(anchor)
    return list(source.returns)
