"""Folds over everything: a thread reads several groups of neighbours at a time, and folds them into several states.

A block takes tiles of ``threads * vectors * width`` iterations; each place in a tile has its own state, so that no
addition waits for the one before. What is left behind the last whole tile goes into the first state. Which element
meets which state follows from sizes and the schedule alone.
"""

from __future__ import annotations

from flambeau.codegen.cuda.mapped import Memory
from flambeau.codegen.cuda.threads import ThreadMapper, ThreadScope
from flambeau.codegen.cuda.wide import Lanes
from flambeau.codegen.kernel import nest


def wide_fold(mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope, tables: list[tuple[Memory, ...]]) -> None:
    """A fold by all threads of the grid; each block leaves a partial state."""
    b, schedule = mapper.b, mapper.schedule
    count = schedule.vectors * schedule.width
    states = {c.name: [mapper.variables(c) for _ in range(count)] for c in loop.carries}
    tiles = b.index("div", mapper.total(loop), schedule.per_block)
    with b.loop(mapper.block, tiles, mapper.blocks) as tile:
        first = b.index("add", b.index("mul", tile, schedule.threads * schedule.vectors), mapper.thread)
        lanes = Lanes(
            mapper, loop, scope, [b.index("add", first, v * schedule.threads) for v in range(schedule.vectors)]
        )
        for number, lane in enumerate(x for group in lanes.groups for x in group):
            lane.carries.update({c.name: (c, states[c.name][number]) for c in loop.carries})
        lanes.body(loop.body)
    scope.carries.update({c.name: (c, states[c.name][0]) for c in loop.carries})
    mapper.iterations(loop, b.index("add", b.index("mul", tiles, schedule.per_block), mapper.team), mapper.teams, scope)
    own = [(c, b.fold_states(c.reducer, states[c.name])) for c in loop.carries]
    mapper.leave(mapper.fold_block(own, schedule.threads), tables)
