"""How many planes of the input a convolution takes at a time, and how many positions.

With 16 vector registers a tile has few filters, so the numbers of the input are read again and again. They come from
the first cache where those of some planes at some positions fit in there while all filters go over them. With 32 they
are read half as often, and the second cache is quick enough but for windows, whose rows no step foresees.
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.codegen.choose_schedule import first_cache
from flambeau.codegen.convolutions.lines import Line
from flambeau.codegen.convolutions.planes import Planes
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.routines.numbers import least, most
from flambeau.util.record import dataclass

POSITIONS_TOGETHER: Final = (96, 48)
"""Positions of a stage, the most first: multiples of the widths of all tiles."""
FEWEST_STEPS, FEWEST_STEPS_OF_WIDE_TILES = 128, 256
"""Of a stage, so that reading and writing sums costs little, with 16 vector registers and with 32."""
LINE, PAGE = 64, 4096
"""Bytes of a cache's line, and between numbers that are at the same place of the first cache."""
MOST_MEETING: Final = 16
"""Planes that may be in the same places of the first cache, about."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What is summed at a time; positions do not matter where that is all planes."""

    planes: Any
    positions: int


def stage_of(target: Target, planes: Any, lines: tuple[Line, Line], pitch: Any, size: int) -> Stage:
    """The stage of a convolution of so many planes, whose rows lie `pitch` numbers apart."""
    down, across = lines
    is_one_part = len(down.parts) == len(across.parts) == 1
    if target.vector_bits <= 128 or not is_one_part:
        return Stage(planes, 0)
    steps, is_narrow = len(down.parts[0]) * len(across.parts[0]), _is_narrow(target)
    if not steps:  # all that windows show is padding
        return Stage(planes, 0)
    fewest = FEWEST_STEPS if is_narrow else FEWEST_STEPS_OF_WIDE_TILES
    each, positions = 1, POSITIONS_TOGETHER[0]
    for positions in POSITIONS_TOGETHER:
        each = most(1, first_cache() // _plane_bytes(lines, positions, pitch, size))
        if each * steps >= fewest:
            break
    is_worth_it = is_narrow or each * steps >= fewest
    if planes <= each * 5 // 4 or not is_worth_it:
        return Stage(planes, 0)
    return Stage(-(-planes // -(-planes // each)), positions)


def spread(size: Any) -> Any:
    """Bytes from one plane of so many to the next, so that planes do not meet in the same places of the first cache: an
    odd number of lines.
    """
    lines = -(-size // LINE)
    return (lines + 1 - lines % 2) * LINE


def meet(target: Target, planes: Planes, stage: Stage, size: int) -> bool:
    """Whether what a stage takes of planes that lie so far from their images would be in few places of the first
    cache, as where images are a power of two, and be read from there.
    """
    is_read_again = _is_narrow(target) or stage.planes < planes.count
    positions = stage.positions or POSITIONS_TOGETHER[-1]
    if not is_read_again or planes.count < MOST_MEETING:
        return False
    apart = 1 << (2 * positions * size).bit_length()  # the least power of two that is more
    return apart <= PAGE and bool(planes.apart % apart == 0)


def _is_narrow(target: Target) -> bool:
    """Whether tiles have few filters, so that the input is read often."""
    return target.vector_registers < 32 and target.vector_bits > 128


def _plane_bytes(lines: tuple[Line, Line], positions: int, pitch: Any, size: int) -> Any:
    """Bytes of a plane that windows at so many positions take, about: rows of a kernel meet where images are narrow."""
    down, across = lines
    along = positions + across.reach
    apart = len(down.parts[0]) * (along * size + LINE)
    together = len(down.shifts) * ((along + down.reach * pitch) * size + LINE)
    return len(across.shifts) * least(apart, together)
