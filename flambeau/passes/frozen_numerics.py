"""Take batch norms, sums and products with constants into the constant weights of the operator before them.

```
%y = aten::conv2d(%x, %w, %b, ...)                        %w2 = prim::Constant[value=<Tensor>]()
%z = aten::batch_norm(%y, %g, %h, %m, %v, %false, ...)    →    %b2 = prim::Constant[value=<Tensor>]()
                                                          %z = aten::conv2d(%x, %w2, %b2, ...)
```

The new weights are computed in float64. Only the last digits of results change: where it depends on the rank of the
input whether the weights may be folded, the graph asks for the rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants
from flambeau.ir.clone import clone_node
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.traits import Role
from flambeau.schema.types import BOOL, TENSOR, TensorType
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.record import dataclass

Array = np.ndarray[Any, Any]
_GROUPS = 6
"""The operand of a transposed convolution that says how many groups there are."""


@dataclass(frozen=True)
class Affine:
    """`scale * y + shift` for each output channel."""

    scale: Array
    shift: Array
    adds_rank: bool = False
    """Whether the result has one dimension more than an operand without a batch."""


Reader = Callable[[Node, int, Node, tuple[Array, Array]], Affine | None]
folds_into_weights: Final = RuleTable[Reader]("folding into the constant weights before it")
"""Registers what a node does to the result of the operator before it, which is the operand at a side of the node."""


def do(graph: Graph, only: Reader | None = None, *, linears: bool | None = None) -> bool:
    """Fold until nothing more folds: all, or what one rule is for, into linears or into convolutions alone."""
    changed = False
    while _fold_one(graph, only, linears):
        changed = True
    return changed


def _fold_one(graph: Graph, only: Reader | None, linears: bool | None) -> bool:
    aliases: AliasAnalysis | None = None
    for node, side, before in _pairs(graph, only, linears):
        weights = _weights(before)
        affine = folds_into_weights[node.op](node, side, before, weights) if weights is not None else None
        if weights is None or affine is None:
            continue
        aliases = aliases or AliasAnalysis(graph)
        if not any(map(aliases.has_tensor_writers, (*before.operands[1:3], *node.operands[1:5]))):
            _apply(before, node, weights, affine)
            return True
    return False


def _pairs(graph: Graph, only: Reader | None, linears: bool | None) -> Iterator[tuple[Node, int, Node]]:
    """Nodes that weights may take in, each with the operator before it, whose result nobody else looks at, and the
    side from which that comes.
    """
    for node in graph.all_nodes():
        read = folds_into_weights.get(node.op)
        if read is None or (only is not None and read is not only):
            continue
        for side in _sides(node):
            source = node.operand(side)
            before = source.defining_node
            if before is None or before.owner_block is not node.owner_block or not _is_private(source):
                continue
            is_linear = before.op == "aten::linear"
            if not (is_linear and _is_guarded(before)) and linears in (None, is_linear):
                yield node, side, before


def _sides(node: Node) -> Sequence[int]:
    """The operands that may come from the operator whose weights take the node in."""
    return (0, 1) if node.op.endswith(("::add", "::sub", "::mul")) else (0,)


def _axes(node: Node) -> int | None:
    """The number of spatial dimensions of a convolution; None for other nodes."""
    definition = node.definition
    if definition is None or definition.traits.role is not Role.CONVOLUTION:
        return None
    return definition.schema.arguments[definition.schema.index["stride"]].broadcast


def _is_transposed(node: Node) -> bool:
    """Whether a convolution is a transposed one, whose weight has the input channels first."""
    return node.definition is not None and "output_padding" in node.definition.schema.index


def _is_private(value: Value) -> bool:
    """Whether one node looks at a value, those that ask for its rank aside."""
    return sum(u.user.op != "aten::dim" for u in value.uses()) == 1


def _weights(node: Node) -> tuple[Array, Array] | None:
    """The constant weight and bias of a convolution or linear, in float64."""
    axes = _axes(node)
    if axes is None and node.op != "aten::linear":
        return None
    weight, bias = _tensor(node.operand(1)), _tensor(node.operand(2))
    if weight is None or (bias is None and not constants.is_none(node.operand(2))) or weight.ndim < 2:
        return None
    if axes is not None and weight.ndim != axes + 2:
        return None
    if not weight.dtype.is_floating_point or (bias is not None and bias.dtype is not weight.dtype):
        return None
    channels = weight.shape[0]
    if _is_transposed(node):
        if not constants.is_constant(node.operand(_GROUPS)):
            return None
        channels = weight.shape[1] * constants.constant_value(node.operand(_GROUPS))
    wide = weight._array.astype(np.float64)
    return wide, np.zeros(channels) if bias is None else bias._array.astype(np.float64)


def _scaled(node: Node, weight: Array, scale: Array) -> Array:
    """The weight for results `scale` times as large, channel by channel."""
    ones = (1,) * (weight.ndim - 2)
    if not _is_transposed(node):
        return weight * scale.reshape(-1, 1, *ones)
    groups = constants.constant_value(node.operand(_GROUPS))
    apart = weight.reshape(groups, -1, *weight.shape[1:]) * scale.reshape(groups, 1, -1, *ones)
    return apart.reshape(weight.shape)


def _tensor(value: Value) -> Tensor | None:
    constant = constants.constant_value(value) if constants.is_constant(value) else None
    return constant if isinstance(constant, Tensor) else None


# -- what follows -----------------------------------------------------------------------------------------------------


@folds_into_weights("aten::batch_norm")
def norm(node: Node, side: int, before: Node, weights: tuple[Array, Array]) -> Affine | None:
    """A batch norm with constant statistics, not in training."""
    tensors = [_tensor(v) for v in node.operands[1:5]]
    flags = node.operand(5), node.operand(7)
    if any(t is None and not constants.is_none(v) for t, v in zip(tensors, node.operands[1:5], strict=True)):
        return None
    if not all(map(constants.is_constant, flags)) or constants.constant_value(flags[0]):
        return None
    scale, shift, mean, variance = tensors
    channels = len(weights[1])
    if mean is None or variance is None or not _are_per_channel(mean, before, channels):
        return None
    dtype = constants.constant_value(before.operand(1)).dtype
    if any(t is not None and t.dtype is not dtype for t in tensors):
        return None
    gain = 1.0 / np.sqrt(variance._array.astype(np.float64) + constants.constant_value(flags[1]))
    gain = gain * (1.0 if scale is None else scale._array)
    offset = -mean._array.astype(np.float64) * gain + (0.0 if shift is None else shift._array)
    return _finite(gain, offset, channels)


def _are_per_channel(mean: Tensor, before: Node, channels: int) -> bool:
    """Whether there is one statistic for each channel, or, behind a linear, one for all."""
    return mean.numel() == channels or (mean.numel() == 1 and before.op == "aten::linear")


def _finite(scale: Any, shift: Any, channels: int, adds_rank: bool = False) -> Affine | None:
    wide = [np.broadcast_to(np.asarray(v, np.float64), (channels,)) for v in (scale, shift)]
    return Affine(wide[0], wide[1], adds_rank) if all(np.isfinite(v).all() for v in wide) else None


def _operand(value: Value, before: Node, channels: int) -> tuple[Array, bool] | None:
    """A constant that is one number per channel, or one for all; whether its rank is that of a batch."""
    spatial = _axes(before)
    if spatial is None or not constants.is_constant(value):
        return None
    constant = constants.constant_value(value)
    if isinstance(constant, int | float):
        return np.asarray(float(constant)), False
    dtype = constants.constant_value(before.operand(1)).dtype
    if not isinstance(constant, Tensor) or constant.dtype.is_complex:
        return None
    if constant.dtype.is_floating_point and constant.dtype is not dtype and constant.ndim:
        return None
    array = constant._array.astype(np.float64)
    if array.ndim > spatial + 2 or (array.size != 1 and array.size != channels):
        return None
    if array.size != 1 and array.shape[-spatial - 1 :] != (channels,) + (1,) * spatial:
        return None
    return array.reshape(-1), array.ndim == spatial + 2


def _constant_side(node: Node, side: int, before: Node, channels: int) -> tuple[Array, bool] | None:
    """The operand at the other side, if it is a constant that may be folded."""
    other = _operand(node.operand(1 - side), before, channels)
    is_in_place = node.op.endswith("_")
    return None if other is None or (is_in_place and (side or other[1])) else other


@folds_into_weights("aten::mul", "aten::div", "aten::mul_", "aten::div_")
def product_with_constant(node: Node, side: int, before: Node, weights: tuple[Array, Array]) -> Affine | None:
    """x * c, c * x, x / c."""
    channels = len(weights[1])
    other = _constant_side(node, side, before, channels)
    if other is None or len(node.operands) > 2:
        return None
    number, adds_rank = other
    is_division = node.op.startswith("aten::div")
    if is_division and (side or not number.all()):
        return None
    return _finite(1.0 / number if is_division else number, 0.0, channels, adds_rank)


@folds_into_weights("aten::add", "aten::sub", "aten::add_", "aten::sub_")
def sum_with_constant(node: Node, side: int, before: Node, weights: tuple[Array, Array]) -> Affine | None:
    """x + c, c + x, x - c, c - x."""
    channels = len(weights[1])
    other = _constant_side(node, side, before, channels)
    if other is None or len(node.operands) < 3 or not constants.is_constant(node.operand(2)):
        return None
    number, adds_rank = other
    alpha = constants.constant_value(node.operand(2))
    if not isinstance(alpha, int | float):
        return None
    sign = -alpha if node.op.startswith("aten::sub") else alpha
    if side == 0:
        return _finite(1.0, sign * number, channels, adds_rank)
    return _finite(sign, number, channels, adds_rank)


# -- folding ----------------------------------------------------------------------------------------------------------


def _apply(before: Node, after: Node, weights: tuple[Array, Array], affine: Affine) -> None:
    graph = after.graph
    for use in before.result().uses():
        if use.user.op == "aten::dim":  # convolutions and linears keep the rank
            use.user.replace_operand(use.offset, before.operand(0))
    known = constants.constant_value(before.operand(1))
    weight = _scaled(before, weights[0], affine.scale)
    bias = weights[1] * affine.scale + affine.shift
    with graph.inserting(after), graph.at_range(before.range):
        new = [insert_constant(graph, wrap(a.astype(known._array.dtype))) for a in (weight, bias)]
        folded = [before.operand(0), *new, *before.operands[3:]]
        if before.op == "aten::linear" and _size(after.operand(3)) != 1:
            result = _where_rank_is(before, after, 2, folded)
        else:
            result = _insert(before, folded)
            axes = _axes(before)
            if affine.adds_rank and axes is not None:
                result = _with_batch(before, result, axes + 2)
    after.result().replace_uses_with(result)
    after.erase()
    if not before.result().is_used:
        before.erase()


def _size(value: Value) -> int | None:
    constant = _tensor(value)
    return None if constant is None else constant.numel()


def _insert(like: Node, operands: list[Value]) -> Value:
    graph = like.graph
    return graph.insert(like.op, operands, [TENSOR], **like.attributes).result()


def _rank(value: Value) -> int | None:
    return (
        len(value.static_type.sizes)
        if isinstance(value.static_type, TensorType) and value.static_type.sizes is not None
        else None
    )


def _rank_is(value: Value, rank: int) -> Value:
    graph = value.owner_block.graph
    rank_of_value = graph.insert("aten::dim", [value], [constants.type_of(rank)]).result()
    return graph.insert("aten::eq", [rank_of_value, insert_constant(graph, rank)], [BOOL]).result()


def _is_guarded(node: Node) -> bool:
    """Whether a node is in a branch on the rank of its input: what is there was folded as far as it can be."""
    owner = node.owner_block.owner_node
    condition = owner.operand(0).defining_node if owner is not None and owner.op == "prim::If" else None
    rank = condition.operand(0).defining_node if condition is not None and condition.op == "aten::eq" else None
    return rank is not None and rank.op == "aten::dim" and rank.operand(0) is node.operand(0)


def _where_rank_is(before: Node, after: Node, rank: int, folded: list[Value]) -> Value:
    """The folded operator for inputs of this rank, both operators for others."""
    graph = after.graph
    if _rank(before.operand(0)) == rank:
        return _insert(before, folded)
    branch = graph.insert("prim::If", [_rank_is(before.operand(0), rank)], [TENSOR])
    for operands in (folded, None):
        block = branch.add_block()
        with graph.inserting(block):
            if operands is not None:
                block.add_return(_insert(before, operands))
                continue
            copies: dict[Value, Value] = {}
            graph.insert_node(clone_node(before, graph, copies))
            graph.insert_node(clone_node(after, graph, copies))
            block.add_return(copies[after.result()])
    return branch.result()


def _with_batch(before: Node, result: Value, rank: int) -> Value:
    """The result, of this rank for inputs without a batch too: the constant that was folded had that rank."""
    graph = before.graph
    known = _rank(before.operand(0))
    if known == rank:
        return result
    branch = graph.insert("prim::If", [_rank_is(before.operand(0), rank)], [TENSOR])
    branch.add_block().add_return(result)
    other = branch.add_block()
    with graph.inserting(other):
        zero = insert_constant(graph, 0)
        other.add_return(graph.insert("aten::unsqueeze", [result, zero], [TENSOR]).result())
    return branch.result()
