"""Iterations of an outermost loop by teams: the loops inside are shared out to the threads of a team."""

from __future__ import annotations

from flambeau.codegen.cuda.loops import is_scan
from flambeau.codegen.cuda.scans import scan_loop
from flambeau.codegen.cuda.several import folded_states, share_by_several, states_of
from flambeau.codegen.cuda.threads import ThreadMapper, ThreadScope
from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.nest import Statement


def team_loop(mapper: ThreadMapper, loop: nest.Loop, scope: ThreadScope) -> None:
    """Every iteration of a loop by one team."""
    stop = mapper.total(loop)
    with mapper.b.loop(mapper.team, stop, mapper.teams) as iteration:
        inside = scope.child()
        mapper.split(loop.axes, iteration, inside)
        team_body(mapper, loop.body, inside)
        if mapper.has_barriers:
            mapper.b.barrier()


def team_body(mapper: ThreadMapper, body: tuple[Statement, ...], scope: ThreadScope) -> None:
    """Statements that a team runs together: loops shared out, stores by one thread, the rest by all."""
    for s in body:
        if isinstance(s, nest.Loop):
            if is_scan(s):
                scan_loop(mapper, s, scope)
            elif mapper.schedule.vectors > 1 and s.axes and not any(isinstance(x, nest.Loop) for x in s.body):
                states = states_of(mapper, s)
                share_by_several(mapper, s, scope, s.axes[-1], 0, mapper.total(s), states)
                mapper.close(s, folded_states(mapper, s, states), scope)
            else:
                mapper.shared_loop(s, scope)
            if mapper.has_barriers:
                mapper.b.barrier()
        elif isinstance(s, nest.Store):
            mapper.stores_by(mapper.lane, (s,), scope)
        else:
            mapper.statement(s, scope)
