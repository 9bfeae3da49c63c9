"""Locks that a forked process finds free, and work that no fork interrupts.

A process made by `os.fork` has one thread, and a copy of all memory. A lock that another thread held at that moment
would stay locked in it for ever. So every lock of the package is one of these, which the child finds free, unless the
thread that forks holds it itself.

What a lock protects may be half done at that moment, too. Work whose halves nobody can use, as compiling is, happens in
`no_fork()` blocks: a fork waits until no other thread is in one. A module that another thread is importing would stay
half imported, and locked: a fork waits for the imports of this package and of those it imports when first needed.

>>> lock = Lock()
>>> with lock:
...     lock.is_held()
True
"""

from __future__ import annotations

import _imp
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

LONGEST_WAIT = 60.0
"""Seconds after which a fork no longer waits for other threads to leave `no_fork()`, or to end an import."""
IMPORTED_LATE = ("flambeau", "llvmlite", "numpy", "numba")
"""Packages whose imports a fork waits for. Others may be imported for as long as their program runs."""


class Lock:
    """A lock for `with`, which belongs to the thread that took it, and which that thread may take again.

    What a signal's handler raises while a thread takes it leaves it as it was.
    """

    __slots__ = ("__weakref__", "_depth", "_forks_wait", "_lock", "_owner")

    def __init__(self, *, forks_wait: bool = False) -> None:
        """`forks_wait`: whoever holds it is in a `no_fork()` block."""
        self._lock: Any = threading.RLock()  # it knows who holds it
        self._owner = 0
        """The thread that holds it; 0 for none."""
        self._depth = 0
        self._forks_wait = forks_wait
        _locks.add(self)

    def __enter__(self) -> None:
        me = threading.get_ident()
        depth, blocks = (self._depth if self._owner == me else 0), _inside.get(me, 0)
        try:
            if self._forks_wait:
                _enter()
            if not depth:
                self._lock.acquire()
            self._owner, self._depth = me, depth + 1
        except BaseException:  # a signal's handler may raise between any two of these
            self._forget(me, depth, blocks)
            raise

    def _forget(self, me: int, depth: int, blocks: int) -> None:
        """Leave it as it was before this thread began to take it."""
        if depth:
            self._depth = depth
        elif self._lock._is_owned():
            self._owner, self._depth = 0, 0
            self._lock.release()
        if blocks:
            _inside[me] = blocks
        else:
            _inside.pop(me, None)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if self._forks_wait:
                _leave()
        finally:
            self._depth -= 1
            if not self._depth:
                self._owner = 0
                self._lock.release()

    def is_held(self) -> bool:
        """Whether this thread holds it."""
        return self._owner == threading.get_ident()

    def renew(self) -> None:
        """Free it from a thread that is no more. For a process just forked."""
        if not self.is_held():
            self._lock, self._owner, self._depth = threading.RLock(), 0, 0


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_in_child: list[Callable[[], None]] = []
_gate: Any = threading.Lock()
"""Held while the process forks, and while a thread begins work that must not be forked."""
_forking = 0
"""The thread that holds the gate in order to fork."""
_inside: dict[int, int] = {}
"""By thread: how many `no_fork()` blocks it is in."""


@contextmanager
def no_fork() -> Iterator[None]:
    """Within the block, another thread that forks the process waits. Blocks may be nested.

    A thread that forks within a block of its own waits for nobody.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    me = threading.get_ident()
    if me in _inside:
        _inside[me] += 1
    else:
        with _gate:
            _inside[me] = 1


def _leave() -> None:
    me = threading.get_ident()
    if _inside[me] == 1:
        del _inside[me]
    else:
        _inside[me] -= 1


def in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Register a function that each forked process calls once its locks are free; they run in order of registration.

    For what belongs to threads, which the new process does not have: pools, and counts of who does something.
    """
    _in_child.append(renew)
    return renew


class WhileAnyIsInside:
    """A block that several threads may be in: the first that enters calls `begin`, the last that leaves calls `end`.

    In a forked process, threads that are no more have left.
    """

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end
        self._lock = Lock()
        self._inside: dict[int, int] = {}
        in_child(self._only_this_thread)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        me = threading.get_ident()
        with self._lock:
            if not self._inside:
                self._begin()
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._inside[me] -= 1
                if not self._inside[me]:
                    del self._inside[me]
                if not self._inside:
                    self._end()

    def _only_this_thread(self) -> None:
        me, was_any = threading.get_ident(), bool(self._inside)
        self._inside = {t: n for t, n in self._inside.items() if t == me}
        if was_any and not self._inside:
            self._end()


def _before() -> None:
    global _forking
    me = threading.get_ident()
    if me in _inside:
        return
    _gate.acquire()
    _forking = me
    until = time.monotonic() + LONGEST_WAIT
    while True:
        _imp.acquire_lock()  # no import begins before the fork is over
        if not (_inside or _is_importing()) or time.monotonic() >= until:
            return
        _imp.release_lock()
        time.sleep(0.0002)


def _is_importing() -> bool:
    """Whether a thread is importing a module of `IMPORTED_LATE`."""
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if name.partition(".")[0] in IMPORTED_LATE and getattr(spec, "_initializing", False):
            return True
    return False


def _after_in_parent() -> None:
    global _forking
    if _forking == threading.get_ident():
        _forking = 0
        _imp.release_lock()
        _gate.release()


def _after_in_child() -> None:
    global _forking, _gate
    me = threading.get_ident()
    if _forking == me:
        _imp.release_lock()
    _gate, _forking = threading.Lock(), 0
    for other in [t for t in _inside if t != me]:
        del _inside[other]
    for lock in list(_locks):
        lock.renew()
    for renew in _in_child:
        renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
