"""Activations that write into their operand, and those that do not, in the place of each other.

```
%a = aten::conv2d(...)                       %a = aten::conv2d(...)
%b = aten::relu(%a)                  ↔       %b = aten::relu_(%a)
```

Only an operand that the graph made itself may be written, if nothing looks at its memory later under any name and its
dtype is sure to be the result's, or the activation refuses integers in either form.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.operator_rules import asked
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import remove_mutation
from flambeau.schema import registry
from flambeau.schema.dtype import DType, float32, int64
from flambeau.schema.opdef import UNKNOWN, OpDef
from flambeau.schema.traits import Role
from flambeau.schema.types import TensorType


def to_in_place(graph: Graph) -> bool:
    """Have activations write into their operands where nobody can tell."""
    changed = False
    for node in graph.listed_nodes():
        if _is_activation(node) and registry.overloads(f"{node.op}_") and _may_write(graph, node):
            node.set_op(f"{node.op}_")
            changed = True
    return changed


def to_functional(graph: Graph) -> bool:
    """Have activations give new tensors where nobody can tell."""
    return remove_mutation.do(graph, _is_activation, checks_dtype=False)


def _is_activation(node: Node) -> bool:
    return node.definition is not None and node.definition.traits.role is Role.ACTIVATION


def _takes_integers(activation: OpDef | None) -> bool:
    """Whether it gives integers for integers: in place it then fails for none."""
    return _dtype_for(activation, int64) is int64


def _refuses_integers(activation: OpDef | None) -> bool:
    """Whether it fails for integers, in place or not, and keeps the dtype of floats."""
    return _dtype_for(activation, int64) is None and _dtype_for(activation, float32) is float32


def _dtype_for(activation: OpDef | None, dtype: DType) -> DType | None:
    """The dtype that it gives for a tensor of one; None where it refuses that, or nobody knows."""
    if activation is None or activation.dtype is None:
        return None
    rest = [UNKNOWN] * (len(activation.schema.arguments) - 1)
    (result_dtype,) = asked(activation.dtype, [TensorType(dtype=dtype), *rest], 1)
    return result_dtype if isinstance(result_dtype, DType) else None


def _gives_floats(source: OpDef) -> bool:
    """Whether programs use it on floats; for integers, an activation behind it would fail in place."""
    is_layer = source.traits.role in (Role.CONVOLUTION, Role.NORMALISATION) or source.accumulator == "linear"
    return is_layer or (source.traits.role is Role.ACTIVATION and not _takes_integers(source))


def _may_write(graph: Graph, node: Node) -> bool:
    source = node.operand(0)
    definition = source.defining_node.definition if source.defining_node is not None else None
    if definition is None or source.owner_block is not node.owner_block:
        return False
    is_alike = _takes_integers(node.definition) or _refuses_integers(node.definition)
    if not is_alike and not _gives_floats(definition):
        dtype = source.static_type.dtype if isinstance(source.static_type, TensorType) else None
        if dtype is None or not dtype.is_floating_point:
            return False
    aliases = AliasAnalysis(graph)
    if not aliases.is_new(source) or aliases.escapes(source):
        return False
    return all(
        use.user is node or use.user.is_before(node) for v in _same_memory(graph, aliases, node) for use in v.uses()
    )


def _same_memory(graph: Graph, aliases: AliasAnalysis, node: Node) -> list[Value]:
    source = node.operand(0)
    values = [v for n in graph.all_nodes() for v in (*n.results, *(p for b in n.nested_blocks for p in b.parameters))]
    return [v for v in values if isinstance(v.static_type, TensorType) and aliases.may_contain_alias(v, source)]
