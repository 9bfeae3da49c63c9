"""Activations that write into their operand, and those that do not, in the place of each other.

```
%a = aten::conv2d(...)                       %a = aten::conv2d(...)
%b = aten::relu(%a)                  ↔       %b = aten::relu_(%a)
```

Only an operand that the graph made itself may be written, if nothing looks at its memory later under any name and its
dtype is sure to be the result's.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.operator_rules import asked
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import remove_mutation
from flambeau.schema import registry
from flambeau.schema.dtype import int64
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
    if activation is None or activation.dtype is None:
        return False
    rest = [UNKNOWN] * (len(activation.schema.arguments) - 1)
    (dtype,) = asked(activation.dtype, [TensorType(dtype=int64), *rest], 1)
    return dtype is int64


def _gives_floats(source: OpDef) -> bool:
    """Whether programs use it on floats; for integers, an activation behind it would fail in place."""
    is_layer = source.traits.role in (Role.CONVOLUTION, Role.NORMALISATION) or source.accumulator == "linear"
    return is_layer or (source.traits.role is Role.ACTIVATION and not _takes_integers(source))


def _may_write(graph: Graph, node: Node) -> bool:
    source = node.operand(0)
    definition = source.defining_node.definition if source.defining_node is not None else None
    if definition is None or source.owner_block is not node.owner_block:
        return False
    if not _takes_integers(node.definition) and not _gives_floats(definition):
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
