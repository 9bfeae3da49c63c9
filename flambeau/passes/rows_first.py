"""Add up what follows a normalisation of rows row by row first, where all of it is added up: the kernel that goes
through the rows gives one number of each, in place of an array that another kernel reads.

```
%a = aten::layer_norm(%x, ...)            %a = aten::layer_norm(%x, ...)
%b = aten::mul(%a, %y)             →      %b = aten::mul(%a, %y)
%c = aten::sum(%b, %none)                 %r = aten::sum(%b, [-1], %false, %none)
                                          %c = aten::sum(%r, %none)
```

Means likewise: rows are of one length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.ir.constants import constant_value, insert_constant, is_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.folded import Folded, folded
from flambeau.passes.fusible import Fusible
from flambeau.schema import dtype as dtypes
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import TensorType

by_rows: Final = RuleTable[Callable[[], None]]("folds all elements as it folds the results of its folds of rows")
by_rows("aten::sum", "aten::mean")(lambda: None)
MOST: Final = 32
"""Nodes that are looked at between a normalisation and what adds up."""


def do(graph: Graph) -> bool:
    """Part all such sums; whether there were any."""
    fusible = Fusible(graph)
    parted = [(node, rows) for node in graph.listed_nodes() if (rows := _rows_of(node, fusible)) is not None]
    for node, (_, dims) in parted:
        value, none = node.operand(0), node.operand(1)
        type_ = value.static_type
        assert isinstance(type_, TensorType)
        assert type_.sizes is not None
        with graph.inserting(node), graph.at_range(node.range):
            over = insert_constant(graph, sorted(dims))
            kept = type_.refine(sizes=type_.sizes[: -len(dims)], strides=None)
            operands = [value, over, insert_constant(graph, False), none]
            node.replace_operand(0, graph.insert(node.op, operands, [kept]).result())
    return bool(parted)


def _rows_of(node: Node, fusible: Fusible) -> Folded | None:
    """The rank of what a node adds up, and the last dimensions, over which something before it has folded; None for
    what stays as it is.
    """
    if node.op not in by_rows or len(node.operands) != 2 or not is_constant(node.operand(1)):
        return None
    value = node.operand(0)
    type_ = value.static_type
    if not isinstance(type_, TensorType) or type_.dtype not in (dtypes.float32, dtypes.float64):
        return None
    if constant_value(node.operand(1)) is not None or type_.sizes is None:
        return None
    if len(value.uses()) != 1 or not fusible.is_fusible(node):
        return None
    rows = _folded_before(value, len(type_.sizes), node, fusible)
    is_folded = rows is not None and all(type_.sizes[dim] == 1 for dim in rows[1])
    return None if is_folded else rows  # numbers of rows are added up as they are


def _folded_before(value: Value, rank: int, node: Node, fusible: Fusible) -> Folded | None:
    """What the first fold of rows is over that a value comes from by operators on each element."""
    waiting, seen = [value], set[Node]()
    while waiting and len(seen) < MOST:
        maker = waiting.pop().defining_node
        if maker is None or maker in seen or maker.owner_block is not node.owner_block:
            continue
        seen.add(maker)
        if fusible.is_pointwise(maker):
            waiting += [v for v in maker.operands if isinstance(v.static_type, TensorType)]
        elif fusible.is_fusible(maker):
            rows = folded(maker)
            if rows is not None and _are_last(rows, rank):
                return rows
    return None


def _are_last(rows: Folded, rank: int) -> bool:
    """Whether dimensions are the last ones, of a tensor of a rank, but not all."""
    own_rank, dims = rows
    return own_rank == rank and 0 < len(dims) < rank and dims == frozenset(range(rank - len(dims), rank))
