"""Gather what is differentiated into graphs of their own, each of which goes back as one.

```
%a = aten::mul(%x, %y)                        %b = prim::DifferentiableGraph_0(%y, %x)
%b = aten::mul(%a, %y)                  →     with prim::DifferentiableGraph_0 = graph(%y, %x):
                                                %a = aten::mul(%x, %y)
                                                %b = aten::mul(%a, %y)
                                                return (%b)
```

A node belongs to one if it has a derivative, one of its operands may ask for gradients, and nothing writes to the
memory of its operands or results. Branches and loops belong to one as a whole if all in them may. A group grows from a
node to those that make its operands, past others only where nobody can tell, and never into or out of a block. What
shows memory of something else, and lists of tensors, stay within: they are no results of a group. Groups with fewer
than `threshold` nodes stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import is_pure, writes_memory
from flambeau.analysis.gradients import holds_tensors, is_about_tensor, is_real
from flambeau.ir import kinds
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import blocks, operands_within
from flambeau.passes.grow_groups import WITHIN, grown_groups
from flambeau.passes.outline import outline
from flambeau.schema.own_gradient import gradient_of
from flambeau.schema.types import TensorType

GROUP: Final = "prim::DifferentiableGraph"
THRESHOLD: Final = 2
"""Nodes of the smallest group."""


def do(graph: Graph, threshold: int | None = None) -> bool:
    """Make groups in every block; whether any was made."""
    smallest = THRESHOLD if threshold is None else threshold
    aliases = AliasAnalysis(graph)
    groups = [
        group for block in list(blocks(graph.body)) for group in grown_groups(block, aliases, _is_differentiable)
    ]
    changed = False
    for group in groups:
        if _size(group) >= smallest and all(node.is_inserted and node.graph is graph for node in group):
            outline(group, GROUP, inputs=_inputs(group))
            changed = True
    return changed


def _size(group: Sequence[Node]) -> int:
    """How many operators a group has, those in its branches and loops among them."""
    inner = [n for node in group for block in node.nested_blocks for n in block.walk()]
    return sum(n.op not in WITHIN and n.op != CONSTANT for n in (*group, *inner))


def _is_differentiable(node: Node, aliases: AliasAnalysis) -> bool:
    if not _has_derivative(node, aliases) or not any(_asks(v) for v in operands_within(node)):
        return False
    return all(holds_tensors(v.static_type) for v in node.results)


def _has_derivative(node: Node, aliases: AliasAnalysis) -> bool:
    """Whether gradients go through a node, which has no effects, and which nobody's writes concern."""
    if node.nested_blocks:
        inner = [n for block in node.nested_blocks for n in block.walk()]
        if node.op not in kinds.CONTROL or not all(map(_is_harmless, inner)):
            return False
        if not any(_is_operator(n) for n in inner):
            return False
    elif not _is_operator(node) and node.op not in WITHIN:
        return False
    return is_pure(node) and not any(map(aliases.has_writers, (*operands_within(node), *node.results)))


def _is_operator(node: Node) -> bool:
    """Whether a node is an operator that gradients go through."""
    definition = node.definition
    if definition is None or is_about_tensor(node) or gradient_of(definition) is None:
        return False
    return definition.differentiable is not False and any(is_real(v.static_type) for v in node.results)


def _is_harmless(node: Node) -> bool:
    """Whether a node may stand in a branch or a loop that is differentiated as a whole."""
    is_known = node.definition is not None or node.op in kinds.CONTROL | WITHIN | {CONSTANT, "prim::Uninitialized"}
    return is_known and is_pure(node) and not writes_memory(node) and not is_about_tensor(node)


def _asks(value: Value) -> bool:
    type_ = value.static_type
    if isinstance(type_, TensorType):
        return type_.requires_grad is not False and is_real(type_)
    return holds_tensors(type_)


def _inputs(group: Sequence[Node]) -> list[Value]:
    """The values that a group takes, in the order in which it meets them going back."""
    inputs: dict[Value, None] = {}
    for node in reversed(group):
        for value in node.results:
            inputs.pop(value, None)
        inputs.update(dict.fromkeys(operands_within(node)))
    return list(inputs)
