"""Gradients in the sizes and the dtype of what they belong to: summed over what was broadcast, converted back."""

from __future__ import annotations

from typing import Any

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.proxies import FloatProxy, NumberProxy, TensorProxy, UntraceableError
from flambeau.autodiff.symbolic_sizes import ONE, Sizes
from flambeau.ir.graph import Value
from flambeau.schema.types import TensorType


def fitted(builder: Builder, gradient: Any, operand: Value) -> Value:
    """What a formula gave for an operand, as the operand's gradient. Raises UntraceableError where its rank or dtype is
    not known."""
    if not isinstance(operand.static_type, TensorType):
        return as_number(builder, gradient)
    if isinstance(gradient, int | float) and operand.static_type.sizes is not None:  # the 0 of x ** 0
        like = builder.proxy(operand)
        gradient = builder.operators.new_full(like, like.shape, gradient)
    if not isinstance(gradient, TensorProxy):
        raise UntraceableError("a gradient that is no tensor")
    gradient = _summed(builder, gradient, operand)
    wanted, dtype = operand.static_type.dtype, gradient.dtype
    if wanted is None:
        raise UntraceableError("the dtype of an operand")
    if dtype.is_complex and not wanted.is_complex:
        gradient = builder.operators.real(gradient)
    if gradient.dtype is not wanted:
        gradient = builder.operators.to(gradient, wanted)
    value: Value = gradient.value
    builder.sizes.set(value, builder.sizes.of(operand))
    return value


def as_number(builder: Builder, gradient: Any) -> Value:
    """The gradient of a float: of a tensor the sum of all elements."""
    if isinstance(gradient, TensorProxy):
        if gradient.dtype.is_complex:
            raise UntraceableError("a complex gradient of a number")
        if gradient.dim() > 0:
            gradient = builder.operators.sum(gradient)
        gradient = FloatProxy(builder, builder.node("aten::Float", [gradient.value]).value)
    if isinstance(gradient, NumberProxy):
        return gradient.value
    return builder.constant(float(gradient))


def _summed(builder: Builder, gradient: TensorProxy, operand: Value) -> TensorProxy:
    """Summed over the axes along which the operand was broadcast."""
    have, want = builder.sizes.of(gradient.value), builder.sizes.of(operand)
    if have is None or want is None:
        raise UntraceableError("the rank of an operand")
    extra = len(have) - len(want)
    if extra < 0:
        raise UntraceableError("a gradient of a lower rank")
    if extra:
        gradient = builder.operators.sum(gradient, list(range(extra)))
    folded = [a for a, size in enumerate(want) if size is ONE and have[a + extra] is not ONE]
    if folded:
        gradient = builder.operators.sum(gradient, folded, True)
    for axis in _undecided(have[extra:], want):
        gradient = _where_one(builder, gradient, operand, axis)
    return gradient


def _undecided(have: Sizes, want: Sizes) -> list[int]:
    """The axes along which an operand may have been broadcast or not."""
    assert have is not None
    assert want is not None
    return [
        axis
        for axis, (is_there, wanted) in enumerate(zip(have, want, strict=True))
        if wanted.is_one is None and wanted is not is_there and is_there is not ONE
    ]


def _where_one(builder: Builder, gradient: TensorProxy, operand: Value, axis: int) -> TensorProxy:
    """Summed over an axis if the operand has the size 1 there, which the run knows."""
    graph = builder.graph
    size = builder.size(TensorProxy(builder, operand), axis, builder.sizes.of(operand)[axis])  # type: ignore[index]
    is_one = (size == 1).value
    before = gradient.value
    node = graph.insert("prim::If", [is_one], [before.static_type])
    with graph.inserting(node.add_block()):
        folded = builder.operators.sum(TensorProxy(builder, before), [axis], True).value
    node.nested_blocks[0].add_return(folded)
    node.add_block().add_return(before)
    result = node.result()
    type_ = before.static_type
    assert isinstance(type_, TensorType)
    sizes = type_.sizes
    result.set_type(type_.refine(sizes=None if sizes is None else (None,) * len(sizes), strides=None))
    return TensorProxy(builder, result)
