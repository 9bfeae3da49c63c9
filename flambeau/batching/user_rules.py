"""Batching rules of users: kernels for the dispatch key `Batched`, and blocks that pass over the key.

A rule gets a `VmapInfo`, the axis of the batch in each argument (None where all share it) and the arguments, and gives
the results of the whole batch with the axis in each. In a block that excludes the key, operators run once for each
element of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from flambeau.batching.operand import NotBatched, Operand
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.schema.opdef import OpDef
from flambeau.tensor import kernels
from flambeau.tensor.interceptors import stack
from flambeau.tensor.tensor import Tensor

BATCHED: Final = "Batched"
RESULT: Final = "the batching rule of {name} should return (result, out_dims), got {found}"


class VmapInfo(NamedTuple):
    """What a rule is told of the batch."""

    batch_size: int
    randomness: str


def is_passed_over() -> bool:
    """Whether operators are to run once for each element of a batch."""
    return BATCHED in stack().excluded


def applied(definition: OpDef, operands: Sequence[Any], info: VmapInfo) -> Any:
    """What a user's rule gives for the whole batch, the batch in front; None where there is no rule.

    Raises RuntimeError for something else than results and axes.
    """
    if not kernels.table.kernels:
        return None
    rule = kernels.table.get(definition.full_name, BATCHED)
    if rule is None:
        return None
    values = [plain_operand(operand) for operand in operands]
    dims = tuple([_dims(operand) for operand in operands])
    with kernels.past(definition.full_name, BATCHED):
        results = rule(info, dims, *values)
    if not (isinstance(results, tuple) and len(results) == 2):
        raise RuntimeError(RESULT.format(name=definition.full_name, found=type(results).__name__))
    result, out_dims = results
    if isinstance(result, Tensor):
        return NotBatched(result) if out_dims is None else _fronted(result, out_dims)
    axes = list(out_dims) if isinstance(out_dims, tuple | list) else [out_dims] * len(result)
    return type(result)([
        _repeated(one, info.batch_size) if axis is None else _fronted(one, axis)
        for one, axis in zip(result, axes, strict=True)
    ])  # fmt: skip


def plain_operand(operand: Any) -> Any:
    """What a rule is given for an operand: its value, in lists item by item."""
    if isinstance(operand, Operand):
        return operand.value
    return [plain_operand(one) for one in operand] if isinstance(operand, list) else operand


def _dims(operand: Any) -> Any:
    if isinstance(operand, Operand):
        return 0 if operand.is_batched else None
    return [_dims(one) for one in operand] if isinstance(operand, list) else None


def _fronted(value: Tensor, axis: int) -> Tensor:
    moved: Tensor = value if axis == 0 else OPERATORS.movedim(value, axis, 0)
    return moved


def _repeated(value: Tensor, size: int) -> Tensor:
    """A result that is the same for all, as a batch."""
    repeated: Tensor = OPERATORS.expand(value, [size, *value._array.shape])
    return repeated
