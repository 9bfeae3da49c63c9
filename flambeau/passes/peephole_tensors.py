"""Rules of `peephole` about tensors that stand for others.

```
%a : Tensor = aten::t(%x)
%b : Tensor = aten::t(%a)          →     %y : Tensor = aten::exp(%x)
%y : Tensor = aten::exp(%b)
```
"""

from __future__ import annotations

from typing import Any

from flambeau.analysis.constant_evaluation import is_none
from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Node, Value
from flambeau.passes.peephole_outcomes import KEEP, Chain, Itself, Literal, rewrites
from flambeau.schema.types import TENSOR, TensorType


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


@rewrites("aten::mul")
def _times_one(node: Node) -> Any:
    """x times a tensor of ones without dimensions, of its dtype, with which every way back begins: x."""
    for one, x in (node.operands[:2], node.operands[1::-1]):
        maker, own, other = one.defining_node, x.static_type, one.static_type
        if maker is None or maker.op != "aten::ones" or not constants.is_constant(maker.operand(0)):
            continue
        if not isinstance(own, TensorType) or not isinstance(other, TensorType) or own.dtype is None:
            continue
        is_like = (own.dtype, own.device) == (other.dtype, other.device)
        if is_like and not constants.constant_value(maker.operand(0)):
            return Literal(one, x)
    return KEEP


@rewrites("aten::_weight_norm")
def _weight_norm(node: Node) -> Any:
    """A weight with a norm of its own, as its parts, which kernels know: v * (g / norm(v))."""
    v, _, dim = node.operands
    if not isinstance(v.static_type, TensorType) or not v.static_type.sizes or not constants.is_constant(dim):
        return KEEP
    rank, kept = len(v.static_type.sizes), constants.constant_value(dim)
    rest = [d for d in range(rank) if kept == -1 or d != kept % rank]
    return Chain(lambda: _with_norm(node, rest), node)


def _with_norm(node: Node, rest: list[int]) -> Value:
    """The parts of a weight whose norms are over the dimensions `rest`."""
    graph, (v, g, _) = node.graph, node.operands
    options = [insert_constant(graph, option) for option in (2, rest, True, None)]
    norm = graph.insert("aten::linalg_vector_norm", [v, *options], [TENSOR]).result()
    share = graph.insert("aten::div", [g, norm], [TENSOR]).result()
    return graph.insert("aten::mul", [v, share], [node.result().static_type]).result()


@rewrites("aten::linalg_norm")
def _length(node: Node) -> Any:
    """linalg_norm(x) without an order: that of x as one vector, or along the given dimensions."""
    if not (isinstance(node.operand(0).static_type, TensorType) and is_none(node.operand(1))):
        return KEEP

    def make() -> Value:
        order = constants.insert_constant(node.graph, 2)
        operands = [node.operand(0), order, *node.operands[2:]]
        return node.graph.insert("aten::linalg_vector_norm", operands, (node.result().static_type,)).result()

    return Chain(make, node)
