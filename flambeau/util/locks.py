"""Locks that a forked process finds free, and work that no fork interrupts.

A process made by `os.fork` has one thread, and a copy of all memory. A lock that another thread held at that moment
would stay locked in it for ever. So every lock of the package is one of these, which the child finds free, unless the
thread that forks holds it itself.

What a lock protects may be half done at that moment, too. Work whose halves nobody can use, as compiling is, is done by
whoever holds a `NoForkLock`: a fork waits until no other thread holds one. A module that another thread is importing
would stay half imported, and locked: a fork waits for the imports of this package and of those it imports when first
needed.

>>> lock = Lock()
>>> with lock:
...     lock.is_owned()
True
"""

from __future__ import annotations

import _imp
import _thread
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import ContextDecorator, nullcontext
from types import TracebackType
from typing import Any

from flambeau.util.weak_sets import members

_ReentrantLock: Any = _thread.RLock
LONGEST_WAIT = 60.0
"""Seconds after which a fork no longer waits for other threads to give locks back, or to end an import."""
PATIENCE = 0.01
"""Seconds to wait for a lock while others are taken."""
IMPORTED_LATE = ("flambeau", "llvmlite", "numpy", "numba")
"""Packages whose imports a fork waits for. Others may be imported for as long as their program runs."""


class Lock(_ReentrantLock):  # type: ignore[misc]
    """A lock for `with`, which belongs to the thread that took it, and which that thread may take again.

    Taking it and giving it back are one step each: what a signal's handler raises finds it free or taken.
    """

    def __init__(self) -> None:
        _locks.add(self)

    def is_owned(self) -> bool:
        """Whether this thread holds it."""
        owned: bool = self._is_owned()
        return owned

    def renew(self) -> None:
        """Free it from a thread that is no more. For a process just forked."""
        if not self.is_owned():
            self._at_fork_reinit()


class NoForkLock(Lock):
    """A lock for work whose halves nobody can use: a fork waits until no other thread holds one.

    A thread that forks while it holds one of its own waits for nobody. What a signal's handler raises while a lock is
    taken leaves it as it was.
    """

    def __init__(self) -> None:
        super().__init__()
        with nullcontext() if _holds_any() else _gate:  # a thread that forks has asked for all that there are
            _no_fork_locks.add(self)

    def __enter__(self) -> bool:
        if _forking and not _holds_any():  # else there would always be another that holds one
            with _gate:
                pass
        was_owned = self.is_owned()
        try:
            is_taken: bool = self.acquire()
        except BaseException:
            if was_owned or self.is_owned():
                self.release()
            raise
        return is_taken


def _holds_any() -> bool:
    """Whether this thread holds a `NoForkLock`."""
    return any(lock.is_owned() for lock in members(_no_fork_locks))


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_no_fork_locks: weakref.WeakSet[NoForkLock] = weakref.WeakSet()
_in_child: list[Callable[[], None]] = []
_gate: Any = threading.RLock()
"""Held while the process forks, and while a `NoForkLock` is made."""
_taken: list[NoForkLock] = []
"""Those that the thread that forks has taken in order to do it."""
_forking = 0
"""The thread that holds the gate in order to fork."""


def in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Register a function that each forked process calls once its locks are free; they run in order of registration.

    For what belongs to threads, which the new process does not have: pools, and counts of who does something.
    """
    _in_child.append(renew)
    return renew


class WhileAnyIsInside:
    """A block that several threads may be in: the first that enters calls `begin`, the last that leaves calls `end`.

    What a signal's handler raises anywhere, while a block is entered or left too, does not keep anybody inside. For
    that, `begin` and `end` may be called twice, and `end` without `begin`: the second call changes nothing.
    In a forked process, threads that are no more have left.

    >>> block = WhileAnyIsInside(lambda: print("begin"), lambda: print("end"))
    >>> with block(), block():
    ...     print("inside")
    begin
    inside
    end
    """

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end
        self._lock = Lock()
        self._thread_of: dict[weakref.ref[_Inside], int] = {}
        """The blocks that were entered and not left, with their threads."""
        in_child(self._only_this_thread)

    def __call__(self) -> _Inside:
        return _Inside(self)

    def enter(self, block: weakref.ref[_Inside]) -> None:
        """Count a block, and begin if it is the only one."""
        with self._lock:
            self._thread_of[block] = threading.get_ident()
            if len(self._thread_of) == 1:
                self._begin()

    def leave(self, block: weakref.ref[_Inside]) -> None:
        """Forget a block, and end if there is no other."""
        with self._lock:
            self._thread_of.pop(block, None)
            # A handler that raises before the first line of `__exit__` leaves a block without anybody who has it.
            for other in [other for other in self._thread_of if other() is None]:
                del self._thread_of[other]
            if not self._thread_of:
                self._end()

    def _only_this_thread(self) -> None:
        me, was_any = threading.get_ident(), bool(self._thread_of)
        self._thread_of = {block: thread for block, thread in self._thread_of.items() if thread == me}
        if was_any and not self._thread_of:
            self._end()


class _Inside(ContextDecorator):
    """One block, or a function every call of which is one."""

    def __init__(self, of: WhileAnyIsInside) -> None:
        self._of = of
        self._me = weakref.ref(self)

    def _recreate_cm(self) -> _Inside:
        return _Inside(self._of)

    def __enter__(self) -> None:
        try:
            self._of.enter(self._me)
        except BaseException:
            self._of.leave(self._me)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._of.leave(self._me)
        except BaseException:  # a signal's handler raised
            self._of.leave(self._me)
            raise


def _before() -> None:
    global _forking
    if _holds_any():
        return
    _gate.acquire()
    _forking = threading.get_ident()
    until = time.monotonic() + LONGEST_WAIT
    while True:
        _take_all(until)
        _imp.acquire_lock()  # no import begins before the fork is over
        if not _is_importing() or time.monotonic() >= until:
            return
        _imp.release_lock()
        _give_back()
        time.sleep(0.0002)


def _take_all(until: float) -> None:
    """Take all of `_no_fork_locks`, as far as other threads give them back in time.

    A thread that holds one may need a second one that is taken already. Then that first one is waited for with none.
    """
    needed: NoForkLock | None = None
    while time.monotonic() < until:
        if needed is not None and needed.acquire(timeout=max(until - time.monotonic(), 0.0)):
            _taken.append(needed)
        for lock in [other for other in members(_no_fork_locks) if other is not needed]:
            if not lock.acquire(timeout=PATIENCE):
                _give_back()
                needed = lock
                break
            _taken.append(lock)
        else:
            return


def _give_back() -> None:
    while _taken:
        _taken.pop().release()


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
        _give_back()
        _imp.release_lock()
        _gate.release()


def _after_in_child() -> None:
    global _forking, _gate
    if _forking == threading.get_ident():
        _give_back()
        _imp.release_lock()
    _gate, _forking = threading.RLock(), 0
    for lock in members(_locks):
        lock.renew()
    for renew in _in_child:
        renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
