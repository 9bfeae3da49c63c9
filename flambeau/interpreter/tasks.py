"""Forked tasks on threads of their own.

A task waits in a queue until a worker takes it, or whoever waits for it runs it where it waits. Nobody runs any other
task while waiting: whatever then lies on a thread's stack waits, directly or not, for what is on top of it, so that
waiting makes no circles that the program does not have itself. A worker that waits for a task running elsewhere counts
as none: another one takes its place, for what it waits for may stand in the queue. So does a waiter that already runs
`DEEPEST` tasks on top of each other: it leaves the next one to a worker, since a thread's stack ends.

What the language lets functions read of their thread (whether gradients are recorded, what watches operators), a task
has from the thread that forked it, along with Python's context variables.

>>> work = submit(lambda: 6 * 7)
>>> work.wait()
42
"""

from __future__ import annotations

import atexit
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from flambeau.interpreter.future import Future, Work
from flambeau.tensor import grad_mode, observer
from flambeau.util import thread_count
from flambeau.util.inversions import WAITING
from flambeau.util.locks import Lock, in_child

DEEPEST: Final = 24
"""Tasks that a thread runs on top of each other, each because the one below waits for it."""
PATIENCE: Final = 10.0
"""Seconds after which a worker that nothing is left for goes."""
LOST = "the task was running in another thread when the process was forked: it goes on in the parent process only"
NOT_POSITIVE = "set_num_interop_threads expects a positive number, got {count}"


class _Worker(threading.local):
    depth: int = 0
    """Tasks on this thread's stack."""
    is_worker: bool = False


_me = _Worker()
_lock = Lock()
_queue: deque[Task] = deque()
"""Tasks in the order in which they were forked; those that somebody has taken meanwhile are passed over."""
_idle: list[threading.Event] = []
"""Workers that wait for work, the one that has waited least at the end."""
_running: dict[int, list[Task]] = {}
"""By thread: the tasks on its stack."""
_most: list[int] = []


class _Count:
    workers = 0
    """Workers there are."""
    waiting = 0
    """Workers that wait for a task or a future: they count as none."""
    is_over = False
    """Whether the process ends."""


def get_num_interop_threads() -> int:
    """How many tasks run at the same time, beside those run by threads that wait for them.

    >>> import flambeau
    >>> flambeau.get_num_interop_threads() >= 1
    True
    """
    return _most[0] if _most else max(2, thread_count.processors())


def set_num_interop_threads(count: int) -> None:
    """Let so many forked tasks run at the same time. Raises ValueError for less than one.

    Args:
        count: how many tasks, from 1 on.

    >>> import flambeau
    >>> flambeau.set_num_interop_threads(flambeau.get_num_interop_threads())
    """
    if count < 1:
        raise ValueError(NOT_POSITIVE.format(count=count))
    with _lock:
        _most[:] = [count]
        _hire()


class Task(Work):
    """A call to make once, for a future."""

    __slots__ = ("_call", "_context", "_future", "_grad", "_is_plain", "_is_taken")

    def __init__(self, call: Callable[[], Any], future: Future) -> None:
        self._call: Callable[[], Any] | None = call
        self._future = future
        self._is_taken = False
        self._grad = grad_mode.as_here()
        self._is_plain = observer.thread.is_plain
        self._context = contextvars.copy_context()

    def take(self) -> bool:
        """Whether this thread is the one to run it."""
        with _lock:
            taken, self._is_taken = self._is_taken, True
        return not taken

    def help(self) -> None:
        """Run it, if nobody has begun to and this thread's stack has room."""
        if _me.depth < DEEPEST and self.take():
            self.run()

    def run(self) -> None:
        """Run it, in what it has from its forker, and complete the future. Raises what ends more than a task."""
        call, self._call = self._call, None
        assert call is not None
        stack = _running.setdefault(threading.get_ident(), [])
        stack.append(self)
        _me.depth += 1
        try:
            with self._inherited():
                result = self._context.run(call)
        except BaseException as error:
            self._future.end(None, error)
            if not isinstance(error, Exception):
                raise
        else:
            self._future.end(result, None)
        finally:
            _me.depth -= 1
            stack.pop()
            if not stack:
                _running.pop(threading.get_ident(), None)

    @contextmanager
    def _inherited(self) -> Iterator[None]:
        """What the forking thread had set; what the task sets goes with it."""
        thread = observer.thread
        before = (thread.is_plain, thread.handlers, thread.observer)
        thread.is_plain, thread.handlers, thread.observer = self._is_plain, (), None
        try:
            with self._grad:
                yield
        finally:
            thread.is_plain, thread.handlers, thread.observer = before

    def lose(self) -> None:
        """End the future: the thread that ran this is not there."""
        if not self._future.done():
            self._future.end(None, RuntimeError(LOST))


def submit(call: Callable[[], Any]) -> Future:
    """The future of a call that is made in another thread, or by whoever waits for it."""
    future = Future()
    task = Task(call, future)
    future.work = task
    with _lock:
        if not _Count.is_over:
            _queue.append(task)
            _hire()
    return future


def _hire() -> None:
    """Have a worker for what is in the queue, if there may be one more. The lock is held."""
    busy = _Count.workers - _Count.waiting - len(_idle)
    if not _queue or busy >= get_num_interop_threads() or _Count.is_over:
        return
    if _idle:
        _idle.pop().set()
        return
    _Count.workers += 1
    threading.Thread(target=_serve, name=f"flambeau task {_Count.workers}", daemon=True).start()


def _next() -> Task | None:
    """The first task that nobody has taken, taken now. The lock is held."""
    while _queue:
        task = _queue.popleft()
        if not task._is_taken:
            task._is_taken = True
            return task
    return None


def _serve() -> None:
    """What a worker does."""
    _me.is_worker = True
    called = threading.Event()
    while True:
        with _lock:
            is_one_too_many = _Count.workers - _Count.waiting - len(_idle) > get_num_interop_threads()
            task = None if is_one_too_many else _next()
            if task is None:
                called.clear()
                _idle.append(called)
        if task is not None:
            with suppress(BaseException):  # whoever waits is told: `SystemExit` ends no worker
                task.run()
            del task
        elif not called.wait(PATIENCE):
            with _lock:
                if called in _idle:
                    _idle.remove(called)
                    _Count.workers -= 1
                    return


@WAITING.provide
@contextmanager
def waiting() -> Iterator[None]:
    """While this thread waits, another one may take its place."""
    if not _me.is_worker:
        yield
        return
    with _lock:
        _Count.waiting += 1
        _hire()
    try:
        yield
    finally:
        with _lock:
            _Count.waiting -= 1


@in_child
def _start_anew() -> None:
    """In a forked process: no workers. What is in the queue runs in the parent, and here if somebody waits for it."""
    _queue.clear()
    _idle.clear()
    _Count.workers = _Count.waiting = 0
    _me.is_worker = False
    mine = threading.get_ident()
    for thread, tasks in list(_running.items()):
        if thread != mine:
            del _running[thread]
            for task in tasks:
                task.lose()


@atexit.register
def _end() -> None:
    """Begin nothing more: what runs goes on until the process is no more."""
    with _lock:
        _Count.is_over = True
        _queue.clear()
