"""Iterations of a loop shared out to the threads of a team, several of a thread at a time.

Each of those has states of its own, and each statement is done for all of them before the next: all reads are under way
before any is used. What is left behind the last whole round goes into the first states.
"""

from __future__ import annotations

from flambeau.codegen.cuda.build import State
from flambeau.codegen.cuda.mapped import Operand
from flambeau.codegen.cuda.threads import ThreadMapper, ThreadScope
from flambeau.codegen.kernel import nest

States = dict[str, list[State]]
"""By the name of a fold."""


def states_of(mapper: ThreadMapper, loop: nest.Loop) -> States:
    """States that have met no value, for each iteration of a thread at a time."""
    return {c.name: [mapper.variables(c) for _ in range(mapper.schedule.vectors)] for c in loop.carries}


def folded_states(mapper: ThreadMapper, loop: nest.Loop, states: States) -> dict[str, State]:
    """Each thread's states folded into one."""
    return {c.name: mapper.b.fold_states(c.reducer, states[c.name]) for c in loop.carries}


def share_by_several(
    mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope, along: str, start: Operand, stop: Operand, states: States
) -> None:  # fmt: skip
    """A loop's iterations from one to another. The schedule's wide buffers are dense ``along`` an axis."""
    b, at_once, size = mapper.b, mapper.schedule.vectors, mapper.schedule.team_size
    rounds = b.index("div", b.index("sub", stop, start) if start else stop, size * at_once)
    own = b.index("add", start, mapper.lane)
    with b.loop(0, rounds, 1) as number:
        first = b.index("add", own, b.index("mul", number, size * at_once))
        _together(mapper, loop, scope, along, [b.index("add", first, k * size) for k in range(at_once)], states)
    with b.loop(b.index("add", own, b.index("mul", rounds, size * at_once)), stop, size) as iteration:
        _together(mapper, loop, scope, along, [iteration], states)


def _together(
    mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope, along: str, iterations: list[Operand],
    states: States,
) -> None:  # fmt: skip
    scopes = []
    for number, iteration in enumerate(iterations):
        inside = scope.child()
        mapper.split(loop.axes, iteration, inside)
        inside.carries.update({c.name: (c, states[c.name][number]) for c in loop.carries})
        scopes.append(inside)
    for s in loop.body:
        for inside in scopes:
            if isinstance(s, nest.Load) and s.buffer in mapper.schedule.wide:
                (inside.values[s.name],) = mapper.read_lanes(s, along, [inside])
            else:
                mapper.statement(s, inside)
