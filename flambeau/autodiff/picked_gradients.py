"""The gradient of what numbers pick along axes, `x[:, i]` with a tensor `i` of one number: zeros, but for there.

```
%y = aten::index(%x, [%none, %i])     back:  %g = aten::zeros_like(%x)
                                             %n = aten::Int(%i)
                                             %_ = aten::copy_(aten::select(%g, %1, %n), %grad)
```

With other indices an element may be picked several times: those have the formula of `aten::index`.
"""

from __future__ import annotations

from flambeau.analysis.effects import is_only_read
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.operator_gradients import Gradients, node_gradients, traced_gradients
from flambeau.ir.graph import Node, Value
from flambeau.schema.dtype import Category, uint8
from flambeau.schema.types import TensorType


@node_gradients("aten::index")
def _picked(builder: Builder, node: Node, gradients: Gradients) -> Gradients:
    rest = [None] * (len(node.operands) - 1)
    numbers = _numbers(node)
    if not numbers:
        return traced_gradients(builder, node, gradients, [True, *[False] * len(rest)])
    [gradient] = gradients
    f, source = builder.operators, node.operand(0)
    back = f.zeros_like(builder.proxy(source))
    builder.sizes.set(back.value, builder.sizes.of(source))
    shown = back
    for taken, (axis, number) in enumerate(numbers):
        shown = f.select(shown, axis - taken, builder.node("aten::Int", [builder.use(number)]))
    builder.call("aten::copy_", (shown, builder.proxy(gradient)), {})  # type: ignore[arg-type]
    return [back.value, *rest]


def _numbers(node: Node) -> list[tuple[int, Value]]:
    """The axes and the indices, where all that index are tensors of one integer; none elsewhere."""
    maker = node.operand(1).defining_node
    source = node.operand(0).static_type
    if maker is None or maker.op != "prim::ListConstruct" or not is_only_read(node.operand(1)):
        return []
    if not isinstance(source, TensorType) or source.rank is None:
        return []
    indexed = [(axis, v) for axis, v in enumerate(maker.operands) if isinstance(v.static_type, TensorType)]
    if not all(axis < source.rank and _is_number(v) for axis, v in indexed):
        return []
    return indexed


def _is_number(value: Value) -> bool:
    """Whether an index is a tensor of one integer: of uint8 it is a mask."""
    type_ = value.static_type
    if not isinstance(type_, TensorType) or type_.rank != 0 or type_.dtype is None or type_.dtype is uint8:
        return False
    return type_.dtype.category is Category.INTEGER
