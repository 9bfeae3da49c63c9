"""Batching rules of indexing with tensors: the batch is indexed by a tensor of its numbers where the places differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.batching.operand import Operand, in_front, ranked
from flambeau.batching.operators import EITHER
from flambeau.batching.rules import Call, batches, decomposes
from flambeau.schema.device import Device
from flambeau.schema.dtype import bool_, uint8


@batches("aten::index")
def _index(call: Call) -> Any:
    own, indices = call["self"], list(call["indices"])
    used = [i for i in indices if i is not None]
    is_batched = any(i.is_batched for i in used)
    if any(map(_is_mask, used)):
        return None if is_batched else _masked(call, own, indices)
    first, is_adjacent = _places(indices)
    rank = max(i.rank for i in used)
    if not is_batched:
        result = call.run([own.value, [None, *[None if i is None else i.value for i in indices]]])
        return result if is_adjacent else EITHER.movedim(result, rank, 0)
    whole = _numbered(call.size, indices, rank, own.value.device)
    result = EITHER.index(in_front(own, call.size), whole)
    if not is_adjacent or first == 0:
        return result
    moved = list(range(1, rank + 1))
    return EITHER.movedim(result, moved, [m + first for m in moved])


def _is_mask(index: Operand) -> bool:
    return index.value.dtype in (bool_, uint8)


def _masked(call: Call, own: Operand, indices: Sequence[Any]) -> Any:
    """By masks that are the same for the whole batch."""
    if sum(i is not None for i in indices) > 1:
        return None
    return call.run([own.value, [None, *[None if i is None else i.value for i in indices]]])


@batches("aten::masked_select")
def _masked_select(call: Call) -> Any:
    """The elements where a mask that is the same for the whole batch is true."""
    own, mask = call["self"], call["mask"]
    if mask.is_batched:
        return None
    rank = max(own.rank, mask.rank)
    value, shared = ranked(own, rank), mask.value
    if own.sizes != mask.sizes:
        sizes = list(np.broadcast_shapes(own.sizes, mask.sizes))
        value, shared = EITHER.expand(value, [call.size, *sizes]), EITHER.expand(shared, sizes)
    if rank == 0:
        value, shared = EITHER.unsqueeze(value, 1), EITHER.unsqueeze(shared, 0)
    return EITHER.index(value, [None, shared])


def _places(indices: Sequence[Any]) -> tuple[int, bool]:
    """Where the first index is, and whether all are next to each other."""
    at = [n for n, one in enumerate(indices) if one is not None]
    return at[0], at[-1] - at[0] + 1 == len(at)


def _numbered(size: int, indices: Sequence[Any], rank: int, device: Device) -> list[Any]:
    """Indices for a value with the batch in front: the number in the batch, and what was there."""
    numbers = EITHER.reshape(EITHER.arange(size, device=device), [size, *[1] * rank])
    return [numbers, *[None if i is None else ranked(i, rank) for i in indices]]


@batches("aten::index_put", "aten::_unsafe_index_put")
def _index_put(call: Call) -> Any:
    own, indices = call["self"], list(call["indices"])
    used = [i for i in indices if i is not None]
    if any(map(_is_mask, used)):
        return None
    first, is_adjacent = _places(indices)
    rank = max(i.rank for i in used)
    values = _put(call["values"], rank + own.rank - len(used), first if is_adjacent else 0, rank)
    arguments = [in_front(own, call.size), _numbered(call.size, indices, rank, own.value.device), values]
    return call.run([*arguments, *call.arguments[3:]])


def _put(values: Operand, shown: int, first: int, rank: int) -> Any:
    """What is put where the numbers of the batch are among the indices, of which the first comes behind `first` axes
    that are taken whole: with these behind the `rank` axes of the places, in all `shown`."""
    value = ranked(values, shown)
    if first == 0 or values.rank == 0:
        return value
    while value.ndim <= shown:
        value = EITHER.unsqueeze(value, 0)
    return EITHER.movedim(value, list(range(first + 1, first + rank + 1)), list(range(1, rank + 1)))


@batches("aten::embedding")
def _embedding(call: Call) -> Any:
    """Rows of one table for all, or of a table each: of all tables below one another."""
    weight, indices = call["weight"], call["indices"]
    if not weight.is_batched:
        return call.run([weight.value, indices.value, *call.arguments[2:]])
    rows, width = weight.sizes
    tables = EITHER.reshape(weight.value, [call.size * rows, width])
    numbers = EITHER.arange(call.size, device=tables.device)
    starts = EITHER.reshape(numbers * rows, [call.size, *[1] * indices.rank])
    return call.run([tables, EITHER.add(indices.value, starts), -1, *call.arguments[3:]])


decomposes("aten::take")(lambda f, self, index: f.index(f.reshape(self, [-1]), [index]))
