"""A reduction in two steps: one of a reduction's loops gets a result for each of its iterations."""

from __future__ import annotations

from flambeau.te.build import neutral
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import Buffer, Load, Var, integer
from flambeau.te.linear import simplify
from flambeau.te.nest import Nest
from flambeau.te.splitting import is_plain
from flambeau.te.statements import Allocate, Loop, Store, stores


def rfactor(nest: Nest, loop: Loop) -> Loop:
    """Give each iteration of a reduction's loop a result of its own, put together afterwards; the loop over these."""
    is_plain(loop, "factor")
    nest.check_memory_in(loop)
    inside = stores(loop.body)
    if not loop.reduces or len(inside) != 1 or not inside[0].reducer:
        names = ", ".join(s.name for s in nest.loops() if s.reduces) or "none"
        raise ScheduleError(
            f"rfactor takes a loop along which one tensor is reduced, which {loop.name} is not: {names}"
        )
    [store] = inside
    for around in nest.path(loop):
        if isinstance(around, Loop) and around.reduces:
            raise ScheduleError(
                f"{around.name} is a reduction loop too, outside {loop.name}: reorder {loop.name} out of it"
            )
    for s in nest.path(store)[len(nest.path(loop)) + 1 :]:
        if isinstance(s, Loop) and not s.reduces:
            raise ScheduleError(
                f"{s.name} lies in {loop.name} and reduces nothing: reorder it out of {loop.name} first"
            )
    at, target, reducer = store.indices, store.buffer, store.reducer
    parts = Buffer(nest.fresh(f"{target.name}_{loop.name}"), (loop.extent,), target.computed)
    offset = simplify(loop.var - loop.start)
    store.buffer, store.indices, tensor, store.tensor = parts, (offset,), store.tensor, None
    loop.body.insert(0, Store(parts, (offset,), neutral(reducer, target.dtype)))
    loop.reduces = False
    var = Var(nest.fresh(f"{loop.name}_all"))
    put_together = Store(target, at, Load(parts, (var,)), reducer, tensor)
    last = Loop(var, integer(0), loop.extent, [put_together], reduces=True)
    nest.put(loop, [Allocate(parts), loop, last])
    return last
