"""Writes to arrays from parts of the same memory, which NumPy reads as a whole before it writes.

y = x[:-1]          %y = aten::slice(%x, ...)
x[1:] += y    →     %c = aten::clone(%y)    aten::add_(aten::slice(%x, ...), %c)

Only what the graph knows to be of one array is copied: parameters are taken to be memory of their own, as what one
call is given overlaps seldom, and is looked at when it runs.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.array_type import ArrayType


def operands_shown(graph: Graph) -> list[tuple[Node, int]]:
    """The operands that are arrays which others may show, of nodes that write their first one."""
    return [(node, k) for node in graph.all_nodes() for k in _operands_read(node)]


def read_before_written(graph: Graph, shown: list[tuple[Node, int]]) -> None:
    """Copy those of these operands that are parts of the array that is written; values are tensors by now."""
    if not shown:
        return
    aliases = AliasAnalysis(graph, apart=True)
    copied = [(node, k) for node, k in shown if _is_of_one_array(aliases, node.operand(0), node.operand(k))]
    for node, k in copied:
        with graph.inserting(node):
            operands = [node.operand(k), insert_constant(graph, None)]
            copy = graph.insert("aten::clone", operands, [node.operand(k).static_type])
        copy.range, copy.call_chain = node.range, node.call_chain
        node.replace_operand(k, copy.result())


def _operands_read(node: Node) -> list[int]:
    """Which operands of a node that writes its first one are arrays that others may show."""
    definition = node.definition
    if definition is None or not node.operands or not isinstance(node.operand(0).static_type, ArrayType):
        return []
    if not definition.schema.arguments:  # what takes anything writes nothing
        return []
    alias = definition.schema.arguments[0].alias
    if alias is None or not alias.is_write:
        return []
    target = node.operand(0)
    return [k for k in range(1, len(node.operands)) if node.operand(k) is not target and _may_be_shown(node.operand(k))]


def _may_be_shown(value: Value) -> bool:
    """Whether an array with dimensions is not what an operator just made."""
    if not isinstance(value.static_type, ArrayType) or value.static_type.rank == 0:
        return False
    node = value.defining_node
    definition = None if node is None else node.definition
    return definition is None or any(r.alias is not None for r in definition.schema.returns)


def _is_of_one_array(aliases: AliasAnalysis, target: Value, source: Value) -> bool:
    """Whether two values may be parts of memory that the graph knows."""
    return any(not location.escaped for location in aliases.locations(target) & aliases.locations(source))
