"""A convolution of arrays as words and tables: worked out once for all calls with arrays of such sizes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.choose_schedule import second_cache
from flambeau.codegen.convolutions import rests
from flambeau.codegen.convolutions.lines import (
    SAVED,
    SAVED_BEYOND_CACHE,
    Line,
    Pair,
    Window,
    line_of,
    saved_by_shifts,
    shifted_line,
    vector_cost,
)
from flambeau.codegen.convolutions.planes import Planes
from flambeau.codegen.convolutions.stages import Stage, meet, spread, stage_of
from flambeau.codegen.convolutions.tile import AHEAD
from flambeau.codegen.convolutions.words import PART, PROBLEM
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.routines.memory import Filling, Memory
from flambeau.codegen.routines.numbers import best, bits_of, chosen, least, most
from flambeau.util.record import dataclass

Array = np.ndarray[Any, Any]

POSITIONS, FOLDED_POSITIONS = 800, 1024
"""Positions of a band, about: the sums of some filters for all of them stay in the first cache, or the gradients of
some, which are folded at the end of a band.
"""
MOST_COPIED: Final = 1 << 20
"""Bytes of a band's copy, about, where the second cache has room for it."""
FEWEST_POSITIONS: Final = 256
"""Positions of a band, at least, where sums of all filters are kept."""
FILTERS_FOR_COPIES: Final = 32
"""Filters that make up for copying planes which could be read in place, but meet in the first cache."""
MOST_COLUMNS: Final = 2048
"""Columns of a band; longer rows go in chunks."""
SLACK: Final = 4096
"""Bytes that may be read and written behind copies and sums."""
CANDIDATES: Final = 8
"""Numbers of images, or of rows, that are compared: the largest that there may be, and those below."""
LARGEST_OFFSET: Final = (1 << 31) - 1
STEP_BYTES: Final = 8
"""Of a step of a part: two ints of 32 bits."""
NANOSECONDS: Final = 0.03
"""Of a multiplication, about."""


@dataclass(frozen=True, slots=True)
class Strides:
    """Bytes from one to the next."""

    image: int
    group: int
    row: int
    column: int


@dataclass(slots=True, eq=False)
class Problem:
    """The words of a convolution, but for addresses of arrays. What they point to is in the memory that was given."""

    words: list[Any]
    units: Any
    nanoseconds: Any


@dataclass(frozen=True, slots=True)
class Input:
    """How the input of a convolution lies, of one depth if it has three dimensions."""

    images: int
    height: int
    width: int
    strides: Strides
    planes: Planes
    """How far each plane lies from its image's group."""


@dataclass(frozen=True, slots=True)
class Filters:
    """How weights lie."""

    number: int
    """Of a group."""
    planes: Planes
    """How far the weights of each plane of the input lie from their filter's."""
    group: int
    """Bytes from one group to the next."""
    filter: int
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Results:
    """How results lie."""

    rows: int
    columns: int
    strides: tuple[int, int, int, int]
    """Bytes from one image, filter, row and column to the next."""


@dataclass(frozen=True, slots=True)
class Bands:
    """How images are cut: into bands of rows, chunks of columns, several images together."""

    is_in_place: bool
    rows: int
    chunk: int
    images: int
    pitch: int
    copy_rows: int
    stage: Stage

    @property
    def image_size(self) -> int:
        """Numbers of an image in a copied plane."""
        return self.copy_rows * self.pitch


def _is_in_place(x: Input, results: Results, lines: tuple[Line, Line], size: int) -> bool:
    """Whether windows can be read where they lie: side by side, without steps, and none beyond the image."""
    down, across = lines
    is_plain = x.strides.column == size and x.strides.row % size == 0 and x.strides.row >= x.width * size
    has_no_steps = down.step == across.step == 1 and len(down.parts) == len(across.parts) == 1
    has_one_copy = len(down.shifts) == len(across.shifts) == 1
    is_inside = down.before == across.before == 0 and (
        results.rows + down.reach <= x.height and results.columns + across.reach <= x.width
    )
    return bool(is_plain and has_no_steps and has_one_copy and is_inside)


def cut(
    x: Input, results: Results, lines: tuple[Line, Line], size: int, positions: int, may_be_in_place: bool,
    filters: int,
) -> Bands:  # fmt: skip
    """The bands for about so many positions; those of convolutions in stages for as many as sums of all filters have
    room for.
    """
    down, across = lines
    rows, columns = max(down.sizes), max(across.sizes)
    is_in_place = may_be_in_place and _is_in_place(x, results, lines, size)
    chunk = columns if columns <= MOST_COLUMNS else -(-columns // -(-columns // (MOST_COLUMNS // 2)))
    pitch = x.strides.row // size if is_in_place else chunk + across.reach
    planes = x.planes.count
    stage = Stage(planes, 0)
    if positions == POSITIONS and planes:
        stage = stage_of(engine().target, planes, lines, pitch, size)
        if filters >= FILTERS_FOR_COPIES and meet(engine().target, x.planes, stage, size):
            is_in_place = False
        if stage.planes < planes:
            positions = least(POSITIONS, most(FEWEST_POSITIONS, second_cache() * 2 // 5 // (filters * size)))
    row_bytes, room = _row_bytes(stage.planes, lines, pitch, size), min(MOST_COPIED, _cached())
    band = most(1, least(rows, positions // pitch, room // row_bytes - down.reach))
    band = -(-rows // -(-rows // band))
    copy_rows = band + down.reach
    images = 1
    if not is_in_place and x.images != 1 and band == rows and chunk == columns:
        images = most(1, least(x.images, positions // (copy_rows * pitch), room // (row_bytes * copy_rows)))
        images = images_together(images, copy_rows * pitch, (band - 1) * pitch + chunk, size)
    return Bands(is_in_place, band, chunk, images, pitch, copy_rows, stage)


def largest_numbers(largest: Any) -> list[Any]:
    """Some numbers up to one, the largest first; the least is 1, once or several times."""
    if type(largest) is int:
        return [*range(largest, max(0, largest - CANDIDATES), -1)]
    return [most(1, largest - k) for k in range(CANDIDATES)]


def images_together(largest: Any, image: Any, positions: Any, size: int) -> Any:
    """How many images of so many positions, which lie `image` numbers apart in a copy, go together at least cost for
    each: between them vectors sum what nobody reads.
    """
    lanes = engine().target.vector_bits // (8 * size)
    if largest == 1:
        return 1
    numbers = largest_numbers(largest)
    _, number = best([(vector_cost((n - 1) * image + positions, lanes) / n, n) for n in numbers])
    return number


def _row_bytes(planes: Any, lines: tuple[Line, Line], pitch: Any, size: int) -> Any:
    """Bytes of a row of all copies of so many planes."""
    down, across = lines
    return most(1, planes * len(down.shifts) * len(across.shifts) * pitch * size)


def _cached() -> int:
    """Bytes that stay in the second cache beside weights and results."""
    return second_cache() * 3 // 4


def _lines(x: Input, y: Results, window: Window, filters: int, size: int) -> tuple[Line, Line]:
    """Both dimensions, with copies shifted by each column of the kernel where that pays."""
    lanes = engine().target.vector_bits // (8 * size)
    down, across = line_of(window, 0, y.rows), line_of(window, 1, y.columns)
    saved = saved_by_shifts(window, filters, y.rows, y.columns, lanes)
    if not saved:
        return down, across
    shifted = shifted_line(window, 1, y.columns)
    rows = least(y.rows, POSITIONS // y.columns) + down.reach
    planes = stage_of(engine().target, x.planes.count, (down, shifted), y.columns, size).planes
    fits = rows * _row_bytes(planes, (down, shifted), y.columns, size) <= _cached()
    return down, shifted if saved >= (SAVED if fits else SAVED_BEYOND_CACHE) else across


def make_problem(
    dtype: np.dtype[Any], x: Input, w: Filters, y: Results, window: Window, groups: int, memory: Memory, *,
    may_be_in_place: bool, positions: int = POSITIONS,
) -> Problem:  # fmt: skip
    """The problem of convolving such an input, giving such results; its tables go to the memory."""
    size = dtype.itemsize
    if positions == POSITIONS:
        lines = _lines(x, y, window, w.number, size)
    else:
        lines = line_of(window, 0, y.rows), line_of(window, 1, y.columns)
    down, across = lines
    bands = cut(x, y, lines, size, positions, may_be_in_place, w.number)
    shifts = [(a, b) for a in down.shifts for b in across.shifts]
    copied = bands.images * bands.image_size * size
    steps, parts = _tables(lines, shifts, x.planes, w, bands, spread(copied), size, memory)
    _, _, y_row, y_column = y.strides
    part_words, address = [], steps
    for (i, j), count in parts:
        part_words += [address, count, i * y_row + j * y_column, down.sizes[i], across.sizes[j]]
        address = address + count * STEP_BYTES
    assert PART.words * len(parts) == len(part_words)
    counts = [-(-max(down.sizes) // bands.rows), -(-max(across.sizes) // bands.chunk)]
    settings = {
        "planes": x.planes.table(memory), "shifts": memory.words([n for pair in shifts for n in pair]),
        "parts": memory.words(part_words), "groups": groups, "bands": counts[0], "chunks": counts[1],
        "plane_count": x.planes.count, "shift_count": len(shifts), "part_count": len(parts),
        **{name: bits_of(-np.inf, size) for name in ("least", "last_least")},
        **{name: bits_of(np.inf, size) for name in ("most", "last_most")},
        **_input_words(x, lines), **_result_words(w, y, window.stride if window.is_transposed else (1, 1)),
        **_band_words(bands, copied, bands.stage.planes * len(shifts)),
        "rest_bytes": _rest_bytes(parts[0][1], lines, w, size) if len(parts) == 1 else 0,
    }  # fmt: skip
    words: list[Any] = [0] * PROBLEM.words
    indices = PROBLEM.indices
    for name, value in settings.items():
        words[indices[name]] = value
    multiplications = x.images * groups * w.number * y.rows * y.columns * x.planes.count * prod(window.kernel)
    units = groups * counts[0] * counts[1] * -(-x.images // bands.images)
    return Problem(words, units, multiplications * NANOSECONDS * size / 4)


def _rest_bytes(count: int, lines: tuple[Line, Line], w: Filters, size: int) -> int:
    """Bytes of a column of places left over, which take so many steps; 0 where taking these by themselves does not pay,
    or weights of a filter do not follow each other.
    """
    width = engine().target.vector_bits // 8
    if w.number < rests.FEWEST_FILTERS or count * size < rests.FEWEST_VECTORS * width or width <= 16:
        return 0
    taps = [r.number * w.row + c.number * w.column for r in lines[0].parts[0] for c in lines[1].parts[0]]
    if taps != [k * size for k in range(len(taps))] or not w.planes.follow(len(taps) * size):
        return 0
    return -(-count * size // width) * width + width


def _input_words(x: Input, lines: tuple[Line, Line]) -> dict[str, int]:
    down, across = lines
    return {
        "images": x.images, "height": x.height, "width": x.width, "x_image": x.strides.image,
        "x_group": x.strides.group, "x_row": x.strides.row, "x_column": x.strides.column, "step_rows": down.step,
        "step_columns": across.step, "before_rows": down.before, "before_columns": across.before,
    }  # fmt: skip


def _result_words(w: Filters, y: Results, step: Pair) -> dict[str, int]:
    image, filter_, row, column = y.strides
    return {
        "filters": w.number, "filters_each": w.number, "w_group": w.group, "w_filter": w.filter, "y_image": image,
        "y_filter": filter_, "y_row": row * step[0], "y_column": column * step[1],
    }  # fmt: skip


def _band_words(bands: Bands, copied: int, planes: int) -> dict[str, int]:
    """Words that follow from the bands, `copied` being the bytes of a plane of a copy."""
    sums = -(-(copied + SLACK // 8) // 64) * 64
    # Rows of sums a page apart would meet in the same places of the first cache.
    sums = sums + chosen(copied % 4096 < 1024, 64, 0)
    return {
        "images_each": bands.images, "band_rows": bands.rows, "chunk_columns": bands.chunk, "pitch": bands.pitch,
        "copy_rows": bands.copy_rows, "image_size": bands.image_size, "plane_bytes": spread(copied),
        "copy_bytes": 0 if bands.is_in_place else planes * spread(copied) + SLACK, "sums_bytes": sums,
        "planes_each": most(1, bands.stage.planes), "positions_each": bands.stage.positions,
        "slopes_bytes": -(-copied // 64) * 64 + 64, "is_in_place": int(bands.is_in_place),
    }  # fmt: skip


def _tables(
    lines: tuple[Line, Line], shifts: Sequence[Pair], planes: Planes, w: Filters, bands: Bands, plane_bytes: Any,
    size: int, memory: Memory,
) -> tuple[Any, list[tuple[Pair, int]]]:  # fmt: skip
    """The address of the steps of all parts, one after another, with some more behind them, and of each part which one
    it is and how many steps it has.
    """
    down, across = lines
    together, row_bytes = bands.stage.planes, bands.pitch * size
    from_x = planes if bands.is_in_place else planes.copied(together, plane_bytes)
    numbers = {pair: k for k, pair in enumerate(shifts)}
    shift = together * plane_bytes
    fillings: list[Filling] = []
    parts: list[tuple[Pair, int]] = []
    behind = 0
    for (i, rows), (j, columns) in product(enumerate(down.parts), enumerate(across.parts)):
        taps = list(product(rows, columns))
        in_x = tuple([
            numbers[r.shift, c.shift] * shift + r.offset * row_bytes + c.offset * size for r, c in taps
        ])  # fmt: skip
        in_w = tuple([r.number * w.row + c.number * w.column for r, c in taps])
        fillings += from_x.fillings(2 * behind, in_x, 2)
        fillings += w.planes.fillings(2 * behind + 1, in_w, 2)
        count = planes.count * len(taps)
        behind = behind + count
        parts.append(((i, j), count))
    fillings.append(Filling(2 * behind, 0, 2 * AHEAD))
    return memory.table(np.int32, 2 * (behind + AHEAD), fillings), parts


def fits(*bytes_: Any) -> bool:
    """Whether offsets up to these are what tables can hold."""
    return all(bool(abs(count) <= LARGEST_OFFSET) for count in bytes_)
