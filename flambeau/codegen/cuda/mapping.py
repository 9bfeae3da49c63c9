"""A loop nest and a schedule to the kernels that run it.

``for d0 { for d1 reduce s = sum { ... } store y[d0], s }`` with a warp a row becomes ``for row = team to #d0 step
teams``, in it ``for column = lane to #d1 step 32``, five shuffles, and a store by lane 0. Each outermost loop of a nest
is a kernel; what an outermost fold leaves is a table of partial states, one a block, which every later kernel that
needs the answer folds again, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.cuda.columns import ColumnMapper, stages_of
from flambeau.codegen.cuda.folds import wide_fold
from flambeau.codegen.cuda.loops import change_of, is_scan, own_axes, with_changes_alone
from flambeau.codegen.cuda.mapped import Grid, MappedKernel, Memory, Operand, Program
from flambeau.codegen.cuda.places import change_loop
from flambeau.codegen.cuda.rows import row_alone, row_loop
from flambeau.codegen.cuda.scans import WIDTH as SCAN_WIDTH
from flambeau.codegen.cuda.scans import fold_stretch, scan_stretch
from flambeau.codegen.cuda.schedule import CudaSchedule, needs_barriers
from flambeau.codegen.cuda.teams import team_body, team_loop
from flambeau.codegen.cuda.threads import ERROR, ThreadMapper, ThreadScope, carry_tables, size_of
from flambeau.codegen.cuda.turned import TILE, turned_loop
from flambeau.codegen.cuda.wide import wide_loop
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.kernel.nest import (
    ONE,
    Accumulate,
    Buffer,
    Carry,
    Kernel,
    Load,
    Loop,
    Statement,
    Store,
    scatters,
    walk,
)
from flambeau.util.record import dataclass, field, replace

MAX_ATOMIC_BLOCKS = 1 << 16
"""Blocks of additions in no order."""
PIECES = "pieces"
TEAMS = "teams"


def map_kernel(kernel: Kernel, schedule: CudaSchedule, name: str = "kernel") -> Program:
    """The kernels for a loop nest under a schedule. Raises ``KernelError`` for a nest that no schedule can spread."""
    if scatters(kernel):
        kernel = with_changes_alone(kernel)
    for s in kernel.body:
        if isinstance(s, Store) and kernel.buffer(s.buffer).role == "scratch":
            raise KernelError(
                f"scratch buffer {s.buffer} is written outside all loops, which no CUDA kernel can wait for"
            )
    if schedule.team == "warp" and needs_barriers(kernel):
        schedule = replace(schedule, team="block")  # a warp cannot wait for itself alone
    return _Mapper(kernel, schedule, name).program()


@dataclass(slots=True)
class _Launch:
    """What one kernel does: a loop of the outermost level, or what stands outside all loops."""

    loop: Loop | None
    needed: tuple[Statement, ...]
    """Definitions and earlier folds that it builds on, in order."""
    stores: tuple[Statement, ...] = ()
    stage: int = 0
    """Of columns in pieces: which of their loops it is, or what follows the last."""
    is_second: bool = False
    """The second of the two kernels of a scan over everything."""

    @property
    def body(self) -> tuple[Statement, ...]:
        """The statements in order: what is needed first, the loop, the stores."""
        return (*self.needed, *(() if self.loop is None else (self.loop,)), *self.stores)


@dataclass(slots=True)
class _Mapper:
    kernel: Kernel
    schedule: CudaSchedule
    name: str
    extra: list[tuple[str, int, int]] = field(default_factory=list)
    launches: list[_Launch] = field(default_factory=list)

    def program(self) -> Program:
        has_rows = any(self._private_scratch(s) for s in self.kernel.body if isinstance(s, Loop))
        if self.schedule.alone and not has_rows:
            return self._alone()
        self.launches = launches = self._launches()
        if self.schedule.pieces > 1:
            loop = launches[0].loop
            assert loop is not None
            self.launches = launches = [replace(launches[0], stage=k) for k in range(stages_of(loop))]
        kernels = [self._kernel(launch, number, len(launches) > 1) for number, launch in enumerate(launches)]
        return Program(tuple(kernels), tuple(self.extra))

    # --- what is launched

    def _launches(self) -> list[_Launch]:
        launches = []
        before: list[Statement] = []
        last = [s for s in self.kernel.body if isinstance(s, Store)]
        for s in self.kernel.body:
            if isinstance(s, Loop):
                launches.append(_Launch(s, _needed((s,), before)))
                if is_scan(s):
                    launches.append(_Launch(s, _needed((s,), before), is_second=True))
            before.append(s)
        if last or not launches:
            launches.append(_Launch(None, _needed(tuple(last), before), tuple(last)))
        return launches

    def _alone(self) -> Program:
        memories = self._memories(self.kernel.body)
        work, local = self._scratch_memories(self.kernel.body, self.schedule, set(), 0)
        mapper = ThreadMapper(self.kernel, self.schedule, local)
        start = mapper.start(ERROR in [m.name for m in memories])
        if self.schedule.slots:
            row_alone(mapper, self.kernel.body, start)
        else:
            team_body(mapper, self.kernel.body, start)
        sizes = tuple(self.kernel.axes) + tuple(x[0] for x in self.extra)
        kernel = MappedKernel(
            self.name, self.schedule.threads, Grid((), 1, 1), sizes, memories + work + tuple(mapper.shared),
            mapper.b.body, self.schedule.narrow, self.schedule.contract,
        )  # fmt: skip
        return Program((kernel,), tuple(self.extra))

    def _kernel(self, launch: _Launch, number: int, is_one_of_many: bool) -> MappedKernel:
        loop, schedule = launch.loop, self._schedule_of(launch.loop)
        memories = self._memories(launch.body)
        work, local = self._scratch_memories(launch.body, schedule, self._private_scratch(loop), number)
        mapper = ThreadMapper(self.kernel, schedule, local)
        start = mapper.start(ERROR in [m.name for m in memories])
        tables = self._gather(launch, mapper, start)
        if loop is not None:
            tables |= self._map_loop(launch, loop, mapper, start)
        if launch.stores:
            mapper.stores_by(mapper.thread, launch.stores, start)
        sizes = tuple(self.kernel.axes) + tuple(dict.fromkeys(x[0] for x in self.extra))
        return MappedKernel(
            f"{self.name}_{number}" if is_one_of_many else self.name,
            schedule.threads if loop is not None or tables else 32,
            Grid((), 1, 1) if loop is None else self._grid(launch, loop, schedule),
            sizes, memories + work + tuple(tables.values()) + tuple(mapper.shared), mapper.b.body,
            schedule.narrow, schedule.contract,
        )  # fmt: skip

    def _schedule_of(self, loop: Loop | None) -> CudaSchedule:
        """Teams of several threads are for iterations of loops that carry nothing, and for scans."""
        if loop is not None and is_scan(loop):
            return replace(self.schedule, team="block", width=1)
        is_team = loop is not None and not loop.carries
        return self.schedule if is_team else replace(self.schedule, team="thread", slots=0)

    def _gather(self, launch: _Launch, mapper: ThreadMapper, start: ThreadScope) -> dict[str, Memory]:
        """Emit what a launch builds on; the tables of partial states that it reads."""
        tables: dict[str, Memory] = {}
        for s in launch.needed:
            if not isinstance(s, Loop):
                mapper.statement(s, start)
                continue
            for carry in s.carries:
                parts = self._tables(carry, self._number_of(s))
                tables.update({m.name: m for m in parts})
                mapper.gather(carry, parts, start)
        return tables

    def _grid(self, launch: _Launch, loop: Loop, schedule: CudaSchedule) -> Grid:
        """The blocks for a loop."""
        change = change_of(loop)
        if change is not None and schedule.atomic:
            return Grid(loop.axes, schedule.threads, MAX_ATOMIC_BLOCKS)
        if change is not None:
            own = own_axes(self.kernel, loop, change)
            return Grid(own, schedule.threads, schedule.max_blocks, schedule.residues)
        if schedule.turned:
            return Grid(loop.axes, TILE * TILE, schedule.max_blocks)
        per_block = schedule.threads * SCAN_WIDTH if is_scan(loop) else schedule.per_block
        is_rest = launch.stage == sum(isinstance(s, Loop) for s in loop.body)
        pieces = 1 if is_rest else schedule.pieces
        return Grid(loop.axes, per_block, schedule.max_blocks, pieces=pieces)

    def _map_loop(self, launch: _Launch, loop: Loop, mapper: ThreadMapper, start: ThreadScope) -> dict[str, Memory]:
        """Emit the loop of a launch; the tables of partial states that it writes or reads."""
        schedule, change = mapper.schedule, change_of(loop)
        if loop.carries:
            tables = [self._tables(carry, self._number_of(loop)) for carry in loop.carries]
            self._fold_of(launch, loop, schedule)(mapper, loop, start, tables)
            return {m.name: m for parts in tables for m in parts}
        if change is not None:
            change_loop(mapper, loop, change, start)
        elif schedule.columns:
            return self._columns(launch, loop, mapper, start)
        elif schedule.turned:
            turned_loop(mapper, loop, start)
        elif schedule.slots:
            row_loop(mapper, loop, start)
        elif schedule.width > 1 and loop.axes:
            wide_loop(mapper, loop, start)
        elif schedule.team == "thread":
            mapper.thread_loop(loop, start)
        else:
            team_loop(mapper, loop, start)
        return {}

    @staticmethod
    def _columns(launch: _Launch, loop: Loop, mapper: ThreadMapper, start: ThreadScope) -> dict[str, Memory]:
        """Emit a loop over columns; the tables of its pieces."""
        columns = ColumnMapper(mapper, loop, start)
        if mapper.schedule.pieces == 1:
            columns.whole()
        else:
            columns.stage(launch.stage)
        return {m.name: m for parts in columns.tables_of(launch.stage).values() for m in parts}

    @staticmethod
    def _fold_of(launch: _Launch, loop: Loop, schedule: CudaSchedule) -> Callable[..., None]:
        """What emits a fold over everything."""
        if is_scan(loop):
            return scan_stretch if launch.is_second else fold_stretch
        return wide_fold if schedule.vectors > 1 and loop.axes else ThreadMapper.grid_fold

    def _number_of(self, loop: Loop) -> int:
        """The kernel that leaves the partial states of a fold."""
        return [x.loop for x in self.launches].index(loop)

    # --- memory

    def _tables(self, carry: Carry, number: int) -> tuple[Memory, ...]:
        """Where the blocks of a kernel leave their partial states."""
        size = f"{PIECES}{number}"
        if (size, number, 1) not in self.extra:
            self.extra.append((size, number, 1))
        return carry_tables(carry, size_of(size))

    def _memories(self, body: tuple[Statement, ...]) -> tuple[Memory, ...]:
        """The caller's buffers that some statements use, and the error flag where one may be raised."""
        used = {s.buffer for s in walk(body) if isinstance(s, Load | Store)}
        memories = [
            Memory(b.name, b.dtype, "global", b.role, _sizes(b))
            for b in self.kernel.buffers
            if b.name in used and b.role != "scratch"
        ]
        if ThreadMapper.may_trap(body):
            memories.append(Memory(ERROR, "int32", "global", "flag", (1,)))
        return tuple(memories)

    def _scratch_in(self, body: tuple[Statement, ...]) -> list[str]:
        used = {s.buffer for s in walk(body) if isinstance(s, Load | Store)}
        return [b.name for b in self.kernel.scratch if b.name in used]

    def _private_scratch(self, loop: Loop | None) -> set[str]:
        """Scratch that belongs to one iteration of this loop."""
        if loop is None:
            return set()
        elsewhere = {n for s in self.kernel.body if s is not loop for n in self._scratch_in((s,))}
        names = set(self._scratch_in((loop,)))
        return {n for n in names if not set(self.kernel.buffer(n).moving_axes) & set(loop.axes)} - elsewhere

    def _scratch_memories(
        self, body: tuple[Statement, ...], schedule: CudaSchedule, private: set[str], number: int
    ) -> tuple[tuple[Memory, ...], dict[str, str]]:
        """Memory for the scratch that some statements use; for each buffer how a team finds its part."""
        memories: list[Memory] = []
        kinds: dict[str, str] = {}
        for name in () if schedule.slots else self._scratch_in(body):  # registers hold what slots are for
            b = self.kernel.buffer(name)
            if name not in private:
                shared = schedule.alone and schedule.shared_scratch
                memories.append(Memory(name, b.dtype, "shared" if shared else "global", "work", _sizes(b)))
                kinds[name] = "whole"
                continue
            if schedule.shared_scratch and schedule.team != "thread":
                memories.append(Memory(name, b.dtype, "shared", "work", (schedule.teams, *_sizes(b))))
                kinds[name] = "shared"
                continue
            size = f"{TEAMS}{number}"
            if (size, number, schedule.teams) not in self.extra:
                self.extra.append((size, number, schedule.teams))
            # Neighbouring threads lie next to each other where each has a row of its own.
            is_last = schedule.team == "thread"
            sizes = (*_sizes(b), size_of(size)) if is_last else (size_of(size), *_sizes(b))
            memories.append(Memory(name, b.dtype, "global", "work", sizes))
            kinds[name] = "last" if is_last else "first"
        return tuple(memories), kinds


def _sizes(buffer: Buffer) -> tuple[Operand, ...]:
    return tuple(1 if a == ONE else size_of(a) for a in buffer.axes)


def _needed(wanted: tuple[Statement, ...], before: list[Statement]) -> tuple[Statement, ...]:
    """The definitions and folds among earlier statements that some statements build on."""
    names = _uses(wanted)
    needed: list[Statement] = []
    for s in reversed(before):
        defined = {c.name for c in s.carries} if isinstance(s, Loop) else {getattr(s, "name", "")}
        if defined & names:
            needed.append(s)
            if not isinstance(s, Loop):
                names |= _uses((s,))
    return tuple(reversed(needed))


def _uses(body: tuple[Statement, ...]) -> set[str]:
    names: set[str] = set()
    for s in walk(body):
        names.update(getattr(s, "args", ()))
        if isinstance(s, Store | Accumulate):
            names.add(s.value)
        if isinstance(s, Accumulate) and s.position is not None:
            names.add(s.position)
    return names
