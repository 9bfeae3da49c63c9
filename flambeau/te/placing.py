"""Where a tensor is computed: inside a loop that reads it, or within each expression that does."""

from __future__ import annotations

from flambeau.te.build import element_of
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import STORED, Buffer, Expr, Load, Op, Var
from flambeau.te.linear import simplify
from flambeau.te.nest import Nest
from flambeau.te.regions import loads_of, loops_over, region_of
from flambeau.te.splitting import is_plain
from flambeau.te.statements import (
    BLOCK,
    PARALLEL,
    THREAD,
    Allocate,
    Body,
    Loop,
    Store,
    When,
    path_to,
    stores,
    substituted,
    walk,
    with_loads,
)
from flambeau.te.tensors import Tensor
from flambeau.util.record import dataclass


def compute_at(nest: Nest, t: Tensor, loop: Loop) -> list[Loop]:
    """Compute what a loop's iteration reads of a tensor in that iteration; the new loops over it."""
    is_plain(loop, "compute in")
    nest.check_memory_in(loop)
    own = _own_statements(nest, t, "computed in a loop")
    if any(path_to([s], loop) is not None for s in own if isinstance(s, Loop | When)):
        raise ScheduleError(
            f"{loop.name} is a loop of {t.name} itself: compute_at takes a loop in which {t.name} is read"
        )
    inside, everywhere = (list(loads_of(t.buffer, body)) for body in (loop.body, nest.body))
    if not inside:
        raise ScheduleError(f"nothing in {loop.name} reads {t.name}; it is read in {_readers(nest, t)}")
    if len(inside) != len(everywhere):
        raise ScheduleError(
            f"{t.name} is read outside {loop.name} too: compute_at takes a loop around all that reads it, which "
            f"{_readers(nest, t)} have in common"
        )
    region = region_of(t.buffer, loop.body)
    local = Buffer(t.name, region.size, t.dtype)
    known = nest.known_at(loop).inside(loop.var, loop.start, loop.stop)
    nest.release(own)
    names = [Var(nest.fresh(v.name)) for v in t.axes]
    loops, computed = loops_over(
        region, names, known, lambda at: element_of(t, nest.bodies[t], local, at, tuple(names), nest.fresh)
    )
    for s in own:
        nest.put(s, [])
    _read_from(loop.body, t.buffer, local, region.low)
    loop.body[:0] = [Allocate(local), *computed]
    return loops


def _own_statements(nest: Nest, t: Tensor, what: str) -> Body:
    """The statements of the whole nest that only compute a tensor, and its memory."""
    if t in nest.outputs:
        raise ScheduleError(f"{t.name} is a result of the nest, which others read: only temporaries can be {what}")
    statements: Body = [s for s in nest.body if isinstance(s, Allocate) and s.buffer is t.buffer]
    if not statements:
        raise ScheduleError(f"{t.name} has its place already, by a step before: place a tensor once")
    for s in nest.body:
        inner = stores([s])
        if not any(one.tensor is t for one in inner):
            continue
        other = next((one.buffer.name for one in inner if one.tensor is not t), None)
        if other is not None:
            raise ScheduleError(f"{other} is computed in the loops of {t.name}: place {t.name} first, then {other}")
        statements.append(s)
    return statements


def _readers(nest: Nest, t: Tensor) -> str:
    names = []
    for s in walk(nest.body):
        if isinstance(s, Store) and any(True for _ in loads_of(t.buffer, [s])):
            names.append(" > ".join(around.name for around in nest.path(s) if isinstance(around, Loop)) or "no loop")
    return " and ".join(dict.fromkeys(names)) or "no loop"


def _read_from(body: Body, old: Buffer, new: Buffer, low: tuple[Expr, ...]) -> None:
    """Make statements read and write another buffer, whose elements begin at some indices."""

    def moved(e: Expr) -> Expr:
        return simplify(with_loads(e, {old: new}, {old: low}))

    for s in walk(body):
        if isinstance(s, Loop):
            s.start, s.stop = moved(s.start), moved(s.stop)
        elif isinstance(s, When):
            s.condition = moved(s.condition)
        elif isinstance(s, Store):
            s.indices, s.value = tuple(map(moved, s.indices)), moved(s.value)
            if s.buffer is old:
                s.buffer = new
                s.indices = tuple(simplify(i - o) for i, o in zip(s.indices, low, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Cached:
    """Memory that a loop's iteration works on in place of a tensor's.

    >>> from flambeau import te
    >>> A = te.placeholder("A", 16)
    >>> nest = te.LoopNest(te.compute("B", 16, lambda i: A[i] + 1))
    >>> outer, inner = nest.split("i", 4)
    >>> cached = nest.cache(A, outer)
    >>> len(cached.filled), len(cached.written_back)
    (1, 0)
    """

    buffer: Buffer
    filled: list[Loop]
    """The loops that fill it; none where all that is read of it was stored before."""
    written_back: list[Loop]
    """The loops that write it back; none where nothing is stored."""


def cache(nest: Nest, t: Tensor, loop: Loop, name: str) -> Cached:
    """Keep what a loop's iteration touches of a tensor in memory of its own, which is filled and written back."""
    is_plain(loop, "cache in")
    nest.check_memory_in(loop)
    region = region_of(t.buffer, loop.body)
    own = [s for s in stores(loop.body) if s.buffer is t.buffer]
    is_read = any(True for _ in loads_of(t.buffer, loop.body))
    if not own and not is_read:
        raise ScheduleError(f"nothing in {loop.name} reads or writes {t.name}, so there is nothing to cache")
    is_wide = bool(own) and not region.is_exact
    if is_wide:
        _check_alone(nest, t, loop)
    local = Buffer(nest.fresh(name), region.size, t.buffer.computed)
    known = nest.known_at(loop).inside(loop.var, loop.start, loop.stop)
    _read_from(loop.body, t.buffer, local, region.low)
    cached = Cached(local, [], [])

    def copies(*, is_back: bool) -> tuple[list[Loop], Body]:
        names = [Var(nest.fresh(f"{local.name}_{k}")) for k in range(t.ndim)]
        here = tuple(names)

        def copy(at: tuple[Expr, ...]) -> Body:
            if is_back:
                return [Store(t.buffer, at, Load(local, here), is_wide=is_wide)]
            return [Store(local, here, Load(t.buffer, at))]

        return loops_over(region, names, known, copy)

    filled: Body = []
    if is_read or not region.is_exact or all(s.reducer for s in own):
        loops, filled = copies(is_back=False)
        cached.filled.extend(loops)
    loop.body = [Allocate(local), *filled, *loop.body]
    if own:
        loops, back = copies(is_back=True)
        cached.written_back.extend(loops)
        loop.body += back
    return cached


def _check_alone(nest: Nest, t: Tensor, loop: Loop) -> None:
    """Raise ScheduleError for a loop whose iterations run at the same time, or which lies in such a one."""
    for around in (*nest.path(loop), loop):
        if isinstance(around, Loop) and around.kind in (PARALLEL, BLOCK, THREAD):
            raise ScheduleError(
                f"what an iteration of {loop.name} writes of {t.name} is no whole part of it, and {around.name} is "
                f"{around.kind}: writing it back would undo what others write; cache in a loop around whole tiles"
            )


def compute_inline(nest: Nest, t: Tensor) -> None:
    """Put a tensor's expression in the place of each element that is read, and compute it nowhere else."""
    if t.reducer:
        raise ScheduleError(f"{t.name} is a reduction, whose value is no expression: compute_at puts it into a loop")
    if t.dtype in STORED:
        raise ScheduleError(f"{t.name} is rounded to {t.dtype} in memory, which its expression is not: give it float32")
    own = _own_statements(nest, t, "put in the place where they are read")
    if any(load.checked for load in loads_of(t.buffer, nest.body)):
        raise ScheduleError(f"an index of {t.name} is looked at while the nest runs, which its expression would not be")
    for s in own:
        nest.put(s, [])
    body = nest.bodies[t]
    for s in walk(nest.body):
        if isinstance(s, Loop):
            s.start, s.stop = _inlined(s.start, t, body), _inlined(s.stop, t, body)
        elif isinstance(s, When):
            s.condition = _inlined(s.condition, t, body)
        elif isinstance(s, Store):
            s.indices, s.value = tuple(_inlined(i, t, body) for i in s.indices), _inlined(s.value, t, body)
    for other in nest.bodies:
        nest.bodies[other] = _inlined(nest.bodies[other], t, body)


def _inlined(e: Expr, t: Tensor, body: Expr) -> Expr:
    """An expression in which a tensor's elements are what its own expression says."""
    if isinstance(e, Op):
        return Op(e.op, tuple(_inlined(a, t, body) for a in e.args), e.dtype)
    if isinstance(e, Load):
        at = tuple(_inlined(i, t, body) for i in e.indices)
        if e.buffer is not t.buffer:
            return Load(e.buffer, at, e.checked)
        return simplify(substituted(body, dict(zip(t.axes, at, strict=True))))
    return e
