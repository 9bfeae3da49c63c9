"""Rows that a team of threads holds in registers: every element is read once, and further loops go over what is held.

A thread of a team holds ``slots`` groups of ``width`` neighbours; groups of neighbouring threads lie side by side. Only
the last group may lie behind the end of the row: it is read at the row's last place instead, met by no fold and stored
nowhere.
"""

from __future__ import annotations

from flambeau.codegen.cuda.build import State
from flambeau.codegen.cuda.mapped import Operand
from flambeau.codegen.cuda.threads import ThreadMapper, ThreadScope, size_of
from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.nest import Kernel, Statement, walk
from flambeau.codegen.kernel.opset import TRAPPING

ACCUMULATORS = 4
"""States that a thread folds into one after another, so that an addition need not wait for the one before."""


def row_axis(kernel: Kernel, body: tuple[Statement, ...]) -> str | None:
    """The axis that all loops of some statements run over, each element by itself; None if registers cannot hold it."""
    loops = [s for s in body if isinstance(s, nest.Loop)]
    inside = [s for loop in loops for s in walk(loop.body)]
    axes = {loop.axes for loop in loops}
    own = axes.pop() if len(axes) == 1 else ()
    if len(own) != 1 or any(isinstance(s, nest.Loop | nest.Running | nest.Within) for s in inside):
        return None
    is_fit = all(_goes_along(kernel, s, own[0]) for s in inside) and not any(_is_kept(kernel, s) for s in body)
    return own[0] if is_fit else None


def _goes_along(kernel: Kernel, s: Statement, axis: str) -> bool:
    """Whether an access within a loop is to one element of what the loop runs over, or reads the same for all."""
    if not isinstance(s, nest.Load | nest.Store):
        return True
    buffer = kernel.buffer(s.buffer)
    if buffer.role == "scratch":
        return buffer.moving_axes == (axis,)
    return not s.at and (isinstance(s, nest.Load) or axis in buffer.axes)


def _is_kept(kernel: Kernel, s: Statement) -> bool:
    """Whether a statement outside loops needs scratch, or a place that a value says."""
    return isinstance(s, nest.Load | nest.Store) and (bool(s.at) or kernel.buffer(s.buffer).role == "scratch")


def row_loop(mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope) -> None:
    """Every iteration of a loop by one team, which holds the row of the loops inside."""
    b = mapper.b
    axis = row_axis(mapper.kernel, loop.body)
    assert axis is not None
    columns = Columns(mapper, axis)
    with b.loop(mapper.team, mapper.total(loop), mapper.teams) as iteration:
        inside = scope.child()
        mapper.split(loop.axes, iteration, inside)
        Row(mapper, columns).body(loop.body, inside)


def row_alone(mapper: ThreadMapper, body: tuple[Statement, ...], scope: ThreadScope) -> None:
    """Statements whose loops run over the one row that there is."""
    axis = row_axis(mapper.kernel, body)
    assert axis is not None
    Row(mapper, Columns(mapper, axis)).body(body, scope)


class Columns:
    """Where the elements that a thread holds lie along a row; the same for each row."""

    def __init__(self, mapper: ThreadMapper, axis: str) -> None:
        b, schedule = mapper.b, mapper.schedule
        self.axis = axis
        self.at: list[list[Operand]] = []
        """By group, the place of each neighbour."""
        self.is_there: str | None = None
        """Whether this thread's last group lies within the row; None where all do."""
        groups = b.index("div", size_of(axis), schedule.width)
        for slot in range(schedule.slots):
            group = b.index("add", mapper.lane, slot * schedule.team_size)
            if slot == schedule.slots - 1 and not schedule.whole:
                self.is_there = b.test("lt", group, groups)
                group = b.index("min", group, b.index("sub", groups, 1))
            first = b.index("mul", group, schedule.width)
            self.at.append([b.index("add", first, k) for k in range(schedule.width)])


class Row:
    """One row: what its loops do with what a thread holds of it."""

    def __init__(self, mapper: ThreadMapper, columns: Columns) -> None:
        self.mapper = mapper
        self.columns = columns
        self.scratch = {b.name for b in mapper.kernel.scratch}
        self.registers: dict[str, list[list[str]]] = {}
        """By buffer, this thread's elements."""

    def body(self, body: tuple[Statement, ...], scope: ThreadScope) -> None:
        """Statements that a team runs together."""
        for s in body:
            if isinstance(s, nest.Loop):
                self.loop(s, scope)
            elif isinstance(s, nest.Store):
                self.mapper.stores_by(self.mapper.lane, (s,), scope)
            else:
                self.mapper.statement(s, scope)

    def loop(self, loop: nest.Loop, scope: ThreadScope) -> None:
        """A loop over the row: what is the same for all elements once, then all reads, then group after group."""
        common = scope.child()
        each = [s for s in loop.body if not self._is_common(s, common)]
        groups = [[self._lane(common, at) for at in group] for group in self.columns.at]
        for s in each:
            if isinstance(s, nest.Load) and s.buffer not in self.scratch:
                self._read(s, groups)
        states = {c.name: self._states(c) for c in loop.carries}
        carries = {c.name: c for c in loop.carries}
        for number, lanes in enumerate(groups):
            for s in each:
                if isinstance(s, nest.Accumulate):
                    self._accumulate(s, carries[s.carry], number, lanes, states[s.carry])
                else:
                    self._statement(s, number, lanes)
        self._close(loop, states, scope)

    def _statement(self, s: Statement, number: int, lanes: list[ThreadScope]) -> None:
        """A statement for the elements of one group; what memory holds is read already."""
        if isinstance(s, nest.Store):
            self._store(s, number, lanes)
        elif isinstance(s, nest.Load):
            if s.buffer in self.scratch:
                self._give(s, lanes, self.registers[s.buffer][number])
        else:
            for lane in lanes:
                self.mapper.statement(s, lane)

    def _lane(self, common: ThreadScope, at: Operand) -> ThreadScope:
        lane = common.child()
        lane.at[self.columns.axis] = at
        return lane

    def _is_common(self, s: Statement, common: ThreadScope) -> bool:
        """Whether a statement is the same for all elements; it is then done, once."""
        if isinstance(s, nest.Load):
            is_one = self.columns.axis not in self.mapper.buffers[s.buffer].axes
        elif isinstance(s, nest.Let):
            is_one = s.op not in TRAPPING and all(a in common.values for a in s.args)
        else:
            is_one = isinstance(s, nest.Const | nest.Extent)
        if is_one:
            self.mapper.statement(s, common)
        return is_one

    def _give(self, s: nest.Load, lanes: list[ThreadScope], names: list[str]) -> None:
        for lane, name in zip(lanes, names, strict=True):
            lane.values[s.name] = name

    def _read(self, s: nest.Load, groups: list[list[ThreadScope]]) -> None:
        """All groups of a buffer, from memory the first time."""
        if s.buffer not in self.registers:
            self.registers[s.buffer] = [self.mapper.read_lanes(s, self.columns.axis, lanes) for lanes in groups]
        for lanes, names in zip(groups, self.registers[s.buffer], strict=True):
            self._give(s, lanes, names)

    def _guarded(self, number: int) -> str | None:
        """The condition for a group; None for one that is always there."""
        return self.columns.is_there if number == len(self.columns.at) - 1 else None

    def _store(self, s: nest.Store, number: int, lanes: list[ThreadScope]) -> None:
        if s.buffer in self.scratch:
            groups = self.registers.setdefault(s.buffer, [[] for _ in self.columns.at])
            groups[number] = [lane.values[s.value] for lane in lanes]
            return
        condition = self._guarded(number)
        if condition is None:
            self.mapper.write_lanes(s, self.columns.axis, lanes)
            return
        with self.mapper.b.when(condition):
            self.mapper.write_lanes(s, self.columns.axis, lanes)

    # --- folds

    def _states(self, carry: nest.Carry) -> list[State]:
        count = min(ACCUMULATORS, sum(map(len, self.columns.at)))
        return [self.mapper.b.identity(carry.reducer, carry.dtype) for _ in range(count)]

    def _accumulate(
        self, s: nest.Accumulate, carry: nest.Carry, number: int, lanes: list[ThreadScope], states: list[State]
    ) -> None:
        b, condition = self.mapper.b, self._guarded(number)
        for k, lane in enumerate(lanes):
            met = [lane.values[s.value]] + ([lane.values[s.position]] if s.position is not None else [])
            which = (number * len(lanes) + k) % len(states)
            new = b.combine(carry.reducer, states[which], met)
            if condition is not None:
                new = [b.let("select", condition, n, old) for n, old in zip(new, states[which], strict=True)]
            states[which] = new

    def _close(self, loop: nest.Loop, states: dict[str, list[State]], scope: ThreadScope) -> None:
        """Bring the states of a thread, then those of its team together."""
        mapper = self.mapper
        own = [(c, mapper.b.fold_states(c.reducer, states[c.name])) for c in loop.carries]
        for carry, state in zip(loop.carries, mapper.fold_block(own, mapper.schedule.team_size), strict=True):
            scope.values[carry.name] = state[-1]
