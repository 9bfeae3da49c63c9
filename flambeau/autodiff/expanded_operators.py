"""Operators that plans write as others, which have native forms.

```
%y = aten::triu(%x, %1)        %far = aten::lt(%distance, %1)
                          →    %y = aten::masked_fill(%x, %far, %0)
```

What stands in an operator's place follows from `ops.expansions`. Where gradients are asked for, and where a body asks
for what only the run knows, operators stay: their formulas know better what to keep.
"""

from __future__ import annotations

from typing import Any

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.proxies import TensorProxy, UntraceableError
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.ir.constants import is_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ops.expansions import expansions
from flambeau.schema.types import OptionalType, TensorType
from flambeau.util.inversions import OPERATOR_EXPANSION


@OPERATOR_EXPANSION.provide
def do(graph: Graph) -> bool:
    """Expand what can be; whether there was any."""
    found = [node for node in graph.all_nodes() if node.op in expansions and all(map(_is_known, node.operands))]
    if not found or any(_asks(v) for v in graph.parameters):
        return False
    changed = False
    for node in found:
        changed |= _expand(graph, node)
    return changed


def _expand(graph: Graph, node: Node) -> bool:
    builder = Builder(graph, SymbolicSizes(graph))
    last = node.previous
    with graph.inserting(node), graph.at_range(node.range):
        try:
            result = expansions[node.op](builder.operators, *(builder.proxy(v) for v in node.operands))
        except (UntraceableError, RuntimeError):
            result = None
    if not isinstance(result, TensorProxy):
        while node.previous is not None and node.previous is not last:
            node.previous.erase()
        return False
    old, name = node.result(), node.result().name if node.result().has_name else ""
    old.replace_uses_with(result.value)
    node.erase()
    if name and not result.value.has_name:
        graph.rename(result.value, name)
    return True


def _is_known(value: Value) -> bool:
    """Whether a dtype and a rank are known, if it is a tensor."""
    type_: Any = value.static_type
    if is_constant(value):
        return True
    if isinstance(type_, OptionalType):
        return False
    return not isinstance(type_, TensorType) or (type_.dtype is not None and type_.sizes is not None)


def _asks(value: Value) -> bool:
    return isinstance(value.static_type, TensorType) and bool(value.static_type.requires_grad)
