"""Rules of `peephole` about questions whose answer is the same for every call, or follows from part of what is asked.

```
%a : bool = prim::is_nested(%x)
%l : bool[] = prim::ListConstruct(%a, %b)          %l : bool[] = prim::ListConstruct(%a, %b)
%r : bool = aten::any(%l)                    →     return (%b)
return (%r)
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.passes.peephole_outcomes import KEEP, Chain, Constant, Literal, Rule, rewrites
from flambeau.schema.rule_tables import RuleLists
from flambeau.schema.types import BOOL, BoolType, IntType, TensorType

answers: Final = RuleLists[Rule]("answer to what a list or a tensor is asked")
"""These rules by themselves: they need nothing of what is known of tensors."""
_LONGEST: Final = 8
"""Lists of more that is not known are looked through as they are."""


@rewrites("prim::is_nested")
@answers("prim::is_nested")
def _never(node: Node) -> Any:
    """There are no nested tensors."""
    return Constant(False)


@rewrites("prim::requires_grad")
def _asks(node: Node) -> Any:
    """Whether a tensor asks for gradients of which it is known that it does not."""
    type_ = node.operand(0).static_type
    return Constant(False) if isinstance(type_, TensorType) and type_.requires_grad is False else KEEP


@rewrites("aten::where")
def _places(node: Node) -> Any:
    """where of a condition alone: the places at which it holds."""
    if len(node.operands) != 1:
        return KEEP
    return node.graph.create("aten::nonzero_numpy", node.operands, (node.result().static_type,))


@rewrites("aten::any", "aten::all")
@answers("aten::any", "aten::all")
def _some_or_all(node: Node) -> Any:
    """any and all of a list that the graph builds: one element may tell, and those that never do are left out."""
    built = node.operand(0).defining_node
    if built is None or built.op != "prim::ListConstruct" or len(node.operands) > 1:
        return KEEP
    if not all(isinstance(v.static_type, BoolType | IntType) for v in built.operands):
        return KEEP
    is_any = node.op == "aten::any"
    unknown: dict[Value, None] = {}
    for value in built.operands:
        if not constants.is_constant(value):
            unknown[value] = None
        elif bool(constants.constant_value(value)) is is_any:
            return Literal(node.operand(0), Constant(is_any))
    if not unknown:
        return Literal(node.operand(0), Constant(not is_any))
    if len(unknown) > _LONGEST or not all(isinstance(v.static_type, BoolType) for v in unknown):
        return KEEP
    return Literal(node.operand(0), Chain(lambda: _chained(node, tuple(unknown), is_any=is_any), node))


def _chained(node: Node, values: Sequence[Value], *, is_any: bool) -> Value:
    """`a or b or c`, `a and b and c`: all of them are known, so that none is skipped."""
    result = values[0]
    for value in values[1:]:
        op = "aten::__or__" if is_any else "aten::__and__"
        result = node.graph.insert(op, (result, value), (BOOL,)).result()
    return result
