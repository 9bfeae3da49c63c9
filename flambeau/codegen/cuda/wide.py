"""Iterations of a thread several at a time: neighbours in one access, and several such accesses before any is used.

A block takes tiles of ``threads * vectors * width`` iterations. In a tile, a thread takes ``vectors`` groups of
``width`` neighbours, groups of neighbouring threads side by side; what is left behind the last whole tile, all threads
of the grid take one by one.
"""

from __future__ import annotations

from typing import TypeGuard

from flambeau.codegen.cuda.mapped import Operand
from flambeau.codegen.cuda.threads import ThreadMapper, ThreadScope, are_same, size_of
from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.nest import Statement


def arguments_of(s: nest.Let | nest.Within) -> tuple[str, ...]:
    """The values that a definition is made of."""
    return s.args if isinstance(s, nest.Let) else (s.value,)


def wide_loop(mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope) -> None:
    """Every iteration of a loop whose iterations have nothing to do with each other."""
    b, schedule = mapper.b, mapper.schedule
    tile_size = schedule.per_block
    total = mapper.total(loop)
    tiles = b.index("div", total, tile_size)
    with b.loop(mapper.block, tiles, mapper.blocks) as tile:
        first = b.index("add", b.index("mul", tile, schedule.threads * schedule.vectors), mapper.thread)
        groups = [b.index("add", first, v * schedule.threads) for v in range(schedule.vectors)]
        Lanes(mapper, loop, scope, groups).body(loop.body)
    rest = b.index("add", b.index("mul", tiles, tile_size), mapper.team)
    mapper.iterations(loop, rest, mapper.teams, scope)


class Lanes:
    """The iterations that a thread takes together; each statement is done for all before the next."""

    def __init__(self, mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope, groups: list[Operand]) -> None:
        self.mapper = mapper
        self.width = mapper.schedule.width
        self.inner = loop.axes[-1]
        self.groups = [self._lanes(loop, scope, group) for group in groups]
        """By group, what is known in each of its iterations."""

    def _lanes(self, loop: nest.Loop, scope: ThreadScope, group: Operand) -> list[ThreadScope]:
        b, outer = self.mapper.b, loop.axes[:-1]
        first = scope.child()
        if outer:
            in_row = b.index("div", size_of(self.inner), self.width)
            column = b.index("rem", group, in_row)
            self.mapper.split(outer, b.index("div", group, in_row), first)
        else:
            column = group
        first.at[self.inner] = b.index("mul", column, self.width)
        lanes = [first]
        for k in range(1, self.width):
            lane = first.child()
            lane.at[self.inner] = b.index("add", first.at[self.inner], k)
            lanes.append(lane)
        return lanes

    def body(self, body: tuple[Statement, ...]) -> None:
        """Statements that are no loops."""
        for s in body:
            if isinstance(s, nest.Const):
                value = self.mapper.b.const(s.value, s.dtype)
                for lanes in self.groups:
                    for lane in lanes:
                        lane.values[s.name] = value
            else:
                for lanes in self.groups:
                    self._statement(s, lanes)

    def _statement(self, s: Statement, lanes: list[ThreadScope]) -> None:
        """One statement in the iterations of a group."""
        mapper = self.mapper
        if isinstance(s, nest.Store):
            mapper.write_lanes(s, self.inner, lanes)
            return
        if self._is_same(s, lanes):
            mapper.statement(s, lanes[0])
            names = [lanes[0].values[s.name]] * len(lanes)
        elif isinstance(s, nest.Load):
            names = mapper.read_lanes(s, self.inner, lanes)
        else:
            for lane in lanes:
                mapper.statement(s, lane)
            return
        for lane, name in zip(lanes, names, strict=True):
            lane.values[s.name] = name

    def _is_same(self, s: Statement, lanes: list[ThreadScope]) -> TypeGuard[nest.Load | nest.Let | nest.Within]:
        """Whether neighbours all define the same value."""
        if isinstance(s, nest.Load):
            is_still = self.inner not in self.mapper.buffers[s.buffer].axes
            return is_still and are_same(lanes, tuple(value for _, value in s.at))
        return isinstance(s, nest.Let | nest.Within) and are_same(lanes, arguments_of(s))
