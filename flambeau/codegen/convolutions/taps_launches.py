"""Pooling, interpolation and padding as launches, for groups of plans: which elements each place of a result takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Final

from flambeau.codegen.convolutions.axes import Axis, identity
from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.problem import SLACK
from flambeau.codegen.convolutions.run import TYPES, linked, pieces_of
from flambeau.codegen.convolutions.taps import Kind, taps_text
from flambeau.codegen.convolutions.words import TAPS, TAPS_AT
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.numbers import bits_of
from flambeau.codegen.routines.table import Routine

MOST_AXES: Final = 3
NANOSECONDS: Final = 0.6
"""Of an element that a place takes, about."""


@cache
def _code(character: str) -> NativeCode:
    """The code for a dtype."""
    return linked(taps_text, character, tuple(kind.value for kind in Kind))


def launch_of(
    x: Lying, axes: Sequence[Axis], kind: Kind, memory: Memory, filling: float = 0.0, *, keeps_order: bool = False
) -> Launch:
    """The launch for arrays that lie as `x`, whose last axes are these. Places that take nothing hold `filling`.

    `keeps_order`: where channels of `x` lie innermost in memory, those of the result do.
    """
    lead = x.shape[: x.ndim - len(axes)]
    if x.dtype.char not in TYPES or len(axes) > MOST_AXES or len(lead) > 2 or x.size == 0:
        raise KernelError(f"no such windows over a tensor of {x.dtype} with {x.ndim} axes")
    shape = (*lead, *[a.places for a in axes])
    if prod(shape) == 0:
        raise KernelError("a result of nothing")
    output, strides = result_of(x, shape, keeps_order=keeps_order)
    missing = MOST_AXES - len(axes)
    every: list[Axis] = [*[identity(1)] * missing, *axes]
    steps = [*(0,) * missing, *x.strides[len(lead) :]]
    is_plain = steps[2] == x.itemsize
    is_direct = bool(is_plain) and all(a.is_plain() for a in every[:2])
    tables = [a.table(memory, step, x.dtype) for a, step in zip(every, (*steps[:2], x.itemsize), strict=True)]
    images, channels = (1,) * (2 - len(lead)) + lead
    x_image, x_channel = (0,) * (2 - len(lead)) + x.strides[: len(lead)]
    y_image, y_channel = (0,) * (2 - len(lead)) + strides[: len(lead)]
    y_depth, y_row, y_column = (0,) * missing + strides[len(lead) :]
    is_dense = bool(y_column == x.itemsize)
    even_from, even_end, even_step = every[2].even_places() if is_dense else (0, 0, 1)
    words = memory.struct(
        TAPS, x_image=x_image, x_channel=x_channel, channels=channels, width=x.shape[-1], x_column=steps[2],
        depths=every[0].places, rows=every[1].places, columns=every[2].places, depth_places=tables[0],
        row_places=tables[1], column_places=tables[2], y_image=y_image, y_channel=y_channel, y_depth=y_depth,
        y_row=y_row, y_column=y_column, filling=bits_of(filling, x.itemsize),
        room_bytes=x.shape[-1] * x.itemsize + SLACK, is_direct=int(is_direct), even_from=even_from,
        even_end=even_end, even_step=even_step,
    )  # fmt: skip
    block = [0] * (TAPS_AT + 1)
    block[TAPS_AT] = words
    units = images * channels
    down = prod(a.places for a in every[:2])
    taken = down * every[2].taps + prod(a.taps for a in every[:2]) * x.shape[-1] / 8
    nanoseconds = NANOSECONDS * units * taken
    step, pieces = pieces_of(units, nanoseconds)
    return Launch(
        (output,), block, units, None, step, pieces, nanoseconds,
        routine=Routine(_code(x.dtype.char), kind.value, memory.kept),
    )  # fmt: skip
