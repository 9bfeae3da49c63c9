"""What the loops of a nest do beside folds: read running states, change places that values say."""

from __future__ import annotations

import math

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.kernel.nest import Accumulate, Kernel, Loop, Running, Statement, Store, walk
from flambeau.util.record import replace

BUSY = 1 << 14
"""Threads that keep a device busy."""
ATOMIC = frozenset({"float32", "float64", "int32", "int64"})
"""Element types that devices add to memory in one access."""


def is_scan(loop: Loop) -> bool:
    """Whether running states of a loop are read in it."""
    return any(isinstance(s, Running) for s in loop.body)


def has_scans(body: tuple[Statement, ...]) -> bool:
    """Whether running states are read anywhere."""
    return any(isinstance(s, Running) for s in walk(body))


def with_changes_alone(kernel: Kernel) -> Kernel:
    """The same nest as loops one after another: one that fills the result, one that changes it, none inside another.

    Raises ``KernelError`` where they depend on each other otherwise.
    """
    body: list[Statement] = []
    for s in kernel.body:
        body.extend(_parted(s, kernel) if isinstance(s, Loop) else (s,))
    return replace(kernel, body=tuple(body))


def _parted(loop: Loop, kernel: Kernel) -> list[Loop]:
    inner = [s for s in loop.body if isinstance(s, Loop)]
    shared = tuple(s for s in loop.body if not isinstance(s, Loop))
    if loop.carries or (inner and any(isinstance(s, Store | Accumulate) for s in shared)):
        raise KernelError("stores at places that values say, inside a fold or beside loops, have no CUDA kernel yet")
    if not inner:
        return [loop]
    return [replace(x, axes=loop.axes + x.axes, body=shared + x.body) for one in inner for x in _parted(one, kernel)]


def change_of(loop: Loop) -> Store | None:
    """The store of a loop whose place values say; None where there is none."""
    return next((s for s in loop.body if isinstance(s, Store) and s.at), None)


def own_axes(kernel: Kernel, loop: Loop, change: Store) -> tuple[str, ...]:
    """The axes of a loop whose iterations never meet at one place."""
    return tuple(a for a in loop.axes if a in kernel.buffer(change.buffer).axes)


def residues_for(kernel: Kernel, sizes: dict[str, int]) -> int:
    """Threads that share the places along the axes that values go along, so that all together keep a device busy."""
    wanted = 1
    for loop in with_changes_alone(kernel).body:
        change = change_of(loop) if isinstance(loop, Loop) else None
        if change is None:
            continue
        assert isinstance(loop, Loop)
        own = own_axes(kernel, loop, change)
        threads = math.prod(sizes[a] for a in own)
        named = min(math.prod(sizes[a] for a, _ in change.at), math.prod(sizes[a] for a in loop.axes if a not in own))
        while wanted * 2 <= named and threads * wanted < BUSY:
            wanted *= 2
    return wanted


def adds_alone(kernel: Kernel) -> bool:
    """Whether all that is done at places that values say is to add, what devices add at once."""
    changes = [s for s in walk(kernel.body) if isinstance(s, Store) and s.at]
    return all(s.op == "add" and kernel.buffer(s.buffer).dtype in ATOMIC for s in changes)
