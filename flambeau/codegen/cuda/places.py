"""Stores at places that values say: every place belongs to one thread, which changes it in the order of the iterations.

So nothing is left to chance, whatever is put together: a place that is named twice has the value that the loop nest
means. Iterations over axes that the result has itself are shared out as they are. Along the others each of ``residues``
threads goes over all iterations, and makes those changes whose place, divided by their number, leaves its own.

Where the order does not matter, sums may be atomic instead: each iteration is any thread's.
"""

from __future__ import annotations

from flambeau.codegen.cuda.loops import own_axes
from flambeau.codegen.cuda.mapped import Operand
from flambeau.codegen.cuda.threads import ThreadMapper, ThreadScope
from flambeau.codegen.kernel import nest
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.kernel.nest import Loop, Statement, Store

AHEAD = 4
"""Iterations whose places are read before the first of their changes is made."""


def change_loop(mapper: ThreadMapper, loop: Loop, change: Store, scope: ThreadScope) -> None:
    """Every iteration of a loop that changes places."""
    b, residues = mapper.b, mapper.schedule.residues
    if mapper.schedule.atomic:
        with b.loop(mapper.team, mapper.total(loop), mapper.teams) as iteration:
            inside = scope.child()
            mapper.split(loop.axes, iteration, inside)
            mapper.body(tuple(s for s in loop.body if s is not change), inside)
            b.atomic_add(change.buffer, inside.values[change.value], *mapper.index(change.buffer, inside, change.at))
        return
    if sum(isinstance(s, Store) for s in loop.body) > 1:
        raise KernelError("several stores in a loop that changes places have no CUDA kernel yet")
    own = own_axes(mapper.kernel, loop, change)
    meeting = Loop(tuple(a for a in loop.axes if a not in own), (), loop.body)
    each = mapper.total(Loop(own, (), ()))
    with b.loop(mapper.team, b.index("mul", each, residues), mapper.teams) as iteration:
        inside = scope.child()
        residue: Operand = 0
        if residues > 1:
            residue, iteration_of_own = b.index("div", iteration, each), b.index("rem", iteration, each)
        else:
            iteration_of_own = iteration
        mapper.split(own, iteration_of_own, inside)
        _in_order(mapper, meeting, change, inside, residue)


def _in_order(mapper: ThreadMapper, loop: Loop, change: Store, scope: ThreadScope, residue: Operand) -> None:
    """All iterations of a loop one after another; the places of some are known before the first of them changes any."""
    b, total = mapper.b, mapper.total(loop)
    last = b.index("sub", total, 1)
    said, rest = _parts(loop.body, change)
    with b.loop(0, total, AHEAD) as first:
        lanes, mine = [], []
        for k in range(AHEAD):
            iteration = b.index("add", first, k)
            lane = scope.child()
            mapper.split(loop.axes, b.index("min", iteration, last), lane)
            mapper.body(said, lane)
            lanes.append(lane)
            mine.append(_is_mine(mapper, change, lane, residue, b.test("lt", iteration, total)))
        for lane, is_mine in zip(lanes, mine, strict=True):
            with b.when(is_mine):
                mapper.body(rest, lane)
                _change(mapper, change, lane)


def _is_mine(mapper: ThreadMapper, change: Store, scope: ThreadScope, residue: Operand, is_there: str) -> str:
    b, residues = mapper.b, mapper.schedule.residues
    if residues == 1:
        return is_there
    along = scope.values[change.at[0][1]]
    return b.let("logical_and", is_there, b.test("eq", b.index("rem", along, residues), residue))


def _parts(body: tuple[Statement, ...], change: Store) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """What says the places, and everything else but the change."""
    wanted = {value for _, value in change.at}
    said: list[Statement] = []
    for s in reversed(body):
        if getattr(s, "name", "") in wanted:
            wanted |= set(getattr(s, "args", ())) | {v for _, v in getattr(s, "at", ())}
            wanted |= {s.value} if isinstance(s, nest.Within) else set()
            said.insert(0, s)
    return tuple(said), tuple(s for s in body if s is not change and s not in said)


def _change(mapper: ThreadMapper, change: Store, scope: ThreadScope) -> None:
    b, at = mapper.b, mapper.index(change.buffer, scope, change.at)
    value = scope.values[change.value]
    if change.op:
        value = b.let(change.op, b.read(change.buffer, mapper.buffers[change.buffer].dtype, *at), value)
    b.write(change.buffer, value, *at)
