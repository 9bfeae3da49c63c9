"""Losses that pick a class of each row, as operators that kernels contain, where gradients go back through them.

```
%l : Float() = aten::nll_loss_nd(%x, %t, %none, %mean, %ignore)
        →
%hit : Bool(*, *) = aten::eq(%classes, %column)           # which class each row names
%kept : Float(*, *) = aten::where(%hit, %x, %zero)
%chosen : Float(*) = aten::sum(%kept, %dims, %no, %none)
...
```

Rows are read as a whole: the logarithms of a softmax in front, the loss and the gradient become one pass over them. The
loss itself stays, of zeros that take no memory: it refuses classes that do not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.dtype import int64
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import INT, NONE, TensorType

_MEAN, _SUM = 1, 2
picked_losses: Final = RuleTable[Callable[[Builder, Node], Value]]("losses that pick a class of each row, by operators")
same_sizes: Final = RuleTable[Callable[[Node], Value]]("an operand of a row function that has the sizes of the result")


def do(graph: Graph, values: set[Value]) -> bool:
    """Decompose losses of matrices whose operands are among `values`; whether there were any."""
    nodes = [n for n in graph.listed_nodes() if n.op in picked_losses and n.operand(0) in values and _is_plain(n)]
    if not nodes:
        return False
    builder = Builder(graph, SymbolicSizes(graph))
    for node in nodes:
        with graph.inserting(node), graph.at_range(node.range):
            loss = picked_losses[node.op](builder, node)
        node.result().replace_uses_with(loss)
        node.erase()
    return True


def _is_plain(node: Node) -> bool:
    """Whether it folds the losses of the rows of a matrix, all classes of one weight."""
    rows, targets, weight, reduction, ignored = node.operands
    kinds = rows.static_type, targets.static_type
    if not all(isinstance(t, TensorType) for t in kinds):
        return False
    of_rows, of_targets = (t for t in kinds if isinstance(t, TensorType))
    if (of_rows.rank, of_targets.rank) != (2, 1) or of_targets.dtype is not int64 or of_rows.dtype is None:
        return False
    if not of_rows.dtype.is_floating_point or weight.static_type != NONE:
        return False
    is_fixed = constants.is_constant(reduction) and constants.is_constant(ignored)
    return is_fixed and constants.constant_value(reduction) in (_MEAN, _SUM)


@picked_losses("aten::nll_loss", "aten::nll_loss_nd")
def _picked(builder: Builder, node: Node) -> Value:
    """The loss by operators on whole rows.

    What is counted is asked for otherwise than what is left out, and columns keep their axis: so that the number of
    rows that count is there before the rows are gone through, which is then done once.
    """
    f = builder.operators
    rows, targets = builder.proxy(node.operand(0)), builder.proxy(node.operand(1))
    reduction, ignored = (constants.constant_value(v) for v in node.operands[3:])
    count, width = builder.proxy(_of_same_sizes(node.operand(0))).shape
    counted = f.sum(f.to(f.ne(targets, ignored), rows.dtype)) if reduction == _MEAN else None
    column = f.unsqueeze(targets, 1)
    hit = f.eq(f.reshape(_numbered(builder, width), [1, width]), column)
    chosen = f.sum(f.where(hit, rows, 0), [1], True)
    total = f.sum(f.where(f.eq(column, ignored), 0, -chosen))
    if counted is not None:
        total = total / counted
    nothing = f.expand(f.zeros([1, 1], dtype=rows.dtype), [count, width])
    value: Value = (total + f.nll_loss_nd(nothing, targets, None, _SUM, ignored)).value
    return value


def _of_same_sizes(value: Value) -> Value:
    """What a softmax was made of: its sizes are known before."""
    node = value.defining_node
    rule = None if node is None else same_sizes.get(node.op)
    return value if rule is None or node is None else rule(node)


@same_sizes("aten::log_softmax", "aten::_log_softmax")
def _of_softmax(node: Node) -> Value:
    return node.operand(0)


def _numbered(builder: Builder, count: Any) -> Any:
    """The numbers of the classes."""
    none = builder.constant(None, NONE)
    type_ = TensorType(dtype=int64, sizes=(None,))
    size = builder.value(count, INT)
    return builder.proxy(builder.graph.insert("aten::arange", [size, none, none, none, none], [type_]).result())
