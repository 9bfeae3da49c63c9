"""How a loop nest is spread over a grid: choices that change speed, never a value but for the order of float sums.

The iterations of the outermost loop go to teams: threads, warps or blocks. A team of many threads shares out the
iterations of the loops inside, and folds through shuffles and shared memory. A loop that is itself a fold of the
outermost level goes to all threads of the grid, a partial result a block, which the next kernel folds. Everything
depends on sizes and strides alone, so the same call gives the same bits on every device.
"""

from __future__ import annotations

import math

from flambeau.backends.cuda import sums
from flambeau.codegen.cuda.loops import adds_alone, has_scans, residues_for
from flambeau.codegen.cuda.mapped import WARP
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Kernel, Load, Loop, Statement, Store, scatters, walk
from flambeau.codegen.specialize import Specialized
from flambeau.util.record import dataclass, replace

SHARED_BYTES = 47 << 10
"""Shared memory that every device gives a block without being asked, less what the folds take."""
MAX_BLOCKS = 4096
MAX_PARTIALS = 512
"""Blocks of a fold over everything: each leaves a partial result that the next kernel reads."""
ALONE_UP_TO = 1 << 14
"""Iterations up to which one block does all of a fold over everything, which saves launches."""
ACCESS_BYTES, MOST_WIDE = 16, 8
"""Bytes of the largest access of one thread, and elements that it takes at a time at most."""
WIDE_FROM, MANY = 1 << 12, 1 << 19
"""Iterations from which threads take several at a time, and from which there are threads enough to take more yet."""
MAX_WIDE_BLOCKS = 1 << 20
"""Blocks of such iterations: a thread goes on to further ones only where there are more than these."""
PROCESSORS = 132
"""Multiprocessors of a device of which nothing else is said."""
LEAST_TURNED = 16
"""Elements along each of two axes from which inputs that lie across are turned in shared memory."""
COLUMNS_FROM = 512
"""Iterations of the outer loop from which a thread each keeps the device busy."""


@dataclass(frozen=True, slots=True)
class CudaSchedule:
    """One set of choices."""

    team: str = "thread"
    """Who takes an iteration of the outermost loop: a ``thread``, a ``warp`` or a ``block``; or a column of a block's
    threads, a ``tile`` of ``columns`` of them being a block."""
    threads: int = 256
    """Threads of a block, a multiple of 32."""
    alone: bool = False
    """One block does everything, as a team that takes the one iteration of no loop."""
    shared_scratch: bool = False
    """Scratch rows of a team lie in shared memory; they take it from global memory otherwise."""
    narrow: bool = False
    """All indices fit 31 bits."""
    max_blocks: int = MAX_BLOCKS
    contract: bool = False
    """Allow a product and a sum of the user's to fuse into one rounding."""
    width: int = 1
    """Neighbours along the innermost axis that a thread takes at a time."""
    vectors: int = 1
    """How many times ``width`` a thread takes before it uses any."""
    wide: tuple[str, ...] = ()
    """Buffers that a thread reads or writes ``width`` neighbours of in one access."""
    slots: int = 0
    """Times ``width`` elements of a row that each thread of a team holds in registers; 0 where it reads them again."""
    whole: bool = False
    """A row is exactly what the threads of a team hold."""
    columns: int = 0
    """Of a tile: neighbouring iterations of the outermost loop that a block takes together."""
    pieces: int = 1
    """Of a tile: parts into which the rows of its columns are cut, each a block's."""
    processors: int = PROCESSORS
    """Of the device: a fold over everything has some blocks for each."""
    turned: tuple[str, ...] = ()
    """Inputs that lie side by side along ``across`` instead of the innermost axis, read by square tiles."""
    across: str = ""
    residues: int = 1
    """Threads that share the places along an axis that values go along, where they change them."""
    atomic: bool = False
    """Additions at places that values say are atomic, in no order, instead of by the one thread that has a place."""

    @property
    def team_size(self) -> int:
        """Threads of a team."""
        if self.team == "tile":
            return self.threads // self.columns
        return {"thread": 1, "warp": WARP, "block": self.threads}[self.team]

    @property
    def teams(self) -> int:
        """Teams of a block."""
        return self.threads // self.team_size

    @property
    def per_block(self) -> int:
        """Iterations that a block takes at a time."""
        return self.teams if self.slots or self.team != "thread" else self.teams * self.width * self.vectors

    def key(self) -> str:
        """A line of text that tells schedules apart."""
        flags = [f for f in ("alone", "shared_scratch", "narrow", "contract") if getattr(self, f)]
        if self.slots:
            flags.append(f"{self.slots} slots of {self.width} {'whole ' * self.whole}of {', '.join(self.wide)}")
        elif self.columns:
            flags.append(f"{self.columns} columns in {self.pieces} pieces, {self.vectors} rows at a time")
        elif self.width > 1 or self.vectors > 1:
            flags.append(f"{self.vectors} times {self.width} of {', '.join(self.wide)}")
        if self.processors != PROCESSORS:
            flags.append(f"for {self.processors} processors")
        if self.turned:
            flags.append(f"tiles of {', '.join(self.turned)}, which lie along {self.across}")
        if self.residues > 1:
            flags.append(f"places shared by {self.residues}")
        if self.atomic:
            flags.append("additions in no order")
        return f"{self.team} of {self.threads} threads, at most {self.max_blocks} blocks {' '.join(flags)}".rstrip()


def choose(special: Specialized, aligned: frozenset[str] | None = None) -> CudaSchedule:
    """A schedule for a specialised kernel and its sizes. Of the inputs, `aligned` begin at multiples of 16 bytes; all
    of them if None."""
    sizes = special.sizes
    narrow = _most_iterations(special.kernel.body, sizes) < 1 << 30
    outer = [s for s in special.kernel.body if isinstance(s, Loop)]
    if scatters(special.kernel):
        if adds_alone(special.kernel) and not sums.deterministic:
            return CudaSchedule(narrow=narrow, atomic=True)
        return CudaSchedule(threads=128, narrow=narrow, residues=residues_for(special.kernel, sizes))
    if len(outer) == 1 and not outer[0].carries:
        inner = _widest([s for s in walk(outer[0].body) if isinstance(s, Loop)], sizes)
        if inner is None:
            return wide_schedule(special, outer[0], narrow, aligned)
        return _rows(special, outer[0], inner, narrow)
    iterations = max((_iterations(loop, sizes) for loop in outer), default=1)
    if iterations <= ALONE_UP_TO or not outer:
        threads = _threads_for(iterations)
        fits = scratch_bytes(special.kernel, sizes) <= SHARED_BYTES
        return CudaSchedule("block", threads, alone=True, shared_scratch=fits, narrow=narrow, max_blocks=1)
    return CudaSchedule(narrow=narrow, max_blocks=MAX_PARTIALS)


def wide_schedule(
    special: Specialized, loop: Loop, narrow: bool, aligned: frozenset[str] | None = None
) -> CudaSchedule:
    """A schedule for iterations that have nothing to do with each other: neighbours in one access where they lie side
    by side, at addresses that allow it."""
    plain, iterations = CudaSchedule(narrow=narrow), _iterations(loop, special.sizes)
    accesses = [s for s in walk(loop.body) if isinstance(s, Load | Store)]
    if not loop.axes or iterations < WIDE_FROM:
        return plain
    stored = {s.buffer for s in accesses if isinstance(s, Store)}
    dense = _side_by_side(special, loop.axes[-1], {s.buffer for s in accesses})
    across, turned = _turned(special, loop)
    if turned and stored <= dense.keys():
        return replace(plain, turned=turned, across=across, max_blocks=MAX_WIDE_BLOCKS)
    width = _width(special, loop, dense)
    begins = stored | (dense.keys() if aligned is None else aligned)
    wide = tuple(n for n, item in dense.items() if n in begins and _steps_by(special, n, loop.axes[-1], width * item))
    if width < 2 or not stored <= set(wide):
        return plain
    vectors = max(1, MOST_WIDE // width) if iterations >= MANY else 1
    return replace(plain, width=width, vectors=vectors, wide=wide, max_blocks=MAX_WIDE_BLOCKS)


def _turned(special: Specialized, loop: Loop) -> tuple[str, tuple[str, ...]]:
    """An axis besides the innermost one along which inputs lie side by side, and those inputs."""
    loads = {s.buffer: s.at for s in loop.body if isinstance(s, Load)}
    inner, sizes = loop.axes[-1], special.sizes
    if sizes[inner] < LEAST_TURNED:
        return "", ()
    for axis in loop.axes[:-1]:
        neighbours = _side_by_side(special, axis, {name for name, at in loads.items() if not at})
        turned = tuple(n for n in neighbours if special.strides.get((n, inner), 0) > neighbours[n])
        if turned and sizes[axis] >= LEAST_TURNED:
            return axis, turned
    return "", ()


def _most_iterations(body: tuple[Statement, ...], sizes: dict[str, int]) -> int:
    """Iterations of the innermost statement of loops inside one another, at most, and the largest size."""
    inner = [_iterations(s, sizes) * _most_iterations(s.body, sizes) for s in body if isinstance(s, Loop)]
    return max([*inner, *sizes.values()], default=1) if inner else 1


def _width(special: Specialized, loop: Loop, dense: dict[str, int]) -> int:
    """Neighbours that fill an access of the buffer with the largest elements, and rows without a rest."""
    width = min(ACCESS_BYTES // max(dense.values(), default=ACCESS_BYTES), MOST_WIDE)
    while len(loop.axes) > 1 and special.sizes[loop.axes[-1]] % width:
        width //= 2
    return width


def _side_by_side(special: Specialized, axis: str, names: set[str]) -> dict[str, int]:
    """The buffers whose elements are neighbours in memory along an axis, with the bytes of an element."""
    items = {b.name: element_type(b.dtype).itemsize for b in special.kernel.buffers if b.role != "scratch"}
    return {n: item for n, item in items.items() if n in names and special.strides.get((n, axis)) == item}


def _steps_by(special: Specialized, name: str, inner: str, nbytes: int) -> bool:
    """Whether every step of a buffer along other axes is a multiple of so many bytes."""
    return all(step % nbytes == 0 for (n, axis), step in special.strides.items() if n == name and axis != inner)


def _rows(special: Specialized, outer: Loop, inner: Loop, narrow: bool) -> CudaSchedule:
    kernel, sizes = special.kernel, special.sizes
    rows, columns, scratch = _iterations(outer, sizes), _iterations(inner, sizes), scratch_bytes(kernel, sizes)
    runs_down = _is_contiguous(special, outer) and not _is_contiguous(special, inner)
    if columns <= 4 or (runs_down and rows >= COLUMNS_FROM):
        return CudaSchedule(narrow=narrow)
    if rows < COLUMNS_FROM * 8 and has_scans(outer.body) and columns >= WARP * 32:
        return CudaSchedule("block", 256, shared_scratch=0 < scratch <= SHARED_BYTES, narrow=narrow)
    if (columns <= 1024 or has_scans(outer.body)) and scratch * 4 <= SHARED_BYTES and not needs_barriers(kernel):
        return CudaSchedule("warp", 128, shared_scratch=scratch > 0, narrow=narrow)
    threads = _threads_for(columns)
    return CudaSchedule("block", threads, shared_scratch=0 < scratch <= SHARED_BYTES, narrow=narrow)


def _threads_for(iterations: int) -> int:
    """About four iterations a thread, in whole warps."""
    wanted = 1 << max(iterations // 4, 1).bit_length()
    return min(max(wanted, WARP), 1024)


def _iterations(loop: Loop, sizes: dict[str, int]) -> int:
    return math.prod(sizes[a] for a in loop.axes)


def _widest(loops: list[Loop], sizes: dict[str, int]) -> Loop | None:
    return max(loops, key=lambda loop: _iterations(loop, sizes), default=None)


def _is_contiguous(special: Specialized, loop: Loop) -> bool:
    """Whether some input lies element by element along the loop's last axis."""
    return bool(loop.axes) and any(
        special.strides.get((b.name, loop.axes[-1])) == element_type(b.dtype).itemsize for b in special.kernel.inputs
    )


def scratch_bytes(kernel: Kernel, sizes: dict[str, int]) -> int:
    """Bytes of one team's scratch."""
    return sum(element_type(b.dtype).itemsize * math.prod(sizes[a] for a in b.moving_axes) + 8 for b in kernel.scratch)


def needs_barriers(kernel: Kernel) -> bool:
    """Whether an element of scratch may be read by another thread than wrote it: some loop that reads or writes it is
    not over just its axes, or goes along them as scans do."""
    if kernel.scratch and has_scans(kernel.body):
        return True
    return any(
        _reaches(statement, b.name, b.moving_axes, ()) for b in kernel.scratch for statement in _team_bodies(kernel)
    )


def _team_bodies(kernel: Kernel) -> list[Statement]:
    outer = [s for s in kernel.body if isinstance(s, Loop)]
    if len(outer) == 1 and not outer[0].carries:
        return list(outer[0].body)
    return list(kernel.body)


def _reaches(s: Statement, buffer: str, axes: tuple[str, ...], first: tuple[str, ...]) -> bool:
    if isinstance(s, Loop):
        return any(_reaches(x, buffer, axes, first or s.axes) for x in s.body)
    return getattr(s, "buffer", None) == buffer and first != axes
