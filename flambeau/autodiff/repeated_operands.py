"""Operators that work element by element take a number, or a row, where a formula gives a tensor that repeats it.

```
%e : Float(*) = aten::expand(%g, %sizes, %no)          %y : Float(*) = aten::mul(%g, %x)
%y : Float(*) = aten::mul(%e, %x)                  →
```

The gradient of a sum is such a tensor. What goes on with it needs neither its memory nor its sizes, so that the way
there and the way back can be one kernel. Where all operands are such, the result is repeated in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.autodiff.symbolic_sizes import Size, SymbolicSizes
from flambeau.ir.graph import Node, Value
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import TensorType

Refine = Callable[[Node, OpDef], None]
"""Says of the results of a new node what is known of them."""


def on_single_numbers(node: Node, definition: OpDef, sizes: SymbolicSizes, refine: Refine) -> Node:
    """The node itself, just inserted, or the one that took its place."""
    whole = sizes.of(node.result())
    like = next((v for v in node.operands if _single(v) is not None), None)
    if like is None or whole is None:
        return node
    tensors = [v for v in node.operands if isinstance(v.static_type, TensorType)]
    fills = any(_fills(sizes.of(v), whole) for v in tensors if _single(v) is None)
    if not fills and not all(_rank(v) == 0 or _repeats_one(v, whole, sizes) for v in tensors):
        return node
    copy = _copied(node, definition, refine)
    if _dtype(copy) is not _dtype(node) or (not fills and _rank(copy.result()) != 0):
        copy.erase()
        return node
    if not fills:
        copy = _repeating(copy, like, refine)
    node.erase()
    sizes.set(copy.result(), whole)
    return copy


def _repeats_one(value: Value, whole: Sequence[Size], sizes: SymbolicSizes) -> bool:
    """Whether a value is a single number repeated in these sizes."""
    single = _single(value)
    return single is not None and _rank(single) == 0 and sizes.of(value) == whole


def _copied(node: Node, definition: OpDef, refine: Refine) -> Node:
    """A copy of the node on single numbers in place of the operands that repeat one."""
    operands = [_single(v) or v for v in node.operands]
    copy = node.graph.insert(node.op, operands, [r.type for r in definition.schema.returns])
    refine(copy, definition)
    return copy


def _repeating(node: Node, like: Value, refine: Refine) -> Node:
    """A node that repeats the single number that another gives, as `like` repeats one."""
    model = like.defining_node
    assert model is not None
    assert model.definition is not None
    whole = node.graph.insert(model.op, [node.result(), *model.operands[1:]], [TensorType()])
    refine(whole, model.definition)
    return whole


def _single(value: Value) -> Value | None:
    """The tensor that a value repeats along axes; None if it does not."""
    node = value.defining_node
    if node is None or node.op != "aten::expand":
        return None
    single = node.operand(0)
    return None if _rank(single) is None else single


def _fills(own: Sequence[Size] | None, whole: Sequence[Size]) -> bool:
    """Whether an operand of these sizes has all that it is broadcast to: those that are not 1 are the result's."""
    if own is None or len(own) != len(whole):
        return False
    return all(size is wanted or size.is_one is False for size, wanted in zip(own, whole, strict=True))


def _rank(value: Value) -> int | None:
    return value.static_type.rank if isinstance(value.static_type, TensorType) else None


def _dtype(node: Node) -> Any:
    type_ = node.result().static_type
    return type_.dtype if isinstance(type_, TensorType) else None
