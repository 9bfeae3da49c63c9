"""Folds down columns that lie side by side: a block takes neighbouring columns, and its threads share out their rows.

Neighbouring threads have neighbouring columns, so that what a warp reads lies together. Where columns are few, their
rows are cut into ``pieces``, each a block's; every loop over rows is a kernel then, which begins with folding what the
pieces of the loops before have left. Which rows meet which state follows from sizes and the schedule alone.
"""

from __future__ import annotations

from flambeau.codegen.cuda.build import State, is_positional
from flambeau.codegen.cuda.mapped import Memory, Operand
from flambeau.codegen.cuda.several import folded_states, share_by_several, states_of
from flambeau.codegen.cuda.threads import ThreadMapper, ThreadScope, size_of
from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.nest import Kernel, Statement, walk


def has_columns(kernel: Kernel, loop: nest.Loop) -> bool:
    """Whether blocks can take neighbouring iterations of a loop and share out the loops inside."""
    inner = [s for s in loop.body if isinstance(s, nest.Loop)]
    inside = [s for x in inner for s in walk(x.body)]
    accesses = [s for s in walk(loop.body) if isinstance(s, nest.Load | nest.Store)]
    is_plain = not any(isinstance(s, nest.Loop | nest.Running | nest.Within) for s in inside)
    return bool(inner) and is_plain and not kernel.scratch and not any(s.at for s in accesses)


def has_pieces(kernel: Kernel, loop: nest.Loop) -> bool:
    """Whether the rows of such a loop can be cut: nothing else is stored than in it."""
    return all(s is loop or not isinstance(s, nest.Store | nest.Loop) for s in kernel.body)


def stages_of(loop: nest.Loop) -> int:
    """How many kernels there are for pieces: one for each loop over rows, and one for what follows the last of them."""
    loops = [k for k, s in enumerate(loop.body) if isinstance(s, nest.Loop)]
    has_rest = any(isinstance(s, nest.Store) for s in loop.body)
    return len(loops) + has_rest


def piece_tables(loop: nest.Loop, pieces: int) -> dict[str, tuple[Memory, ...]]:
    """Where the pieces of columns leave their states, by carry."""
    sizes: tuple[Operand, ...] = (pieces, *map(size_of, loop.axes))
    by_carry = {}
    for inner in (s for s in loop.body if isinstance(s, nest.Loop)):
        for carry in inner.carries:
            tables = [Memory(f"part.{carry.name}", carry.dtype, "global", "work", sizes)]
            if is_positional(carry.reducer):
                tables.append(Memory(f"place.{carry.name}", "int64", "global", "work", sizes))
            by_carry[carry.name] = tuple(tables)
    return by_carry


class ColumnMapper:
    """Emits a loop whose iterations are columns."""

    def __init__(self, mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope) -> None:
        self.mapper, self.loop, self.scope = mapper, loop, scope
        self.b = mapper.b
        self.total = mapper.total(loop)
        self._lent: dict[tuple[str, int], str] = {}
        """Shared memory for states, by dtype and number: one fold uses it after the other."""
        self.tables = piece_tables(loop, mapper.schedule.pieces) if mapper.schedule.pieces > 1 else {}

    def whole(self) -> None:
        """Every column by one block."""
        for_each = self.b.index("mul", self.mapper.blocks, self.mapper.schedule.columns)
        with self.b.loop(self._first(self.mapper.block), self.total, for_each) as base:
            self._column(base)
            for s in self.loop.body:
                if isinstance(s, nest.Loop):
                    folded = self._rows(s, 0, self.mapper.total(s))
                    self._close(s, folded)
                else:
                    self._outside(s)

    def stage(self, number: int) -> None:
        """One of the loops over rows, or what follows the last of them."""
        loops = sum(isinstance(s, nest.Loop) for s in self.loop.body)
        if number < loops:
            self._pieces(number)
        else:
            self._rest()

    def _pieces(self, number: int) -> None:
        """Every piece of every column by one block, which goes over the rows of one loop and leaves its states."""
        b, schedule = self.b, self.mapper.schedule
        tiles = b.index("div", b.index("add", self.total, schedule.columns - 1), schedule.columns)
        with b.loop(self.mapper.block, b.index("mul", tiles, schedule.pieces), self.mapper.blocks) as item:
            piece = b.index("div", item, tiles)
            self._column(self._first(b.index("rem", item, tiles)))
            before = number
            for s in self.loop.body:
                if not isinstance(s, nest.Loop):
                    if not isinstance(s, nest.Store):
                        self._outside(s)
                elif before:
                    before -= 1
                    self._known(s)
                else:
                    self._piece(s, piece)
                    break

    def _piece(self, loop: nest.Loop, piece: Operand) -> None:
        """The rows of a piece."""
        b, pieces = self.b, self.mapper.schedule.pieces
        rows = self.mapper.total(loop)
        each = b.index("div", b.index("add", rows, pieces - 1), pieces)
        start = b.index("min", b.index("mul", piece, each), rows)
        folded = self._rows(loop, start, b.index("min", b.index("add", start, each), rows))
        self._leave(loop, folded, piece)

    def _rest(self) -> None:
        """What the pieces have left, and what follows it."""
        for_each = self.b.index("mul", self.mapper.blocks, self.mapper.schedule.columns)
        with self.b.loop(self._first(self.mapper.block), self.total, for_each) as base:
            self._column(base)
            for s in self.loop.body:
                if isinstance(s, nest.Loop):
                    self._known(s)
                else:
                    self._outside(s)

    def _known(self, loop: nest.Loop) -> None:
        """What the pieces of a loop have left."""
        if loop.carries:
            self._close(loop, self._gather(loop))

    def tables_of(self, stage: int) -> dict[str, tuple[Memory, ...]]:
        """The tables of pieces that a stage reads or writes, by carry."""
        loops = [s for s in self.loop.body if isinstance(s, nest.Loop)]
        names = {c.name for loop in loops[: stage + 1] for c in loop.carries}
        return {name: tables for name, tables in self.tables.items() if name in names}

    # --- one column

    def _first(self, tile: Operand) -> Operand:
        return self.b.index("mul", tile, self.mapper.schedule.columns)

    def _column(self, base: Operand) -> None:
        """What is known in this thread's column; the last one stands for those behind it."""
        b = self.b
        number = b.index("add", base, self.mapper.team_in_block)
        self.is_there = b.test("lt", number, self.total)
        self.inside = self.scope.child()
        self.mapper.split(self.loop.axes, b.index("min", number, b.index("sub", self.total, 1)), self.inside)

    def _outside(self, s: Statement) -> None:
        """A statement that is the same for all rows."""
        if not isinstance(s, nest.Store):
            self.mapper.statement(s, self.inside)
            return
        with self.b.when(self.b.test("eq", self.mapper.lane, 0)), self.b.when(self.is_there):
            self.mapper.statement(s, self.inside)

    def _rows(self, loop: nest.Loop, start: Operand, stop: Operand) -> list[State]:
        """A loop's rows from one to another, several of a thread at a time; the states of its threads folded."""
        states = states_of(self.mapper, loop)
        with self.b.when(self.is_there):
            share_by_several(self.mapper, loop, self.inside, self.loop.axes[-1], start, stop, states)
        own = folded_states(self.mapper, loop, states)
        return self._fold([(c, own[c.name]) for c in loop.carries])

    # --- folds

    def _gather(self, loop: nest.Loop) -> list[State]:
        b, mapper = self.b, self.mapper
        states = {c.name: mapper.variables(c) for c in loop.carries}
        at = [self.inside.at[a] for a in self.loop.axes]
        with (
            b.when(self.is_there),
            b.loop(mapper.lane, mapper.schedule.pieces, mapper.schedule.team_size) as piece,
        ):
            for carry in loop.carries:
                met = [b.read(m.name, m.dtype, piece, *at) for m in self.tables[carry.name]]
                mapper.update(carry, states[carry.name], met)
        return self._fold([(c, states[c.name]) for c in loop.carries])

    def _leave(self, loop: nest.Loop, folded: list[State], piece: Operand) -> None:
        at = [self.inside.at[a] for a in self.loop.axes]
        with self.b.when(self.b.test("eq", self.mapper.lane, 0)), self.b.when(self.is_there):
            for carry, state in zip(loop.carries, folded, strict=True):
                for value, table in zip(state, self.tables[carry.name], strict=True):
                    self.b.write(table.name, value, piece, *at)

    def _close(self, loop: nest.Loop, folded: list[State]) -> None:
        for carry, state in zip(loop.carries, folded, strict=True):
            self.inside.values[carry.name] = state[-1]

    def _fold(self, states: list[tuple[nest.Carry, State]]) -> list[State]:
        """The states of a column's threads folded in a fixed tree; each of them gets the answer."""
        b, mapper = self.b, self.mapper
        left = mapper.schedule.team_size
        if left == 1 or not states:
            return [state for _, state in states]
        values = iter(range(sum(len(state) for _, state in states)))
        tables = [[self._table(b.dtypes[v], next(values)) for v in state] for _, state in states]
        for names, (_, state) in zip(tables, states, strict=True):
            self._put(names, state)
        while left > 1:
            b.barrier()
            left //= 2
            with b.when(b.test("lt", mapper.lane, left)):
                for names, (carry, state) in zip(tables, states, strict=True):
                    other = b.index("add", mapper.lane, left)
                    met = [self._take(names, state, at) for at in (mapper.lane, other)]
                    self._put(names, b.combine(carry.reducer, *met))
        b.barrier()
        totals = [self._take(names, state, 0) for names, (_, state) in zip(tables, states, strict=True)]
        b.barrier()  # before the tables are written again
        return totals

    def _table(self, dtype: str, number: int) -> str:
        if (dtype, number) not in self._lent:
            schedule = self.mapper.schedule
            self._lent[dtype, number] = self.mapper.shared_table(dtype, (schedule.team_size, schedule.columns))
        return self._lent[dtype, number]

    def _put(self, tables: list[str], state: State) -> None:
        """Write this thread's state to shared memory."""
        for name, value in zip(tables, state, strict=True):
            self.b.write(name, value, self.mapper.lane, self.mapper.team_in_block)

    def _take(self, tables: list[str], like: State, row_thread: Operand) -> State:
        """Read the state that a thread of this column wrote."""
        dtypes = [self.b.dtypes[v] for v in like]
        return [self.b.read(n, t, row_thread, self.mapper.team_in_block) for n, t in zip(tables, dtypes, strict=True)]
