"""What a graph consists of at a moment, to tell later whether somebody changed it.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  return (%y)")
>>> before = snapshot(graph)
>>> is_same(before, snapshot(graph))
True
>>> graph.body.return_node.set_operands([graph.parameters[0]])
>>> is_same(before, snapshot(graph))
False

It holds the very objects: a constant that an equal one has taken the place of counts as changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ir.graph import Graph
from flambeau.ir.walk import blocks
from flambeau.schema.types import Type


def snapshot(graph: Graph) -> list[object]:
    """Blocks, nodes, values with their types, and attributes, in program order."""
    parts: list[object] = []
    for block in blocks(graph.body):
        parts.append(block)
        parts += block.parameters
        parts += [value.static_type for value in block.parameters]
        for node in block:
            parts += (node, node.op, *node.operands, *node.results)
            parts += [value.static_type for value in node.results]
            for name, attribute in node.attributes.items():
                parts += (name, attribute)
                if isinstance(attribute, Graph):
                    parts += snapshot(attribute)
        parts += block.returns
    return parts


def is_same(before: Sequence[object], after: Sequence[object]) -> bool:
    """Whether nothing changed between two snapshots."""
    return len(before) == len(after) and all(map(_is_same, before, after))


def _is_same(before: object, after: object) -> bool:
    return before is after or (isinstance(before, Type) and before == after)
