"""Activations that write into their operand, and those that do not, in the place of each other.

```
%a = aten::conv2d(...)                       %a = aten::conv2d(...)
%b = aten::relu(%a)                  ↔       %b = aten::relu_(%a)
```

Only an operand that the graph made itself may be written, if nothing looks at its memory later under any name and its
dtype is sure to be the result's.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.graph import Graph
from flambeau.ir.node import Node
from flambeau.ir.value import Value
from flambeau.passes import remove_mutation
from flambeau.schema import registry
from flambeau.schema.types import TensorType

KEEP_DTYPE: Final = frozenset({"aten::relu", "aten::relu6", "aten::hardtanh", "aten::threshold"})
"""Give integers for integers."""
ACTIVATIONS: Final = KEEP_DTYPE | {
    "aten::sigmoid", "aten::tanh", "aten::leaky_relu", "aten::elu", "aten::selu", "aten::celu", "aten::hardsigmoid",
    "aten::hardswish", "aten::silu", "aten::mish",
}  # fmt: skip
GIVE_FLOATS: Final = frozenset({
    "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::conv_transpose1d", "aten::conv_transpose2d",
    "aten::conv_transpose3d", "aten::batch_norm", "aten::instance_norm", "aten::layer_norm", "aten::group_norm",
    "aten::linear",
}) | (ACTIVATIONS - KEEP_DTYPE)  # fmt: skip
"""Where programs use them, on floats; on integers an activation behind them would fail in place."""


def to_in_place(graph: Graph) -> bool:
    """Have activations write into their operands where nobody can tell."""
    changed = False
    for node in list(graph.all_nodes()):
        if node.kind in ACTIVATIONS and registry.overloads(f"{node.kind}_") and _may_write(graph, node):
            node.kind = f"{node.kind}_"
            changed = True
    return changed


def to_functional(graph: Graph) -> bool:
    """Have activations give new tensors where nobody can tell."""
    return remove_mutation.do(graph, lambda node: node.kind.removesuffix("_") in ACTIVATIONS, checks_dtype=False)


def _may_write(graph: Graph, node: Node) -> bool:
    source = node.input()
    made = source.node
    if made is None or made.definition is None or source.owner_block is not node.owner_block:
        return False
    if node.kind not in KEEP_DTYPE and made.kind.removesuffix("_") not in GIVE_FLOATS:
        dtype = source.type.dtype if isinstance(source.type, TensorType) else None
        if dtype is None or not dtype.is_floating_point:
            return False
    facts = AliasAnalysis(graph)
    if not facts.is_new(source) or facts.escapes(source):
        return False
    return all(use.user is node or use.user.is_before(node) for v in _same_memory(graph, facts, node) for use in v.uses)


def _same_memory(graph: Graph, facts: AliasAnalysis, node: Node) -> list[Value]:
    source = node.input()
    values = [v for n in graph.all_nodes() for v in (*n.outputs, *(p for b in n.blocks for p in b.inputs))]
    return [v for v in values if isinstance(v.type, TensorType) and facts.may_contain_alias(v, source)]
