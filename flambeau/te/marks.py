"""How loops run: as vectors, unrolled, shared among threads, as blocks and threads of a device."""

from __future__ import annotations

from flambeau.te.errors import ScheduleError
from flambeau.te.linear import constant_of, variables
from flambeau.te.nest import Nest
from flambeau.te.splitting import is_plain
from flambeau.te.statements import (
    PARALLEL,
    THREAD,
    UNROLL,
    VECTOR,
    Allocate,
    Loop,
    Store,
    loops_of,
    stores,
    walk,
)

MOST_LANES, MOST_UNROLLED, MOST_THREADS = 256, 1024, 1024


def mark(nest: Nest, loop: Loop, kind: str) -> None:
    """Mark a loop. Raises ScheduleError where it cannot run so."""
    is_plain(loop, "change")
    if kind == VECTOR:
        _check_vector(nest, loop)
    elif kind == UNROLL:
        _check_unrolled(nest, loop)
    else:
        if kind == THREAD:
            _fixed_extent(loop, MOST_THREADS, "bind")
        _check_independent(nest, loop, kind)
    loop.kind = kind


def _fixed_extent(loop: Loop, most: int, verb: str) -> int:
    size = constant_of(loop.extent)
    if size is None:
        raise ScheduleError(
            f"{loop.name} has {loop.extent} iterations, which calls decide: {verb} takes a loop of fixed length; "
            f"split it first, and {verb} the inner loop"
        )
    if size > most:
        raise ScheduleError(f"{loop.name} has {size} iterations, and {verb} takes up to {most}: split it first")
    return size


def _check_unrolled(nest: Nest, loop: Loop) -> None:
    total = _fixed_extent(loop, MOST_UNROLLED, "unroll")
    for s in (*nest.path(loop), *loops_of(loop.body)):
        if isinstance(s, Loop) and s.kind == UNROLL:
            total *= constant_of(s.extent) or 1
    if total > MOST_UNROLLED:
        raise ScheduleError(
            f"{loop.name} with the unrolled loops around and inside it would be written out {total} times, and unroll "
            f"takes up to {MOST_UNROLLED}: leave one of them a loop"
        )


def _check_vector(nest: Nest, loop: Loop) -> None:
    lanes = _fixed_extent(loop, MOST_LANES, "vectorize")
    if lanes & (lanes - 1):
        raise ScheduleError(
            f"{loop.name} has {lanes} iterations: vectors have 1, 2, 4, 8, ... lanes; split it by one of these first"
        )
    for around in (*nest.path(loop), *loops_of(loop.body)):
        if isinstance(around, Loop) and around.kind == VECTOR:
            raise ScheduleError(
                f"{around.name} is a vector already, and {loop.name} lies in one nest with it: one of them"
            )
    for s in walk(loop.body):
        if isinstance(s, Loop) and loop.var in variables(s.start) | variables(s.stop):
            raise ScheduleError(f"the range of {s.name} depends on {loop.name}, so lanes would end at different places")
        if isinstance(s, Loop) and s.kind == PARALLEL:
            raise ScheduleError(f"{s.name} is parallel, and lies in {loop.name}: a vector cannot start threads")
        if isinstance(s, Allocate):
            raise ScheduleError(
                f"{s.buffer.name} is allocated in each iteration of {loop.name}: vectorize a loop inside, or compute "
                f"{s.buffer.name} further outside"
            )
        if isinstance(s, Store) and not s.reducer and loop.var not in _in_indices(s):
            raise ScheduleError(
                f"{loop.name} is not in the index of {s.buffer.name}: its lanes would write one element"
            )


def _in_indices(s: Store) -> set[object]:
    return {v for i in s.indices for v in variables(i)}


def _check_independent(nest: Nest, loop: Loop, kind: str) -> None:
    """Whether iterations may run at the same time: each stores into elements of its own."""
    word = "parallel" if kind == PARALLEL else f"bound to {kind}s"
    for around in nest.path(loop):
        is_clash = isinstance(around, Loop) and (
            around.kind in (VECTOR, kind) or (kind != THREAD and around.kind in (PARALLEL, THREAD))
        )
        if is_clash:
            assert isinstance(around, Loop)
            raise ScheduleError(
                f"{loop.name} lies in {around.name}, which is {around.kind} already: fuse them, or mark one"
            )
    own = {s.buffer for s in walk(loop.body) if isinstance(s, Allocate)}
    for s in stores(loop.body):
        if s.is_wide and s.buffer not in own:
            raise ScheduleError(
                f"a cache in {loop.name} writes back elements of {s.buffer.name} that other iterations compute: it "
                f"cannot be {word}"
            )
        if s.buffer not in own and loop.var not in _in_indices(s):
            if loop.reduces:
                raise ScheduleError(
                    f"{loop.name} is a reduction axis: its iterations all change {s.buffer.name}, so it cannot be "
                    f"{word}; use rfactor({loop.name!r}), which gives each iteration a result of its own"
                )
            raise ScheduleError(f"the iterations of {loop.name} all write {s.buffer.name}: it cannot be {word}")
