"""Running states: what a fold has met up to each iteration, by a team that goes along an axis together.

A thread takes ``WIDTH`` neighbours at a time and folds them by itself; threads of a warp learn what those before them
met through shuffles, warps through shared memory. A scan over everything has two kernels: in the first each block folds
a stretch of its own, in the second it begins with what the stretches before it gave.
"""

from __future__ import annotations

from flambeau.codegen.cuda.build import State
from flambeau.codegen.cuda.mapped import WARP, Memory, Operand
from flambeau.codegen.cuda.threads import ThreadMapper, ThreadScope
from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.kernel.nest import Statement

WIDTH = 4
"""Neighbours that a thread takes together."""


def check_scan(loop: nest.Loop) -> None:
    """Raises ``KernelError`` for a loop whose iterations a team cannot take together."""
    met: set[str] = set()
    for s in loop.body:
        if isinstance(s, nest.Loop):
            raise KernelError("a loop that reads running states and has loops inside has no CUDA kernel yet")
        if isinstance(s, nest.Accumulate):
            if s.carry in met:
                raise KernelError(f"{s.carry} meets two values an iteration, which no CUDA kernel takes together yet")
            met.add(s.carry)


def stretch(mapper: ThreadMapper, loop: nest.Loop) -> tuple[Operand, Operand]:
    """The first iteration of this block, and that of the next: each block has as many, whole tiles."""
    b, total, tile = mapper.b, mapper.total(loop), mapper.schedule.threads * WIDTH
    tiles = b.index("div", b.index("add", total, tile - 1), tile)
    share = b.index("div", b.index("add", tiles, b.index("sub", mapper.blocks, 1)), mapper.blocks)
    first = b.index("mul", b.index("mul", mapper.block, share), tile)
    return first, b.index("min", b.index("add", first, b.index("mul", share, tile)), total)


def fold_stretch(mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope, tables: list[tuple[Memory, ...]]) -> None:
    """The first kernel of a scan over everything: each block leaves what its stretch folds to."""
    check_scan(loop)
    first, stop = stretch(mapper, loop)
    body = _folded_only(loop)
    states = {c.name: mapper.variables(c) for c in loop.carries}
    inside = scope.child()
    inside.carries.update({c.name: (c, states[c.name]) for c in loop.carries})
    with mapper.b.loop(mapper.b.index("add", first, mapper.thread), stop, mapper.schedule.threads) as iteration:
        each = inside.child()
        mapper.split(loop.axes, iteration, each)
        mapper.body(body, each)
    folded = mapper.fold_block([(c, states[c.name]) for c in loop.carries], mapper.schedule.threads)
    mapper.leave(folded, tables)


def _folded_only(loop: nest.Loop) -> tuple[Statement, ...]:
    """What a loop's states meet, without what is done with running ones."""
    kept: list[Statement] = []
    wanted: set[str] = set()
    for s in reversed(loop.body):
        if isinstance(s, nest.Accumulate):
            wanted |= {s.value} | ({s.position} if s.position is not None else set())
            kept.append(s)
        elif getattr(s, "name", "") in wanted:
            if isinstance(s, nest.Running):
                raise KernelError("a running state that another fold meets has no CUDA kernel yet")
            wanted |= set(getattr(s, "args", ())) | {v for _, v in getattr(s, "at", ())}
            wanted |= {s.value} if isinstance(s, nest.Within) else set()
            kept.append(s)
    return tuple(reversed(kept))


def scan_stretch(mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope, tables: list[tuple[Memory, ...]]) -> None:
    """The second kernel of a scan over everything."""
    b, threads = mapper.b, mapper.schedule.threads
    states: dict[str, State] = {}
    for carry, memories in zip(loop.carries, tables, strict=True):
        state = mapper.variables(carry)
        with b.loop(mapper.thread, mapper.block, threads) as piece:
            mapper.update(carry, state, [b.read(m.name, m.dtype, piece) for m in memories])
        (folded,) = mapper.fold_block([(carry, state)], threads)
        states[carry.name] = [b.var(v, b.dtypes[v]) for v in folded]
    _Scan(mapper, loop, scope, states).run(*stretch(mapper, loop))


def scan_loop(mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope) -> None:
    """All iterations of a loop that reads its running states, by one team."""
    check_scan(loop)
    states = {c.name: mapper.variables(c) for c in loop.carries}
    _Scan(mapper, loop, scope, states).run(0, mapper.total(loop))
    for carry in loop.carries:
        scope.values[carry.name] = states[carry.name][-1]


class _Scan:
    """A team going along a loop, ``WIDTH`` neighbours a thread at a time."""

    def __init__(self, mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope, states: dict[str, State]) -> None:
        self.mapper, self.loop, self.scope, self.states = mapper, loop, scope, states
        b = mapper.b
        self.lane = b.index("rem", mapper.thread, WARP)
        self.warps = mapper.schedule.team_size // WARP
        self.warp: Operand = b.index("div", mapper.thread, WARP) if self.warps > 1 else 0
        self.rows = {
            c.name: [mapper.row(b.dtypes[v], self.warps) for v in states[c.name]]
            for c in loop.carries
            if self.warps > 1
        }
        """Shared memory for what each warp folds to."""
        self.running: dict[str, list[State]] = {}
        """By carry, the state after each neighbour."""

    def run(self, first: Operand, stop: Operand) -> None:
        """The iterations from ``first`` to ``stop``, which is not reached."""
        b, mapper = self.mapper.b, self.mapper
        last = b.index("sub", stop, 1)
        with b.loop(first, stop, mapper.schedule.team_size * WIDTH) as tile:
            own = b.index("add", tile, b.index("mul", mapper.lane, WIDTH))
            if mapper.schedule.wide:
                lanes, there = self._side_by_side(own, stop)
            else:
                lanes, there = self._one_by_one(own, stop, last)
            for s in self.loop.body:
                self._statement(s, lanes, there)

    def _one_by_one(self, own: Operand, stop: Operand, last: Operand) -> tuple[list[ThreadScope], list[str]]:
        """The neighbours from a place on, and whether each is there; behind the end the last one stands for them."""
        b, lanes, there = self.mapper.b, [], []
        for k in range(WIDTH):
            iteration = b.index("add", own, k)
            there.append(b.test("lt", iteration, stop))
            lane = self.scope.child()
            self.mapper.split(self.loop.axes, b.index("min", iteration, last), lane)
            lanes.append(lane)
        return lanes, there

    def _side_by_side(self, own: Operand, stop: Operand) -> tuple[list[ThreadScope], list[str]]:
        """The same where all of them are there, or none: the last ones stand for those behind the end."""
        b = self.mapper.b
        is_there = b.test("lt", own, stop)
        first = b.index("min", own, b.index("sub", stop, WIDTH))
        lanes = []
        for k in range(WIDTH):
            lane = self.scope.child()
            lane.at[self.loop.axes[0]] = b.index("add", first, k)
            lanes.append(lane)
        return lanes, [is_there] * WIDTH

    def _statement(self, s: Statement, lanes: list[ThreadScope], there: list[str]) -> None:
        if isinstance(s, nest.Accumulate):
            self._accumulate(s, lanes, there)
            return
        if self.mapper.schedule.wide and isinstance(s, nest.Load | nest.Store):
            self._access(s, lanes, there[0])
            return
        for k, (lane, is_there) in enumerate(zip(lanes, there, strict=True)):
            if isinstance(s, nest.Running):
                lane.values[s.name] = self.running[s.carry][k][-1]
            elif isinstance(s, nest.Store):
                with self.mapper.b.when(is_there):
                    self.mapper.statement(s, lane)
            else:
                self.mapper.statement(s, lane)

    def _access(self, s: nest.Load | nest.Store, lanes: list[ThreadScope], is_there: str) -> None:
        """What neighbours read or write, in one access where they lie side by side."""
        axis = self.loop.axes[0]
        if isinstance(s, nest.Store):
            with self.mapper.b.when(is_there):
                self.mapper.write_lanes(s, axis, lanes)
            return
        for lane, name in zip(lanes, self.mapper.read_lanes(s, axis, lanes), strict=True):
            lane.values[s.name] = name

    def _accumulate(self, s: nest.Accumulate, lanes: list[ThreadScope], there: list[str]) -> None:
        b, state = self.mapper.b, self.states[s.carry]
        carry = next(c for c in self.loop.carries if c.name == s.carry)
        none = b.identity(carry.reducer, carry.dtype)
        local: list[State] = []
        for lane, is_there in zip(lanes, there, strict=True):
            met = [lane.values[s.value]] + ([lane.values[s.position]] if s.position is not None else [])
            own = [b.let("select", is_there, v, n) for v, n in zip(met, none, strict=True)]
            local.append(b.combine(carry.reducer, local[-1], own) if local else own)
        inclusive = b.scan_warp(carry.reducer, local[-1], self.lane)
        before = b.before_in_warp(carry.reducer, inclusive, self.lane)
        total = b.last_of_warp(inclusive)
        if self.warps > 1:
            earlier, total = self._across_warps(carry, total)
            before = b.combine(carry.reducer, earlier, before)
        start = b.combine(carry.reducer, state, before)
        self.running[s.carry] = [b.combine(carry.reducer, start, x) for x in local]
        for var, value in zip(state, b.combine(carry.reducer, state, total), strict=True):
            b.assign(var, value)

    def _across_warps(self, carry: nest.Carry, total: State) -> tuple[State, State]:
        """What the warps before this one fold to, and what all do."""
        b, rows = self.mapper.b, self.rows[carry.name]
        with b.when(b.test("eq", self.lane, 0)):
            for row, value in zip(rows, total, strict=True):
                b.write(row, value, self.warp)
        b.barrier()
        before = everything = b.identity(carry.reducer, carry.dtype)
        for warp in range(self.warps):
            met = [b.read(row, b.dtypes[v], warp) for row, v in zip(rows, total, strict=True)]
            everything = b.combine(carry.reducer, everything, met)
            is_before = b.test("lt", warp, self.warp)
            joined = b.combine(carry.reducer, before, met)
            before = [b.let("select", is_before, new, old) for new, old in zip(joined, before, strict=True)]
        b.barrier()  # before the rows are written again
        return before, everything
