"""Ways through nested blocks.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%c : bool, %x):\\n  %y = prim::If(%c)\\n    block0():\\n      %z = aten::neg(%x)\\n"
...                  "      -> (%z)\\n    block1():\\n      -> (%x)\\n  return (%y)")
>>> inner = graph.find("aten::neg")
>>> ancestor_in(inner, graph.body).op, len(list(blocks(graph.body)))
('prim::If', 3)
"""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH

__all__ = [
    "ancestor_in",
    "blocks",
    "is_visible",
    "nodes_within",
    "operands_within",
    "outer_values",
    "subgraphs",
]


def blocks(block: Block) -> Iterator[Block]:
    """The block and every block nested in it, outer before inner.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%c : bool, %x):\\n  %y = prim::If(%c)\\n    block0():\\n      -> (%x)\\n"
    ...                  "    block1():\\n      -> (%c)\\n  return (%y)")
    >>> len(list(blocks(graph.body)))
    3
    """
    yield block
    for node in block.walk():
        yield from node.nested_blocks


def nodes_within(node: Node) -> list[Node]:
    """The node, every node nested in it, and the returns of the blocks in it.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%c : bool, %x):\\n  %y = prim::If(%c)\\n    block0():\\n      -> (%x)\\n"
    ...                  "    block1():\\n      -> (%c)\\n  return (%y)")
    >>> [node.op for node in nodes_within(graph.find('prim::If'))]
    ['prim::If', 'prim::Return', 'prim::Return']
    """
    nodes = [node]
    for block in node.nested_blocks:
        inner = block._first
        while inner._next is not None:  # nothing follows the return of a block
            nodes += nodes_within(inner) if inner.nested_blocks else (inner,)
            inner = inner._next
        nodes.append(block.return_node)
    return nodes


def operands_within(node: Node) -> Iterator[Value]:
    """Every operand of the node and of what is nested in it.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%c : bool, %x):\\n  %y = prim::If(%c)\\n    block0():\\n      -> (%x)\\n"
    ...                  "    block1():\\n      -> (%c)\\n  return (%y)")
    >>> [value.name for value in operands_within(graph.find('prim::If'))]
    ['c', 'x', 'c']
    """
    for inner in nodes_within(node):
        yield from inner.operands


def ancestor_in(node: Node, block: Block) -> Node | None:
    """The node of `block` that is `node` or holds it; None if it lies elsewhere.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> node = graph.find('aten::neg')
    >>> ancestor_in(node, graph.body) is node
    True
    """
    current: Node | None = node
    while current is not None and current.is_inserted:
        if current.owner_block is block:
            return current
        current = current.owner_block.owner_node
    return None


def is_visible(value: Value, node: Node) -> bool:
    """Whether `node` may use `value`: it is defined before it, in its block or one around it.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> node = graph.find('aten::neg')
    >>> is_visible(graph.parameters[0], node), is_visible(node.result(), node)
    (True, False)
    """
    at = ancestor_in(node, value.owner_block)
    if at is None:
        return False
    return value.defining_node is None or (value.defining_node is not at and value.defining_node.is_before(at))


def is_within(block: Block | None, outer: Block) -> bool:
    """Whether a block is another one, or lies in it."""
    while block is not None and block is not outer:
        block = None if block.owner_node is None else block.owner_node.owner_block
    return block is outer


def outer_values(node: Node) -> list[Value]:
    """The values from outside that the blocks of a node use, each once, in order of use.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%c : bool, %x):\\n  %y = prim::If(%c)\\n    block0():\\n      -> (%x)\\n"
    ...                  "    block1():\\n      -> (%c)\\n  return (%y)")
    >>> [value.name for value in outer_values(graph.find('prim::If'))]
    ['x', 'c']
    """
    inside: set[Value] = set()
    for block in node.nested_blocks:
        for inner_block in blocks(block):
            inside.update(inner_block.parameters)
            for inner in inner_block:
                inside.update(inner.results)
    used = (v for block in node.nested_blocks for inner in [*block, block.return_node] for v in operands_within(inner))
    return list(dict.fromkeys(v for v in used if v not in inside))


def subgraphs(graph: Graph) -> Iterator[Graph]:
    """The graph and every subgraph of a node in it, at any depth.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> len(list(subgraphs(graph)))
    1
    """
    yield graph
    for node in graph.all_nodes():
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph):
            yield from subgraphs(inner)
