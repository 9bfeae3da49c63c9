"""Operators without a batching rule: run once for each element of the batch, and the results put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.batching.operand import NotBatched, Operand
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor


def looped(definition: OpDef, operands: Sequence[Any], size: int) -> Any:
    """The results of the whole batch, one element after the other.

    Raises RuntimeError for results of different sizes.
    """
    if size == 0:
        return _of_none(definition, operands)
    results = [dispatch.run(definition, [_element(o, number) for o in operands]) for number in range(size)]
    if definition.schema.is_mutable:
        first = operands[0]
        return first.value if isinstance(first, Operand) else NotBatched(None)
    return _joined(results)


def _element(operand: Any, number: int) -> Any:
    if isinstance(operand, Operand):
        return OPERATORS.select(operand.value, 0, number) if operand.is_batched else operand.value
    return [_element(o, number) for o in operand] if isinstance(operand, list) else operand


def _joined(results: Sequence[Any]) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        return OPERATORS.stack(list(results))
    if isinstance(first, list | tuple):
        return type(first)([_joined(column) for column in zip(*results, strict=True)])
    if any(one != first for one in results):
        raise RuntimeError("vmap: an operator gave different Python values for the elements of a batch")
    return first


def _of_none(definition: OpDef, operands: Sequence[Any]) -> Any:
    """The results for an empty batch: of the sizes of those for an element of zeros."""
    if definition.schema.is_mutable:
        return operands[0].value
    result = dispatch.run(definition, [_zeros(o) for o in operands])
    return _emptied(result)


def _zeros(operand: Any) -> Any:
    if isinstance(operand, Operand):
        return operand.value.new_zeros(list(operand.sizes)) if operand.is_batched else operand.value
    return [_zeros(o) for o in operand] if isinstance(operand, list) else operand


def _emptied(result: Any) -> Any:
    if isinstance(result, Tensor):
        return result.new_zeros([0, *result._array.shape])
    return type(result)([_emptied(r) for r in result]) if isinstance(result, list | tuple) else result
