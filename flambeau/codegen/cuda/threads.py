"""What the threads of one kernel do: iterations shared out to the grid, to teams or within a team, and folds brought
together."""

from __future__ import annotations

from flambeau.codegen.cuda.build import Builder, State, is_positional
from flambeau.codegen.cuda.mapped import WARP, Memory, Operand
from flambeau.codegen.cuda.schedule import CudaSchedule, needs_barriers
from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import ONE, Kernel, Statement, walk
from flambeau.codegen.kernel.opset import TRAPPING
from flambeau.codegen.llvm.abi import OUTSIDE, ZERO_DIVISOR
from flambeau.util.record import dataclass, field, replace

ERROR = "error.flag"
"""The flag that an integer division by zero sets, and a place that is outside."""


def raise_error(flag: int, name: str) -> None:
    """Raises what the error flag of a kernel stands for."""
    if flag == OUTSIDE:
        raise IndexError(f"{name}: index out of range")
    if flag:
        raise ZeroDivisionError("ZeroDivisionError")


def size_of(axis: str) -> str:
    """The operand that stands for an axis's size."""
    return f"#{axis}"


def carry_tables(carry: nest.Carry, size: Operand) -> tuple[Memory, ...]:
    """Tables of partial states of a fold."""
    tables = [Memory(f"part.{carry.name}", carry.dtype, "global", "work", (size,))]
    if is_positional(carry.reducer):
        tables.append(Memory(f"place.{carry.name}", "int64", "global", "work", (size,)))
    return tuple(tables)


@dataclass(slots=True)
class ThreadScope:
    """What is known in a loop of the nest: values, indices and open folds."""

    values: dict[str, str] = field(default_factory=dict)
    """Names of the nest's values here."""
    at: dict[str, Operand] = field(default_factory=dict)
    """Index of every axis that a loop runs over here."""
    carries: dict[str, tuple[nest.Carry, State]] = field(default_factory=dict)
    """States of the folds open here, as variables."""

    def child(self) -> ThreadScope:
        return replace(self, values=dict(self.values), at=dict(self.at), carries=dict(self.carries))


def are_same(lanes: list[ThreadScope], names: tuple[str, ...]) -> bool:
    """Whether these have one value in all scopes."""
    return all(len({lane.values[name] for lane in lanes}) == 1 for name in names)


class ThreadMapper:
    """Builds one kernel's body; ``start`` first."""

    def __init__(self, kernel: Kernel, schedule: CudaSchedule, scratch: dict[str, str]) -> None:
        self.kernel = kernel
        self.schedule = schedule
        self.scratch = scratch
        """How a team finds its part of each scratch buffer."""
        self.b = Builder()
        self.shared: list[Memory] = []
        self.buffers = {b.name: b for b in kernel.buffers}
        self.has_barriers = needs_barriers(kernel) and schedule.team == "block"

    @staticmethod
    def may_trap(body: tuple[Statement, ...]) -> bool:
        """Whether some statement may divide an integer by zero, or say a place that is outside."""
        statements = walk(body)
        lets = (s for s in statements if isinstance(s, nest.Let))
        divides = any(s.op in TRAPPING and element_type(s.dtype).is_integer for s in lets)
        return divides or any(isinstance(s, nest.Within) for s in statements)

    def start(self, has_error: bool) -> ThreadScope:
        """The first statements: where this thread is."""
        b, schedule = self.b, self.schedule
        self.has_error = has_error
        self.thread, self.block, self.blocks = b.special("thread"), b.special("block"), b.special("blocks")
        size = schedule.team_size
        self.lane: Operand = 0
        self.team_in_block: Operand = self.thread
        if schedule.team == "tile":
            self.lane = b.index("div", self.thread, schedule.columns)
            self.team_in_block = b.index("rem", self.thread, schedule.columns)
        elif size > 1:
            whole = size == schedule.threads
            self.lane = self.thread if whole else b.index("rem", self.thread, size)
            self.team_in_block = 0 if whole else b.index("div", self.thread, size)
        self.team = b.index("add", b.index("mul", self.block, schedule.teams), self.team_in_block)
        self.teams = b.index("mul", self.blocks, schedule.teams)
        return ThreadScope()

    # --- loops

    def thread_loop(self, loop: nest.Loop, scope: ThreadScope) -> None:
        """Every iteration of a loop by one thread of the grid."""
        self.iterations(loop, self.team, self.teams, scope)

    def grid_fold(self, loop: nest.Loop, scope: ThreadScope, tables: list[tuple[Memory, ...]]) -> None:
        """A fold by all threads of the grid; each block leaves a partial state."""
        states = self._open(loop, scope)
        self.thread_loop(loop, scope)
        self.leave(self.fold_block([(c, states[c.name]) for c in loop.carries], self.schedule.threads), tables)

    def leave(self, folded: list[State], tables: list[tuple[Memory, ...]]) -> None:
        """Write a block's states to tables of partial states."""
        with self.b.when(self.b.test("eq", self.thread, 0)):
            for state, memories in zip(folded, tables, strict=True):
                for value, memory in zip(state, memories, strict=True):
                    self.b.write(memory.name, value, self.block)

    def gather(self, carry: nest.Carry, tables: tuple[Memory, ...], scope: ThreadScope) -> None:
        """Fold the partial states of all blocks; every block gets the same answer."""
        b, threads = self.b, self.schedule.threads
        state = self.variables(carry)
        with b.loop(self.thread, tables[0].sizes[0], threads) as piece:
            met = [b.read(m.name, m.dtype, piece) for m in tables]
            self.update(carry, state, met)
        (folded,) = self.fold_block([(carry, state)], threads)
        scope.values[carry.name] = folded[-1]

    def shared_loop(self, loop: nest.Loop, scope: ThreadScope) -> None:
        """The iterations of a loop shared out to the threads of a team, and what they fold brought together."""
        states = self._open(loop, scope)
        self.iterations(loop, self.lane, self.schedule.team_size, scope)
        self.close(loop, states, scope)

    def stores_by(self, lane: Operand, stores: tuple[Statement, ...], scope: ThreadScope) -> None:
        """Stores by the thread whose number in its team or block is 0."""
        with self.b.when(self.b.test("eq", lane, 0)):
            for s in stores:
                self.statement(s, scope)

    def total(self, loop: nest.Loop) -> Operand:
        """How many iterations a loop has."""
        total: Operand = 1
        for axis in loop.axes:
            total = self.b.index("mul", total, size_of(axis))
        return total

    def split(self, axes: tuple[str, ...], iteration: Operand, scope: ThreadScope) -> None:
        """The index of each axis from a row-major iteration over all."""
        for axis in reversed(axes[1:]):
            scope.at[axis] = self.b.index("rem", iteration, size_of(axis))
            iteration = self.b.index("div", iteration, size_of(axis))
        if axes:
            scope.at[axes[0]] = iteration

    def iterations(self, loop: nest.Loop, first: Operand, step: Operand, scope: ThreadScope) -> None:
        """The iterations ``first``, ``first + step``, ... of a loop, one after another."""
        with self.b.loop(first, self.total(loop), step) as iteration:
            inside = scope.child()
            self.split(loop.axes, iteration, inside)
            self.body(loop.body, inside)

    def _sequential(self, loop: nest.Loop, scope: ThreadScope) -> None:
        states = self._open(loop, scope)
        self._nested(loop.axes, loop.body, scope.child())
        for carry in loop.carries:
            scope.values[carry.name] = states[carry.name][-1]
            scope.carries.pop(carry.name)

    def _nested(self, axes: tuple[str, ...], body: tuple[Statement, ...], scope: ThreadScope) -> None:
        if not axes:
            self.body(body, scope)
            return
        with self.b.loop(0, size_of(axes[0]), 1) as iteration:
            scope.at[axes[0]] = iteration
            self._nested(axes[1:], body, scope)

    # --- statements

    def body(self, body: tuple[Statement, ...], scope: ThreadScope) -> None:
        """Statements that one thread runs by itself."""
        for s in body:
            if isinstance(s, nest.Loop):
                self._sequential(s, scope)
            else:
                self.statement(s, scope)

    def statement(self, s: Statement, scope: ThreadScope) -> None:
        """A statement that is not a loop."""
        b = self.b
        if isinstance(s, nest.Const):
            scope.values[s.name] = b.const(s.value, s.dtype)
        elif isinstance(s, nest.Load):
            scope.values[s.name] = b.read(s.buffer, s.dtype, *self.index(s.buffer, scope, s.at))
        elif isinstance(s, nest.Let):
            scope.values[s.name] = self._let(s, scope)
        elif isinstance(s, nest.Position | nest.Extent):
            scope.values[s.name] = self._number(s, scope)
        elif isinstance(s, nest.Within):
            scope.values[s.name] = self._within(s, scope)
        elif isinstance(s, nest.Running):
            # A variable changes; what it is now does not.
            scope.values[s.name] = b.cast(scope.carries[s.carry][1][-1], s.dtype)
        elif isinstance(s, nest.Store):
            b.write(s.buffer, scope.values[s.value], *self.index(s.buffer, scope))
        else:
            assert isinstance(s, nest.Accumulate), s
            carry, state = scope.carries[s.carry]
            met = [scope.values[s.value]] + ([scope.values[s.position]] if s.position is not None else [])
            self.update(carry, state, met)

    def _let(self, s: nest.Let, scope: ThreadScope) -> str:
        args = [scope.values[a] for a in s.args]
        if s.op == "cast":
            return self.b.cast(args[0], s.dtype)
        if s.op in TRAPPING and element_type(s.dtype).is_integer:
            zero = self.b.const(0, s.dtype)
            with self.b.when(self.b.let("eq", args[1], zero)):
                self.b.write(ERROR, self.b.const(ZERO_DIVISOR, "int32"), 0)
        return self.b.let(s.op, *args)

    def read_lanes(self, s: nest.Load, axis: str, lanes: list[ThreadScope]) -> list[str]:
        """What neighbours along an axis read, in one access where the schedule says so."""
        if s.buffer in self.schedule.wide and are_same(lanes, tuple(value for _, value in s.at)):
            dimension = self.buffers[s.buffer].axes.index(axis)
            return self.b.read_vector(s.buffer, s.dtype, len(lanes), dimension, *self.index(s.buffer, lanes[0], s.at))
        return [self.b.read(s.buffer, s.dtype, *self.index(s.buffer, lane, s.at)) for lane in lanes]

    def write_lanes(self, s: nest.Store, axis: str, lanes: list[ThreadScope]) -> None:
        """Stores of neighbours along an axis, in one access where the schedule says so."""
        if s.buffer in self.schedule.wide:
            values, dimension = [lane.values[s.value] for lane in lanes], self.buffers[s.buffer].axes.index(axis)
            self.b.write_vector(s.buffer, values, dimension, *self.index(s.buffer, lanes[0]))
            return
        for lane in lanes:
            self.statement(s, lane)

    def _within(self, s: nest.Within, scope: ThreadScope) -> str:
        """A place along an axis; where it is outside, the first one, and the error flag is set."""
        b, value, size = self.b, scope.values[s.value], size_of(s.axis)
        b.dtypes.setdefault(size, "int64")
        zero = b.const(0, "int64")
        is_inside = b.let("logical_and", b.let("ge", value, zero), b.let("lt", value, size))
        with b.when(b.let("logical_not", is_inside)):
            b.write(ERROR, b.const(OUTSIDE, "int32"), 0)
        return b.let("select", is_inside, value, zero)

    def _number(self, s: nest.Position | nest.Extent, scope: ThreadScope) -> str:
        """A position or an extent as a value."""
        number: Operand = 1 if isinstance(s, nest.Extent) else 0
        for axis in s.axes:
            number = self.b.index("mul", number, size_of(axis))
            if isinstance(s, nest.Position):
                number = self.b.index("add", number, scope.at[axis])
        if isinstance(number, int):
            return self.b.const(number, "int64")
        self.b.dtypes.setdefault(number, "int64")
        return number

    def index(self, buffer: str, scope: ThreadScope, at: tuple[tuple[str, str], ...] = ()) -> tuple[Operand, ...]:
        """Where an element of a buffer lies here; along some axes values say where."""
        said = {axis: scope.values[value] for axis, value in at}
        here = {ONE: 0} | scope.at | said
        own: tuple[Operand, ...] = tuple(here[a] for a in self.buffers[buffer].axes)
        kind = self.scratch.get(buffer, "whole")
        if kind == "shared":
            return (self.team_in_block, *own)
        if kind == "first":
            return (self.team, *own)
        return (*own, self.team) if kind == "last" else own

    # --- folds

    def variables(self, carry: nest.Carry) -> State:
        """A state that has met no value, in variables."""
        start = self.b.identity(carry.reducer, carry.dtype)
        return [self.b.var(v, self.b.dtypes[v]) for v in start]

    def _open(self, loop: nest.Loop, scope: ThreadScope) -> dict[str, State]:
        states = {c.name: self.variables(c) for c in loop.carries}
        scope.carries.update({c.name: (c, states[c.name]) for c in loop.carries})
        return states

    def update(self, carry: nest.Carry, state: State, met: State) -> None:
        """Let a state in variables meet another."""
        for var, value in zip(state, self.b.combine(carry.reducer, state, met), strict=True):
            self.b.assign(var, value)

    def close(self, loop: nest.Loop, states: dict[str, State], scope: ThreadScope) -> None:
        """Bring the states of a team's threads together."""
        folded = self.fold_block([(c, states[c.name]) for c in loop.carries], self.schedule.team_size)
        for carry, state in zip(loop.carries, folded, strict=True):
            scope.values[carry.name] = state[-1]
            scope.carries.pop(carry.name, None)

    def fold_block(self, states: list[tuple[nest.Carry, State]], threads: int) -> list[State]:
        """States of the threads of a team folded; every thread gets the answer."""
        b = self.b
        if threads == 1 or not states:
            return [state for _, state in states]
        folded = [b.fold_warp(carry.reducer, state) for carry, state in states]
        warps = threads // WARP
        if warps == 1:
            return folded
        lane, warp = b.index("rem", self.thread, WARP), b.index("div", self.thread, WARP)
        rows = [[self.row(b.dtypes[v], warps) for v in state] for state in folded]
        with b.when(b.test("eq", lane, 0)):
            for names, state in zip(rows, folded, strict=True):
                for name, value in zip(names, state, strict=True):
                    b.write(name, value, warp)
        b.barrier()
        has_one, own = b.test("lt", lane, warps), b.index("min", lane, warps - 1)
        result = []
        for (carry, _), names in zip(states, rows, strict=True):
            read = [b.read(n, self._dtype_of(n), own) for n in names]
            start = b.identity(carry.reducer, carry.dtype)
            chosen = [b.let("select", has_one, v, i) for v, i in zip(read, start, strict=True)]
            result.append(b.fold_warp(carry.reducer, chosen))
        b.barrier()  # before the rows are written again
        return result

    def square(self, dtype: str, side: int) -> str:
        """Shared memory for a tile; rows are a place longer, so that columns do not all lie in one bank."""
        name = f"tile.{len(self.shared)}"
        self.shared.append(Memory(name, dtype, "shared", "work", (side, side + 1)))
        return name

    def row(self, dtype: str, warps: int) -> str:
        """Shared memory for a value of each warp."""
        return self.shared_table(dtype, (warps,))

    def shared_table(self, dtype: str, sizes: tuple[Operand, ...]) -> str:
        """A new array that the threads of a block share."""
        name = f"fold.{len(self.shared)}"
        self.shared.append(Memory(name, dtype, "shared", "work", sizes))
        return name

    def _dtype_of(self, shared: str) -> str:
        return next(m.dtype for m in self.shared if m.name == shared)
