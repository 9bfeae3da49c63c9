"""Arrays that lie across: square tiles are read along their own rows, put into shared memory, used along the others.

A block takes a tile of ``TILE`` times ``TILE`` iterations of two axes: the innermost, along which results lie side by
side, and the one along which what is turned does. Behind the end of either axis, its last place stands; nothing is
stored there.
"""

from __future__ import annotations

from flambeau.codegen.cuda.mapped import Operand
from flambeau.codegen.cuda.threads import ThreadMapper, ThreadScope, size_of
from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.nest import Statement

TILE = 32


def turned_loop(mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope) -> None:
    """Every iteration of a loop whose iterations have nothing to do with each other."""
    b = mapper.b
    across, along = mapper.schedule.across, loop.axes[-1]
    rest = tuple(a for a in loop.axes if a not in (across, along))
    tiles_across, tiles_along = _tiles(mapper, across), _tiles(mapper, along)
    count = b.index("mul", mapper.total(nest.Loop(rest, (), ())), b.index("mul", tiles_across, tiles_along))
    tables = {name: mapper.square(mapper.buffers[name].dtype, TILE) for name in mapper.schedule.turned}
    column, row = b.index("rem", mapper.thread, TILE), b.index("div", mapper.thread, TILE)
    rows = [b.index("add", row, k) for k in range(0, TILE, mapper.schedule.threads // TILE)]
    with b.loop(mapper.block, count, mapper.blocks) as tile:
        outer = scope.child()
        left = b.index("div", tile, tiles_along)
        mapper.split(rest, b.index("div", left, tiles_across), outer)
        first = {
            along: b.index("mul", b.index("rem", tile, tiles_along), TILE),
            across: b.index("mul", b.index("rem", left, tiles_across), TILE),
        }
        _fill(mapper, loop, outer, first, tables, rows, column)
        b.barrier()
        _use(mapper, loop, outer, first, tables, rows, column)
        b.barrier()  # before the tables are filled again


def _tiles(mapper: ThreadMapper, axis: str) -> Operand:
    return mapper.b.index("div", mapper.b.index("add", size_of(axis), TILE - 1), TILE)


def _at(mapper: ThreadMapper, axis: str, first: dict[str, Operand], offset: Operand) -> tuple[Operand, str]:
    """A place along an axis, or the last one, and whether the former is there."""
    b = mapper.b
    wanted = b.index("add", first[axis], offset)
    return b.index("min", wanted, b.index("sub", size_of(axis), 1)), b.test("lt", wanted, size_of(axis))


def _fill(
    mapper: ThreadMapper, loop: nest.Loop, outer: ThreadScope, first: dict[str, Operand], tables: dict[str, str],
    rows: list[Operand], column: Operand,
) -> None:  # fmt: skip
    """Neighbouring threads read what lies side by side; rows of a table are places along the innermost axis."""
    b, across, along = mapper.b, mapper.schedule.across, loop.axes[-1]
    for name, table in tables.items():
        read = []
        for row in rows:
            inner = outer.child()
            inner.at[across], _ = _at(mapper, across, first, column)
            inner.at[along], _ = _at(mapper, along, first, row)
            read.append(b.read(name, mapper.buffers[name].dtype, *mapper.index(name, inner)))
        for row, value in zip(rows, read, strict=True):
            b.write(table, value, row, column)


def _use(
    mapper: ThreadMapper, loop: nest.Loop, outer: ThreadScope, first: dict[str, Operand], tables: dict[str, str],
    rows: list[Operand], column: Operand,
) -> None:  # fmt: skip
    """The iterations of a tile; each statement is done for all of a thread's before the next."""
    b, across, along = mapper.b, mapper.schedule.across, loop.axes[-1]
    lanes: list[tuple[ThreadScope, Operand, str]] = []
    for row in rows:
        scope = outer.child()
        scope.at[across], is_down = _at(mapper, across, first, row)
        scope.at[along], is_right = _at(mapper, along, first, column)
        lanes.append((scope, row, b.let("logical_and", is_down, is_right)))
    for s in loop.body:
        for scope, row, is_there in lanes:
            _statement(mapper, s, scope, tables, (column, row), is_there)


def _statement(
    mapper: ThreadMapper, s: Statement, scope: ThreadScope, tables: dict[str, str], at: tuple[Operand, Operand],
    is_there: str,
) -> None:  # fmt: skip
    if isinstance(s, nest.Load) and s.buffer in tables:
        scope.values[s.name] = mapper.b.read(tables[s.buffer], s.dtype, *at)
    elif isinstance(s, nest.Store):
        with mapper.b.when(is_there):
            mapper.statement(s, scope)
    else:
        mapper.statement(s, scope)
