"""The schedule of a kernel: rows that registers hold, tiles of columns, folds over everything with several states a
thread, the rest as ``schedule.choose`` says.

Of a row, a thread holds at most ``IN_REGISTERS`` elements; more than ``FEW`` only where there are rows enough to keep
the device busy. What threads read side by side, they read in accesses of up to 16 bytes.
"""

from __future__ import annotations

import math

from flambeau.codegen.cuda.columns import has_columns, has_pieces
from flambeau.codegen.cuda.loops import has_scans, is_scan
from flambeau.codegen.cuda.mapped import WARP
from flambeau.codegen.cuda.recomputed import recomputed
from flambeau.codegen.cuda.rows import row_axis
from flambeau.codegen.cuda.scans import WIDTH as SCAN_WIDTH
from flambeau.codegen.cuda.schedule import (
    ACCESS_BYTES,
    MAX_WIDE_BLOCKS,
    MOST_WIDE,
    PROCESSORS,
    CudaSchedule,
    choose,
)
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import Load, Loop, Statement, Store, scatters, walk
from flambeau.codegen.specialize import Specialized
from flambeau.util.record import replace

IN_REGISTERS, FEW = 32, 8
"""Elements of a row that a thread holds at most, and where it need not wait for others to be read."""
ROW_WORDS, ROW_WORDS_LARGE = 96, 40
"""Registers for them, and in blocks of 1024 threads, which have 64 each for everything."""
BUSY_THREADS = 512
"""Threads for each processor that keep it busy while each waits for what it reads."""
TILE, ROW_THREADS, ROWS_AT_ONCE = 32, 16, 8
"""Columns of a tile, threads that share out the rows of each, and rows that a thread reads at a time."""
FEW_COLUMNS, FEW_ROWS = 8, 16
"""Columns below which, and rows up to which, a tile has another shape."""
FOLD_BLOCKS = 4
"""Blocks of a fold over everything for each processor."""
SCAN_BLOCKS = 8
"""Blocks of a scan over everything for each processor."""
IN_FLIGHT = 4
"""Accesses of a thread under way at a time."""


def choose_schedule(
    special: Specialized, aligned: frozenset[str] | None = None, processors: int = PROCESSORS
) -> CudaSchedule:
    """A schedule for a specialised kernel and its sizes. Of the inputs, ``aligned`` begin at multiples of 16 bytes; all
    of them if None."""
    schedule = replace(choose(special, aligned), processors=processors)
    kernel = special.kernel
    outer = [s for s in kernel.body if isinstance(s, Loop)]
    if scatters(kernel):
        return schedule
    if has_scans(kernel.body):
        is_of_all = any(s.carries for s in outer) and not schedule.alone
        blocks = SCAN_BLOCKS * processors if is_of_all else schedule.max_blocks
        return replace(schedule, wide=_side_by_side_in_scans(special, aligned), max_blocks=blocks)
    if schedule.alone:
        return _rows_in_registers(special, kernel.body, 1, schedule, aligned)
    if len(outer) == 1 and not outer[0].carries:
        if _runs_down(special, outer[0]) and has_columns(kernel, outer[0]):
            return _tile(special, outer[0], schedule)
        if schedule.team == "thread":
            return schedule
        return _rows_in_registers(special, outer[0].body, _iterations(outer[0], special.sizes), schedule, aligned)
    return _fold(special, outer, schedule, aligned)


def with_columns(special: Specialized) -> Specialized:
    """The same kernel, computing again what it would keep in scratch, where that gives it columns that blocks can
    share."""
    kernel = special.kernel
    outer = [s for s in kernel.body if isinstance(s, Loop)]
    if not kernel.scratch or len(outer) != 1 or outer[0].carries or has_scans(kernel.body):
        return special
    if not _runs_down(special, outer[0]):
        return special
    plain = recomputed(kernel)
    if plain is None or not has_columns(plain, next(s for s in plain.body if isinstance(s, Loop))):
        return special
    return replace(special, kernel=plain)


def check_schedule(special: Specialized, schedule: CudaSchedule) -> None:
    """Raises ``KernelError`` for rows that are not what a schedule has registers for, and for what has no columns."""
    outer = [s for s in special.kernel.body if isinstance(s, Loop)]
    if schedule.columns:
        _check_columns(special, schedule, outer)
    if not schedule.slots:
        return
    axis = row_axis(special.kernel, special.kernel.body if schedule.alone else outer[0].body)
    if axis is None:
        raise KernelError("registers hold rows whose loops all run over one axis, element by element; write slots=0")
    size, group = special.sizes[axis], schedule.width * schedule.team_size
    most = schedule.slots * group
    if not most - group < size <= most or size % schedule.width or (schedule.whole and size != most):
        raise KernelError(
            f"rows of {size} elements are not what {schedule.team_size} threads hold in {schedule.slots} slots of "
            f"{schedule.width}; write slots={-(-size // group)}"
        )


def _check_columns(special: Specialized, schedule: CudaSchedule, outer: list[Loop]) -> None:
    if len(outer) != 1 or outer[0].carries or not has_columns(special.kernel, outer[0]):
        raise KernelError("columns are iterations of one loop with loops inside that need no scratch; write columns=0")
    if schedule.pieces > 1 and not has_pieces(special.kernel, outer[0]):
        raise KernelError("columns can be cut where nothing else is stored than in their loop; write pieces=1")
    if schedule.team != "tile" or schedule.threads % schedule.columns or schedule.team_size & (schedule.team_size - 1):
        raise KernelError(
            f"a tile of {schedule.columns} columns has a power of two of threads for each, got {schedule.threads} "
            f"threads of a {schedule.team}; write team='tile', threads={16 * schedule.columns}"
        )


def _runs_down(special: Specialized, outer: Loop) -> bool:
    """Whether more of what the loops inside read lies side by side along the outer loop than along themselves."""
    across = down = 0
    for loop in (s for s in outer.body if isinstance(s, Loop)):
        for name in {s.buffer for s in loop.body if isinstance(s, Load)}:
            item = element_type(special.kernel.buffer(name).dtype).itemsize
            across += bool(loop.axes) and special.strides.get((name, loop.axes[-1])) == item
            down += bool(outer.axes) and special.strides.get((name, outer.axes[-1])) == item
    return down > across


def _tile(special: Specialized, outer: Loop, schedule: CudaSchedule) -> CudaSchedule:
    """Blocks of neighbouring columns; more of them, or pieces, where there are too few to keep the device busy."""
    inner = [s for s in outer.body if isinstance(s, Loop)]
    columns = _iterations(outer, special.sizes)
    rows = max(_iterations(loop, special.sizes) for loop in inner)
    tile, row_threads, pieces = TILE, ROW_THREADS, 1
    if rows <= FEW_ROWS:
        tile, row_threads = 8 * TILE, 1
    else:
        if columns >= FEW_COLUMNS and has_pieces(special.kernel, outer):
            wanted = -(-FOLD_BLOCKS * schedule.processors // -(-columns // tile))
            pieces = max(1, min(wanted, rows // (2 * row_threads * ROWS_AT_ONCE)))
        while pieces == 1 and tile > FEW_COLUMNS and columns < tile * schedule.processors:
            tile, row_threads = tile // 2, row_threads * 2
    wide, _ = _wide(special, outer.axes, outer.body, None, 1)
    return replace(
        schedule, team="tile", threads=tile * row_threads, columns=tile, pieces=pieces, wide=wide, width=1,
        vectors=min(ROWS_AT_ONCE, max(rows // row_threads, 1)), max_blocks=MAX_WIDE_BLOCKS,
    )  # fmt: skip


def _iterations(loop: Loop, sizes: dict[str, int]) -> int:
    return math.prod(sizes[a] for a in loop.axes)


def _rows_in_registers(
    special: Specialized, body: tuple[Statement, ...], rows: int, schedule: CudaSchedule, aligned: frozenset[str] | None
) -> CudaSchedule:
    """Rows in registers, where they can be and fit; others are read several elements of a thread at a time."""
    axis = row_axis(special.kernel, body)
    if axis is None or not special.sizes[axis]:
        return schedule
    columns, words = special.sizes[axis], _words(special, body, axis)
    for threads in (32, 64, 128, 256, 512, 1024):
        team = "block" if schedule.alone or threads > WARP else "warp"
        wide, width = _wide(special, (axis,), body, aligned, columns // threads)
        slots = -(-columns // (width * threads))
        count, limit = slots * width, ROW_WORDS if threads < 1024 else ROW_WORDS_LARGE
        is_busy = rows * threads >= schedule.processors * BUSY_THREADS
        if count <= IN_REGISTERS and count * words <= limit and (count <= FEW or is_busy or threads == 1024):
            return replace(
                schedule, team=team, threads=128 if team == "warp" else threads, shared_scratch=False, width=width,
                wide=wide, slots=slots, whole=slots * width * threads == columns,
                max_blocks=1 if schedule.alone else MAX_WIDE_BLOCKS,
            )  # fmt: skip
    wide, _ = _wide(special, (axis,), body, aligned, 1)
    return replace(schedule, wide=wide, vectors=ROWS_AT_ONCE)


def _words(special: Specialized, body: tuple[Statement, ...], axis: str) -> int:
    """Registers for one element of everything that a loop over rows reads, or keeps for the next."""
    names = {s.buffer for s in walk(body) if isinstance(s, Load | Store)}
    buffers = [b for b in special.kernel.buffers if b.name in names and axis in b.axes and b.role != "out"]
    return sum(max(element_type(b.dtype).bits // 32, 1) for b in buffers) or 1


def _wide(
    special: Specialized, axes: tuple[str, ...], body: tuple[Statement, ...], aligned: frozenset[str] | None, most: int,
    *, may_rest: bool = False,
) -> tuple[tuple[str, ...], int]:  # fmt: skip
    """The buffers whose elements are neighbours along the last of these axes, and how many of them a thread takes in
    one access: no more than ``most``, and rows have no rest but where it may be."""
    inner, sizes = axes[-1], special.sizes
    dense = _dense(special, inner, body)
    width = min(ACCESS_BYTES // max(dense.values(), default=ACCESS_BYTES), MOST_WIDE)
    while width > 1 and ((sizes[inner] % width and not may_rest) or width > most):
        width //= 2
    while width > 1 and not all(_begins(special, n, inner, width * item, aligned) for n, item in dense.items()):
        width //= 2
    return tuple(dense), width


def _dense(special: Specialized, axis: str, body: tuple[Statement, ...]) -> dict[str, int]:
    """The buffers that some statements use whose elements are neighbours along an axis, with the bytes of an element.
    """
    used = {s.buffer for s in walk(body) if isinstance(s, Load | Store)}
    items = {b.name: element_type(b.dtype).itemsize for b in special.kernel.buffers if b.role != "scratch"}
    return {n: i for n, i in items.items() if n in used and special.strides.get((n, axis)) == i}


def _begins(special: Specialized, name: str, inner: str, nbytes: int, aligned: frozenset[str] | None) -> bool:
    """Whether every row of a buffer begins at a multiple of so many bytes."""
    is_input = special.kernel.buffer(name).role == "in"
    steps = [step for (n, axis), step in special.strides.items() if n == name and axis != inner]
    return (aligned is None or not is_input or name in aligned) and all(step % nbytes == 0 for step in steps)


def _fold(
    special: Specialized, outer: list[Loop], schedule: CudaSchedule, aligned: frozenset[str] | None
) -> CudaSchedule:
    """Folds over everything: several accesses of a thread at a time, blocks by the size of the device."""
    plain = replace(schedule, max_blocks=FOLD_BLOCKS * schedule.processors)
    folds = [
        _wide(special, loop.axes, loop.body, aligned, MOST_WIDE, may_rest=len(loop.axes) == 1)
        for loop in outer
        if loop.axes
    ]
    inside = [s for loop in outer for s in walk(loop.body)]
    if not folds or any(isinstance(s, Loop) for s in inside):
        return plain
    width = min(w for _, w in folds)
    wide = tuple(dict.fromkeys(name for names, _ in folds for name in names))
    if any(_is_apart(special, loop, set(wide)) for loop in outer if loop.axes):
        wide, width = (), 1
    return replace(plain, width=width, wide=wide, vectors=IN_FLIGHT if width > 1 else 2 * IN_FLIGHT)


def _side_by_side_in_scans(special: Specialized, aligned: frozenset[str] | None) -> tuple[str, ...]:
    """The buffers of scans that threads read and write several neighbours of at a time: none where a thread's
    neighbours are not all there, or none of them."""
    scans = [s for s in walk(special.kernel.body) if isinstance(s, Loop) and is_scan(s)]
    axes = {loop.axes for loop in scans}
    if len(axes) != 1 or len(next(iter(axes))) != 1:
        return ()
    [(axis,)] = axes
    if not special.sizes[axis] or special.sizes[axis] % SCAN_WIDTH:
        return ()
    body = tuple(s for loop in scans for s in loop.body)
    return tuple(
        name
        for name, item in _dense(special, axis, body).items()
        if item * SCAN_WIDTH <= ACCESS_BYTES and _begins(special, name, axis, SCAN_WIDTH * item, aligned)
    )


def _is_apart(special: Specialized, loop: Loop, wide: set[str]) -> bool:
    """Whether a loop uses a buffer of these that is not side by side along its last axis."""
    used = {s.buffer for s in walk(loop.body) if isinstance(s, Load | Store)} & wide
    item = {b.name: element_type(b.dtype).itemsize for b in special.kernel.buffers}
    return any(special.strides.get((n, loop.axes[-1])) != item[n] for n in used)
