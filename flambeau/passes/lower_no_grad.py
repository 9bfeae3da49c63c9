"""Do without `no_grad()` around a whole function: what comes in is detached instead.

```
%c : Any = ^no_grad()
%e : Any = prim::Enter(%c)                         %d : Tensor = aten::detach(%w)
%y : Tensor = aten::matmul(%x, %w)         →       %f : Tensor = aten::detach(%x)
 = prim::Exit(%c)                                  %y : Tensor = aten::matmul(%f, %d)
return (%y)                                        return (%y)
```

Then nothing in the function depends on what asks for gradients, and it has a plan as under a `no_grad()` around the
call. Left as it is: a function that looks at the mode or at the need of gradients, and one of which a result may be an
argument itself, which asks as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.analysis.gradients import is_open, is_real
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.traits import Role
from flambeau.schema.types import AnyClassType, AnyType, NamedType, TensorType, Type
from flambeau.tensor.grad_mode import no_grad

_NEW: Final = frozenset({"pointwise", "reduce", "row", "view"})
"""Families whose operators, but for those that say so, give new tensors; so do others of several tensors."""
_ENTER, _EXIT, _MODE = "prim::Enter", "prim::Exit", "aten::is_grad_enabled"
KINDS = (_ENTER,)
"""What is in every graph with a block."""


def do(graph: Graph) -> bool:
    """Lower the block around a graph, in place; whether there was one that can be."""
    around = _around(graph)
    if around is None:
        return False
    taken = [v for v in graph.parameters if _may_ask(v.static_type)]
    within = [n for n in graph.listed_nodes() if n not in around]
    if any(map(_tells, within)) or not all(isinstance(v.static_type, TensorType) for v in taken):
        return False
    if any(_may_be(v, set(taken), set()) for v in graph.returns):
        return False
    _detach(graph, taken, around[1])
    for node in within:
        if node.op == _MODE:
            with graph.inserting(node):
                node.result().replace_uses_with(constants.insert_constant(graph, False))
            node.erase()
    for node in reversed(around):
        node.erase()
    return True


def _tells(node: Node) -> bool:
    """Whether a node looks at the need of gradients, or has another tensor that may ask for them."""
    return is_open(node) or node.op == "prim::GetAttr" or makes_leaf(node)


def _detach(graph: Graph, taken: Sequence[Value], insertion_point: Node) -> None:
    """Put detached tensors in the place of arguments, from a node on."""
    with graph.inserting(insertion_point):
        for value in taken:
            uses = list(value.uses())
            detached = graph.insert("aten::detach", (value,), (value.static_type,)).result()
            for user, offset in uses:
                user.replace_operand(offset, detached)


def _around(graph: Graph) -> tuple[Node, Node, Node] | None:
    """The nodes that make, enter and leave a block around all that a graph does."""
    work = [n for n in graph.body if n.op not in ("prim::Constant", "prim::TupleConstruct")]
    if len(work) < 3 or work[1].op != _ENTER or work[-1].op != _EXIT:
        return None
    context, enter, leave = work[0], work[1], work[-1]
    entered = context.results[0] if context.results else None
    if context.attributes.get("callable") is not no_grad or entered is None or enter.result().is_used:
        return None
    is_one = [n.operand(0) for n in (enter, leave)] == [entered, entered] and len(list(entered.uses())) == 2
    return (context, enter, leave) if is_one else None


def _may_ask(type_: Type) -> bool:
    """Whether a value is, or holds, a tensor that may ask for gradients, or an object, which may."""
    return any(
        is_real(part) if isinstance(part, TensorType) else isinstance(part, NamedType | AnyType | AnyClassType)
        for part in type_.walk()
    )


def makes_leaf(node: Node) -> bool:
    """Whether a node makes a tensor that asks for gradients whatever the mode is."""
    arguments = () if node.definition is None else node.definition.schema.arguments
    return any(
        a.name == "requires_grad" and not (constants.is_constant(v) and not constants.constant_value(v))
        for a, v in zip(arguments, node.operands, strict=False)
    )


def _may_be(value: Value, arguments: set[Value], seen: set[Value]) -> bool:
    """Whether a value may be an argument itself, or hold one."""
    if value in arguments:
        return True
    if value in seen or not _may_ask(value.static_type):
        return False
    seen.add(value)
    node = value.defining_node
    if node is None:  # what a loop carries
        owner = None if value.block is None else value.block.owner_node
        if owner is None:
            return False
        sources = [owner.operand(value.index + 1), owner.nested_blocks[0].returns[value.index]]
        return any(_may_be(v, arguments, seen) for v in sources)
    if node.op == "prim::If":
        return any(_may_be(b.returns[value.index], arguments, seen) for b in node.nested_blocks)
    if node.op == "prim::Loop":
        return _may_be(node.nested_blocks[0].parameters[value.index + 1], arguments, seen)
    if _is_new(node, value):
        return False
    return any(_may_be(v, arguments, seen) for v in node.operands)


def _is_new(node: Node, value: Value) -> bool:
    """Whether an operator made a tensor: one that is none of its operands."""
    definition = node.definition
    if definition is None or not isinstance(value.static_type, TensorType) or definition.schema.is_mutable:
        return False
    traits = definition.traits
    if traits.may_be_operand or traits.may_copy or traits.role in (Role.CONVERSION, Role.DROPOUT):
        return False
    if definition.family == "view" and definition.schema.returns[0].alias is None:
        return False
    tensors = [v for v in node.operands if isinstance(v.static_type, TensorType)]
    return definition.family in _NEW or (definition.family == "opaque" and len(tensors) > 1)
