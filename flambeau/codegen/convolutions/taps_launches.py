"""Pooling, interpolation and padding as launches, for groups of plans: which elements each place of a result takes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.problem import SLACK, Array
from flambeau.codegen.convolutions.run import TYPES, linked, pieces_of
from flambeau.codegen.convolutions.taps import Kind, taps_text
from flambeau.codegen.convolutions.words import TAPS, TAPS_AT
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode
from flambeau.codegen.routines.table import Routine
from flambeau.util.array_address import address_of
from flambeau.util.record import dataclass

MOST_AXES: Final = 3
NANOSECONDS: Final = 0.6
"""Of an element that a place takes, about."""
LARGEST_SIZE: Final = 1 << 24
"""Places of an axis, for which tables are made, at most."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What each place along an axis takes: `counts` elements each, at `indexes`, which count by `weights`."""

    counts: Array
    indexes: Array
    weights: Array
    divisors: Array


def ranges(starts: Array, counts: Array, step: int = 1, divisors: Array | None = None) -> Axis:
    """So many elements from each start on, `step` apart."""
    if counts.sum() > LARGEST_SIZE:
        raise KernelError("tables that would be too large")
    first = np.cumsum(counts) - counts
    within = np.arange(int(counts.sum())) - np.repeat(first, counts)
    indexes = np.repeat(starts, counts) + within * step
    return Axis(counts, indexes, np.ones(len(indexes)), np.ones(len(counts)) if divisors is None else divisors)


def weighted(indexes: Sequence[Array], weights: Sequence[Array]) -> Axis:
    """As many elements for each place, by weights: the first of all places, the second of all, and so on."""
    count = len(indexes[0])
    return Axis(
        np.full(count, len(indexes)), np.stack(indexes, axis=1).reshape(-1), np.stack(weights, axis=1).reshape(-1),
        np.ones(count),
    )  # fmt: skip


def identity(size: int) -> Axis:
    """Each element as it is."""
    return ranges(np.arange(size), np.ones(size, np.int64))


@cache
def _code(character: str) -> NativeCode:
    """The code for a dtype."""
    return linked(taps_text, character, tuple(kind.value for kind in Kind))


def launch_of(x: Array, axes: Sequence[Axis], kind: Kind, filling: float = 0.0, *, keeps_order: bool = False) -> Launch:
    """The launch for arrays that lie as `x`, whose last axes are these. Places that take nothing hold `filling`.

    `keeps_order`: where channels of `x` lie innermost in memory, those of the result do.
    """
    lead = x.shape[: x.ndim - len(axes)]
    if x.dtype.char not in TYPES or len(axes) > MOST_AXES or len(lead) > 2 or not x.size:
        raise KernelError(f"no such windows over a tensor of {x.dtype} with {x.ndim} axes")
    shape = (*lead, *[len(a.counts) for a in axes])
    if not prod(shape):
        raise KernelError("a result of nothing")
    output, strides = result_of(x, shape, keeps_order=keeps_order and x.ndim == 4)
    missing = MOST_AXES - len(axes)
    every = [*[identity(1)] * missing, *axes]
    steps = [*(0,) * missing, *x.strides[len(lead) :]]
    is_plain = steps[2] == x.itemsize
    is_direct = is_plain and all(_is_plain(a) for a in every[:2])
    tables = [_table(a, step, x.dtype) for a, step in zip(every, (*steps[:2], x.itemsize), strict=True)]
    images, channels = (1,) * (2 - len(lead)) + lead
    x_image, x_channel = (0,) * (2 - len(lead)) + x.strides[: len(lead)]
    y_image, y_channel = (0,) * (2 - len(lead)) + strides[: len(lead)]
    y_depth, y_row, y_column = (0,) * missing + strides[len(lead) :]
    words = TAPS.pack(
        x_image=x_image, x_channel=x_channel, channels=channels, width=x.shape[-1], x_column=steps[2],
        depths=len(every[0].counts), rows=len(every[1].counts), columns=len(every[2].counts),
        depth_places=_address(tables[0]), row_places=_address(tables[1]), column_places=_address(tables[2]),
        y_image=y_image, y_channel=y_channel, y_depth=y_depth, y_row=y_row, y_column=y_column,
        filling=_bits(filling, x.itemsize), room_bytes=x.shape[-1] * x.itemsize + SLACK, is_direct=int(is_direct),
        **_even_places(every[2], y_column == x.itemsize),
    )  # fmt: skip
    block = [0] * (TAPS_AT + 1)
    block[TAPS_AT] = ctypes.addressof(words)
    units = images * channels
    down = prod(len(a.counts) for a in every[:2])
    taken = down * len(every[2].indexes) + prod(len(a.indexes) for a in every[:2]) * x.shape[-1] / 8
    nanoseconds = NANOSECONDS * units * taken
    step, pieces = pieces_of(units, nanoseconds)
    return Launch(
        (output,), block, units, None, step, pieces, nanoseconds,
        routine=Routine(_code(x.dtype.char), kind.value, (words, tables)),
    )  # fmt: skip


def _even_places(axis: Axis, is_dense: bool) -> dict[str, int]:
    """The places that vectors take: the longest stretch that there may be, if its elements are evenly apart."""
    most = int(axis.counts.max())
    full = np.flatnonzero(axis.counts == most)
    start, end = int(full[0]), int(full[-1]) + 1
    if is_dense and most and end - start == len(full) > 1:
        first = int(axis.counts[:start].sum())
        indexes, weights = (a[first : first + most * len(full)] for a in (axis.indexes, axis.weights))
        apart, divisors = np.diff(indexes.reshape(-1, most), axis=0), axis.divisors[start:end]
        step = int(apart[0, 0])
        if step in (1, 2) and (apart == step).all() and (weights == 1).all() and (divisors == divisors[0]).all():
            return {"even_from": start, "even_end": end, "even_step": step}
    return {"even_from": 0, "even_end": 0, "even_step": 1}


def _is_plain(axis: Axis) -> bool:
    """Whether each place takes one element as it is, or none."""
    return bool((axis.counts <= 1).all() and (axis.weights == 1).all())


def _table(axis: Axis, step: int, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The places of an axis, and their elements."""
    taps = np.zeros((max(1, len(axis.indexes)), 2), np.int64)
    table = np.zeros((len(axis.counts), 3), np.int64)
    taps[: len(axis.indexes), 0] = axis.indexes * step
    per_word = 8 // dtype.itemsize
    taps.view(dtype)[: len(axis.indexes), per_word] = axis.weights
    table[:, 0] = _at(taps) + (np.cumsum(axis.counts) - axis.counts) * taps.strides[0]
    table[:, 1] = axis.counts
    table.view(dtype)[:, 2 * per_word] = axis.divisors
    return table, taps


def _at(a: Array) -> int:
    return address_of(a)


def _address(table: tuple[Array, Array]) -> int:
    return _at(table[0])


def _bits(value: float, size: int) -> int:
    return int.from_bytes(struct.pack("<f" if size == 4 else "<d", value), "little", signed=True)
