"""What batching rules see of an operator's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.batching.operators import EITHER, sizes_of
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor of an operator's arguments."""

    value: Tensor
    """With the batch as first axis, if it has one."""
    is_batched: bool
    is_number: bool = False
    """Whether it stands for a Python number."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes without the batch."""
        shape: tuple[int, ...] = sizes_of(self.value)
        return shape[1:] if self.is_batched else shape

    @property
    def rank(self) -> int:
        """The number of axes without the batch."""
        return self.value.ndim - self.is_batched


@dataclass(frozen=True, slots=True)
class NotBatched:
    """A result that is the same for each element of the batch."""

    value: Any


def in_front(operand: Operand, size: int) -> Tensor:
    """The tensor with the batch as first axis: repeated, without copying, if it is one for all."""
    if operand.is_batched:
        return operand.value
    value = operand.value
    result: Tensor = EITHER.expand(value, [size, *sizes_of(value)])
    return result


def ranked(operand: Operand, rank: int) -> Tensor:
    """The tensor with axes of size one behind the batch, up to a rank: what broadcasting adds without a batch."""
    if not operand.is_batched or operand.rank >= rank:
        return operand.value
    value = operand.value
    for _ in range(rank - operand.rank):
        value = EITHER.unsqueeze(value, 1)
    return value


def all_of(arguments: Sequence[Any]) -> list[Operand]:
    """The operands among arguments, in lists too."""
    operands: list[Operand] = []
    for one in arguments:
        if isinstance(one, Operand):
            operands.append(one)
        elif isinstance(one, list):
            operands += all_of(one)
    return operands


def axis(dim: int, rank: int) -> int:
    """An axis in a value with the batch in front. Raises IndexError for one that is out of range."""
    most = max(rank, 1)
    if not -most <= dim < most:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], but got {dim})"
        )
    return dim % most + 1


def axes(dim: Any, rank: int) -> list[int]:
    """All axes that a `dim` argument names, behind the batch: every one if it names none."""
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        return list(range(1, rank + 1))
    return [axis(dim, rank)] if isinstance(dim, int) else [axis(d, rank) for d in dim]
