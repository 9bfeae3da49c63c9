"""Rules of `peephole` about tensors that stand for others.

```
%a : Tensor = aten::t(%x)
%b : Tensor = aten::t(%a)          →     %y : Tensor = aten::exp(%x)
%y : Tensor = aten::exp(%b)
```
"""

from __future__ import annotations

from typing import Any

from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.passes.peephole_rules import KEEP, Itself, Literal, rewrites
from flambeau.schema.types import TensorType


@rewrites("aten::t", "aten::transpose")
def _transposed_back(node: Node) -> Any:
    """t(t(x)), and two dimensions exchanged twice: x, where nobody writes to it and its elements alone count."""
    inner = node.operand(0).defining_node
    if inner is None or inner.op != node.op or not _is_computed_with(node.result()):
        return KEEP
    if not all(map(constants.is_constant, (*inner.operands[1:], *node.operands[1:]))):
        return KEEP
    before, after = (sorted(map(constants.constant_value, n.operands[1:])) for n in (inner, node))
    return Literal(inner.operand(0), inner.operand(0)) if before == after else KEEP


def _is_computed_with(value: Value) -> bool:
    """Whether a tensor goes into operators alone that give new tensors: nobody sees which tensor it is."""
    definitions = [use.user.definition for use in value.uses()]
    return all(d is not None and not d.schema.says_aliases for d in definitions)


@rewrites("aten::type_as")
def _same_type(node: Node) -> Any:
    """x.type_as(y), where both are known to have one dtype and to be on one device."""
    own, other = (v.static_type for v in node.operands)
    if not isinstance(own, TensorType) or not isinstance(other, TensorType) or own.dtype is None or own.device is None:
        return KEEP
    return Itself(node.operand(0)) if (own.dtype, own.device) == (other.dtype, other.device) else KEEP
