"""Chooses a schedule for a specialised kernel: which axis to vectorise, how wide, and how to write."""

from __future__ import annotations

import functools
import math

from flambeau.codegen.costs import NANOSECONDS, bytes_moved
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import (
    Accumulate,
    Buffer,
    Kernel,
    Let,
    Loop,
    Running,
    main_loops,
    scatters,
    walk,
)
from flambeau.codegen.kernel.seldom import usual
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.packing import packs_for
from flambeau.codegen.scatter_schedule import changes_side_by_side, is_better_alone, is_little_work, meets_itself
from flambeau.codegen.schedule import Schedule, Split
from flambeau.codegen.specialize import Specialized, parallel_group, widest_bits
from flambeau.util.record import replace


@functools.cache
def last_level_cache() -> int:
    """Bytes of the last-level cache; 32 MB where the system does not say."""
    return _cache_bytes(3, 32 << 20)


@functools.cache
def first_cache() -> int:
    """Bytes of a core's first cache for data; 32 KB where the system does not say."""
    return _cache_bytes(0, 32 << 10)


@functools.cache
def second_cache() -> int:
    """Bytes of a core's second cache; 1 MB where the system does not say."""
    return _cache_bytes(2, 1 << 20)


def _cache_bytes(index: int, otherwise: int) -> int:
    try:
        with open(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size") as file:
            text = file.read().strip()
    except OSError:
        return otherwise
    scale = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
    return int(text.rstrip("KM")) * scale


def choose(
    special: Specialized, target: Target, aligned_outputs: bool, exact: frozenset[str] | None = None
) -> Schedule:
    """A schedule for ``special``; ``aligned_outputs``: every output row starts on a 64-byte boundary.

    ``exact``: the axes whose size is this one in all calls that the schedule is for; None for all of them.
    """
    special = replace(special, kernel=usual(special.kernel))
    schedule = _choose(special, target, aligned_outputs, exact)
    if not scatters(special.kernel):
        return schedule
    jam = max(schedule.jam, changes_side_by_side(special.kernel, schedule.vector_axis))
    return replace(schedule, dense=_dense(special), jam=jam)


def _dense(special: Specialized) -> frozenset[tuple[str, str]]:
    sizes = {b.name: element_type(b.dtype).itemsize for b in special.kernel.inputs + special.kernel.outputs}
    return frozenset(pair for pair, stride in special.strides.items() if stride == sizes.get(pair[0]))


def _choose(special: Specialized, target: Target, aligned_outputs: bool, exact: frozenset[str] | None) -> Schedule:
    kernel = special.kernel
    axis = _vector_axis(special)
    if axis is None or is_better_alone(special, axis):
        return Schedule()
    packs = packs_for(special, axis)
    unit = frozenset(p.buffer for p in packs) | _side_by_side(special, axis)
    lanes = _lanes(special, axis, unit, target)
    fixed = tuple([(a, n) for a, n in _fixed(special, axis, lanes) if exact is None or a in exact])
    if axis not in dict(fixed):
        lanes = _fewer_lanes(special, axis, lanes, target)
    lanes, rest_lanes = _in_long_runs(special, axis, lanes, target)
    return Schedule(
        vector_axis=axis,
        lanes=lanes,
        rest_lanes=rest_lanes,
        unit=unit,
        nontemporal=aligned_outputs and _is_large(special) and not scatters(kernel),
        packs=packs,
        narrow=math.prod(special.sizes.values()) < 2**31 and _remembers_places(kernel),
        fixed=fixed,
        next_row=_asks_for_next_row(special, fixed),
        jam=_jam(kernel, dict(fixed)),
        prefetch=0 if packs or _takes_pages(kernel, lanes, rest_lanes) else _prefetched(special, axis),
    )


def _side_by_side(special: Specialized, axis: str) -> frozenset[str]:
    """The buffers whose elements along an axis lie next to each other."""

    def is_dense(b: Buffer) -> bool:
        if b.role == "scratch":
            return b.axes[-1] == axis
        return special.strides[b.name, axis] == element_type(b.dtype).itemsize

    return frozenset(b.name for b in special.kernel.buffers if axis in b.axes and is_dense(b))


PREFETCHED = 8
PREFETCH_FROM = 1 << 19
"""Bytes from which folds of columns ask for memory ahead: what is in the second cache comes soon enough."""


STRIP, MOST_STRIP = 1024, 32
"""Bytes of a row that folds of columns take at once, since each row may lie in a page of its own, and vectors at most:
states that registers do not hold lie in the first cache."""


WIDE_STRIP, WIDE_FROM = 2048, 1 << 22
"""The same where a call goes over so many bytes that the second cache does not keep them: the processor asks for memory
ahead within a page, and longer runs there are twice as fast."""
PAGE_STRIP = 4096
"""The same for vectors of up to 256 bits, where a row has as many bytes: what is asked for ahead would only take turns
with what is read, so it is not. Of 4096x1024 floats variances take 1,140 us instead of 1,470, batch norm 2,360 instead
of 3,370."""


def _in_long_runs(special: Specialized, axis: str, lanes: int, target: Target) -> tuple[int, int]:
    """Lanes of an iteration, more where columns of large arrays are folded, and those of what is then left, or 0."""
    kernel = special.kernel
    is_far = bytes_moved(special) >= WIDE_FROM and _folds_columns(kernel, axis) and _is_light(kernel, target)
    wide = WIDE_STRIP * 8 // widest_bits(kernel)
    page = PAGE_STRIP * 8 // widest_bits(kernel)
    if target.vector_bits <= 256 and special.sizes[axis] >= page:
        wide = page
    is_narrow = lanes * widest_bits(kernel) < STRIP * 8 or special.sizes[axis] < wide
    if not is_far or is_narrow or _remembers_places(kernel) or packs_for(special, axis):
        return lanes, 0
    return wide, lanes


def _takes_pages(kernel: Kernel, lanes: int, rest_lanes: int) -> bool:
    """Whether an iteration takes a page of a row."""
    return bool(rest_lanes) and lanes * widest_bits(kernel) == PAGE_STRIP * 8


def _remembers_places(kernel: Kernel) -> bool:
    return any(isinstance(s, Accumulate) and s.position is not None for s in walk(kernel.body))


def _prefetched(special: Specialized, axis: str) -> int:
    """Iterations ahead of which a fold of columns asks for memory."""
    return PREFETCHED if _folds_columns(special.kernel, axis) and bytes_moved(special) >= PREFETCH_FROM else 0


def _folds_columns(kernel: Kernel, axis: str) -> bool:
    """Whether something is folded along another axis for each iteration of the vector axis."""
    return axis in parallel_group(kernel) and any(isinstance(s, Accumulate) for s in walk(kernel.body))


FIXED_FROM = 1 << 16
"""Bytes of a call from which code for the very size of a short axis pays."""
MOST_UNROLLED = 16
"""Iterations of a plain loop that are unrolled."""


def _fixed(special: Specialized, axis: str, lanes: int) -> tuple[tuple[str, int], ...]:
    """The short inner axes and their sizes."""
    if bytes_moved(special) < FIXED_FROM:
        return ()
    fixed: dict[str, int] = {}
    outermost = {s.axes[0] for s in special.kernel.body if isinstance(s, Loop) and s.axes}
    for s in walk(special.kernel.body):
        if not isinstance(s, Loop) or any(isinstance(x, Loop) for x in s.body):
            continue
        for a in s.axes[-1:]:
            most = MOST_UNROLLED if a != axis else lanes * (4 if len(s.body) <= 8 else 2)
            if a not in outermost and special.sizes[a] <= most:
                fixed[a] = special.sizes[a]
    return tuple(fixed.items())


def _asks_for_next_row(special: Specialized, fixed: tuple[tuple[str, int], ...]) -> bool:
    """Whether long rows are gone through several times, so that memory is idle during the later passes."""
    loops = main_loops(special.kernel)
    if len(loops) != 1 or loops[0].carries or fixed or bytes_moved(special) < PREFETCH_FROM:
        return False
    inner = [s for s in loops[0].body if isinstance(s, Loop)]
    return len(inner) > 1 and any(s.carries for s in inner)


JAMMED, JAMMED_ONCE = 8, 4
"""Short rows computed side by side, where they take several passes and where they take one."""


def _jam(kernel: Kernel, fixed: dict[str, int]) -> int:
    """How many rows to compute side by side: several where each is short and folded, so that folds can overlap."""
    loops = main_loops(kernel)
    if len(loops) != 1 or loops[0].carries or not any(isinstance(s, Loop) and s.carries for s in loops[0].body):
        return 1
    inner = [s for s in walk(loops[0].body) if isinstance(s, Loop)]
    if not all(len(s.axes) == 1 and s.axes[0] in fixed for s in inner):
        return 1
    return JAMMED if len(inner) > 1 else JAMMED_ONCE


def _vector_axis(special: Specialized) -> str | None:
    """The axis along which most inputs lie element by element; the innermost where none does, None without loops."""
    kernel = special.kernel
    inner = [s.axes[-1] for s in walk(kernel.body) if isinstance(s, Loop) and s.axes]
    candidates = list(dict.fromkeys(reversed(inner)))
    if not candidates:
        return None
    candidates = [a for a in candidates if not (meets_itself(kernel, a) and is_little_work(kernel, a))] or candidates
    parallel = parallel_group(kernel)

    def weight(axis: str) -> tuple[int, int]:
        """What lies element by element along the axis, and what can be copied so, which counts for less."""
        packed = {p.buffer for p in packs_for(special, axis)}
        units = 0
        for b in kernel.inputs + kernel.outputs:
            is_unit = special.strides.get((b.name, axis)) == element_type(b.dtype).itemsize
            if is_unit or b.name in packed:
                units += math.prod(special.sizes[a] for a in b.axes) * (4 if is_unit else 3)
        return units, special.sizes[axis]

    best = max(candidates, key=weight)
    # Inside the parallel group only its last axis may be vectorised when loops run within it.
    return best if best not in parallel or best == parallel[-1] else parallel[-1]


def _lanes(special: Specialized, axis: str, unit: frozenset[str], target: Target) -> int:
    """Lanes of an iteration: several machine vectors, but no more than the axis fills."""
    per_vector = target.vector_bits // widest_bits(special.kernel)
    fitting = 1 << max(special.sizes[axis], 1).bit_length() - 1
    return min(_wanted_lanes(special.kernel, axis, unit, target), max(per_vector, fitting))


SHORTEST_LOOP = 64
"""Elements of a row, in loops of more than which an iteration is a quarter of the row at most."""


def _fewer_lanes(special: Specialized, axis: str, lanes: int, target: Target) -> int:
    """Lanes of an iteration where rows of some hundred elements are folded or gone through again and again.

    What a row has beyond whole vectors takes as long as an iteration, and with AVX2, whose masks are vectors, longer.
    """
    size = special.sizes[axis]
    if axis in parallel_group(special.kernel) or size <= SHORTEST_LOOP:
        return lanes
    per_vector = target.vector_bits // widest_bits(special.kernel)
    return min(lanes, max(per_vector, (1 << size.bit_length() - 1) // 4))


def _wanted_lanes(kernel: Kernel, axis: str, unit: frozenset[str], target: Target) -> int:
    per_vector = target.vector_bits // widest_bits(kernel)
    if not _reads_side_by_side(kernel, axis, unit) or meets_itself(kernel, axis):
        return per_vector
    lets = [s for s in walk(kernel.body) if isinstance(s, Let)]
    if _folds_columns(kernel, axis) and _is_light(kernel, target):
        return min(STRIP * 8 // widest_bits(kernel), per_vector * MOST_STRIP)
    if len(lets) <= 2 and any(isinstance(s, Accumulate) for s in walk(kernel.body)):
        return per_vector * 8
    # Long chains of instructions wait for each other more than for registers; short ones wait for memory.
    waits = any(s.op in NANOSECONDS for s in lets)
    return per_vector * (4 if waits or target.vector_registers >= 32 else 2)


def _reads_side_by_side(kernel: Kernel, axis: str, unit: frozenset[str]) -> bool:
    """Whether the inputs of an iteration's lanes lie side by side, and no lane waits for the one before."""
    if axis not in parallel_group(kernel) and any(isinstance(s, Running) for s in walk(kernel.body)):
        return False
    return all(b.name in unit for b in kernel.inputs if axis in b.axes)


def _is_light(kernel: Kernel, target: Target) -> bool:
    """Whether what is folded is so little work that wide rows, for the sake of memory, pay."""
    folded = [s for s in walk(kernel.body) if isinstance(s, Loop) and s.carries]
    lets = [s for fold in folded for s in walk(fold.body) if isinstance(s, Let)]
    most = 4 if target.vector_registers >= 32 else 2
    return len(lets) <= most and not any(s.op in NANOSECONDS for s in lets)


def _is_large(special: Specialized) -> bool:
    """Whether a call moves more than most of the last-level cache."""
    return bytes_moved(special) >= last_level_cache() * 3 // 4


PREPARED_FROM = 0.15
"""Cost from which a value that repeats in every row is kept: reading back roots and quotients was slower."""
PARALLEL_FROM = 8000.0
"""Nanoseconds of estimated work from which several threads pay."""
PIECES_PER_THREAD = 4
PACKED_ROWS = 16
"""Rows of a tile that are copied together."""


def _grain(special: Specialized, schedule: Schedule) -> int:
    """What the number of iterations in a piece is a multiple of."""
    first = next(iter(main_loops(special.kernel)), None)
    axis = first.axes[0] if first is not None and first.axes else None
    if any(p.along == axis for p in schedule.packs):
        return PACKED_ROWS * max(p.tiles for p in schedule.packs)
    lanes = schedule.rest_lanes or schedule.lanes
    return max(lanes if axis == schedule.vector_axis else 1, schedule.jam)


def split(special: Specialized, schedule: Schedule, is_divisible: bool, threads: int) -> Split:
    """How the iterations of the outermost axis are shared out."""
    first = next(iter(main_loops(special.kernel)), None)
    axis = first.axes[0] if first is not None and first.axes else None
    if threads < 2 or not is_divisible or axis is None:
        return Split(axis)
    return Split(axis, 1, _grain(special, schedule), threads * PIECES_PER_THREAD)
