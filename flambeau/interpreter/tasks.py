"""Forked tasks on threads of their own.

A task waits in a queue until a worker takes it, or whoever waits for it runs it where it waits. A worker is woken for
what may be long (`task_length`). What was short before lies: whoever forked it will most likely wait for it before
another thread could begin, and a worker looks every `LIES` seconds for what has been left to lie.

Nobody runs any other task while waiting: whatever then lies on a thread's stack waits, directly or not, for what is on
top of it, so that waiting makes no circles that the program does not have itself. A worker that waits for a task
running elsewhere counts as none: another one takes its place, for what it waits for may stand in the queue. So does a
waiter that already runs `DEEPEST` tasks on top of each other: it leaves the next one to a worker, since a thread's
stack ends.

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
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Final

from flambeau.interpreter.future import Future, Work
from flambeau.interpreter.task_length import TaskLength
from flambeau.tensor import grad_mode, observer
from flambeau.tensor.autocast_state import in_precision, precision
from flambeau.util import thread_count
from flambeau.util.inversions import WAITING
from flambeau.util.locks import Lock, in_child

DEEPEST: Final = 24
"""Tasks that a thread runs on top of each other, each because the one below waits for it."""
PATIENCE: Final = 10.0
"""Seconds after which a worker that nothing is left for goes."""
LIES: Final = 0.002
"""Seconds that a short task lies, at most twice, before a worker takes it."""
LOOKS: Final = 50
"""Times that a worker looks for short tasks, and sees none, before it no longer does until there is one."""
LOST = "the task was running in another thread when the process was forked: it goes on in the parent process only"


class _Worker(threading.local):
    depth: int = 0
    """Tasks on this thread's stack."""
    is_worker: bool = False
    within: float = 0.0
    """Seconds that the tasks took which the task on top of the stack ran itself: they count for themselves alone."""


_me = _Worker()
_lock = Lock()
_queue: deque[Task] = deque()
"""Tasks in the order in which they were forked; those that somebody has taken meanwhile are passed over."""
_lying: deque[Task] = deque()
"""Short tasks that wait to be run, for which no worker is woken."""
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
    watcher: threading.Event | None = None
    """Of the worker that looks from time to time at what lies, or will when it wakes up."""
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
    """Let so many forked tasks run at the same time. Raises TypeError for what is no int, ValueError for less than one.

    Args:
        count: how many tasks, from 1 on.

    >>> import flambeau
    >>> flambeau.set_num_interop_threads(flambeau.get_num_interop_threads())
    """
    count = thread_count.checked("set_num_interop_threads", count)
    with _lock:
        _most[:] = [count]
        _hire()


class Task(Work):
    """A call to make once, for a future."""

    __slots__ = ("_call", "_context", "_forked", "_future", "_grad", "_is_plain", "_length", "_precision", "is_taken")

    def __init__(self, call: Callable[[], Any], future: Future, length: TaskLength) -> None:
        self._call: Callable[[], Any] | None = call
        self._future = future
        self._length = length
        self.is_taken = False
        """Whether some thread is the one to run it."""
        self._grad = grad_mode.as_here()
        self._precision = precision()
        self._is_plain = observer.thread.is_plain
        self._context = contextvars.copy_context()
        self._forked = time.perf_counter()

    def help(self) -> None:
        """Run it, if nobody has begun to and this thread's stack has room; else see to it that a worker does."""
        has_room = _me.depth < DEEPEST
        with _lock:
            was_taken = self.is_taken
            if has_room:
                self.is_taken = True
                _pass_over(_queue)
                _pass_over(_lying)
            elif not was_taken and not _Count.is_over:
                _queue.append(self)
                _hire()
        if has_room and not was_taken:
            self.run()

    def has_lain(self, now: float) -> bool:
        """Whether it was forked long enough ago for a worker to take it."""
        return now - self._forked >= LIES

    def run(self) -> None:
        """Run it, in what it has from its forker, and complete the future. Raises what ends more than a task."""
        call, self._call = self._call, None
        assert call is not None
        stack = _running.setdefault(threading.get_ident(), [])
        stack.append(self)
        _me.depth += 1
        within, _me.within = _me.within, 0.0
        clock = time.perf_counter if self._length.blocks else time.thread_time
        thread = observer.thread
        before = (thread.is_plain, thread.handlers, thread.observer)
        thread.is_plain, thread.handlers, thread.observer = self._is_plain, (), None
        start = clock()
        try:
            with self._grad, in_precision(self._precision) if self._precision else nullcontext():
                result = self._context.run(call)
        except BaseException as error:
            self._future.end(None, error)
            if not isinstance(error, Exception):
                raise
        else:
            self._future.end(result, None)
        finally:
            seconds = clock() - start
            self._length.took(seconds - _me.within)
            _me.within = within + seconds
            thread.is_plain, thread.handlers, thread.observer = before
            _me.depth -= 1
            stack.pop()
            if not stack:
                _running.pop(threading.get_ident(), None)

    def lose(self) -> None:
        """End the future: the thread that ran this is not there."""
        if not self._future.done():
            self._future.end(None, RuntimeError(LOST))


def submit(call: Callable[[], Any], length: TaskLength | None = None) -> Future:
    """The future of a call that is made in another thread, or by whoever waits for it.

    `length` says how long such tasks are, and is told how long this one was.
    """
    future = Future()
    task = Task(call, future, length or TaskLength())
    future.work = task
    with _lock:
        if _Count.is_over:
            return future
        if length is None or not length.is_short:
            _queue.append(task)
            _hire()
        else:
            _lying.append(task)
            _watch()
    return future


def run_here(run: Callable[..., Any], arguments: tuple[Any, ...], length: TaskLength) -> Future | None:
    """The future of a call that is made now; None where this thread's stack has no room for it."""
    if _me.depth >= DEEPEST:
        return None
    _me.depth += 1
    within, _me.within = _me.within, 0.0
    start = time.perf_counter()
    try:
        return Future.of(run, *arguments)
    finally:
        seconds = time.perf_counter() - start
        length.took(seconds - _me.within)
        _me.within = within + seconds
        _me.depth -= 1


def _hire() -> threading.Event | None:
    """Have a worker for what is forked, if there may be one more: what wakes it. The lock is held."""
    busy = _Count.workers - _Count.waiting - len(_idle)
    if not (_queue or _lying) or busy >= get_num_interop_threads() or _Count.is_over:
        return None
    if _idle:
        called = _idle.pop()
        called.set()
        return called
    _Count.workers += 1
    called = threading.Event()
    threading.Thread(target=_serve, args=[called], name=f"flambeau task {_Count.workers}", daemon=True).start()
    return called


def _watch() -> None:
    """Have a worker that looks at what lies. The lock is held."""
    if _Count.watcher is None and _lying:
        _Count.watcher = _hire()


def _next() -> Task | None:
    """The first task that nobody has taken and that has not to lie longer, taken now. The lock is held."""
    _pass_over(_queue)
    _pass_over(_lying)
    if _queue:
        task = _queue.popleft()
    elif _lying and _lying[0].has_lain(time.perf_counter()):
        task = _lying.popleft()
    else:
        return None
    task.is_taken = True
    return task


def _pass_over(tasks: deque[Task]) -> None:
    """Forget the first ones if they are taken. The lock is held."""
    while tasks and tasks[0].is_taken:
        tasks.popleft()


def _serve(called: threading.Event) -> None:
    """What a worker does."""
    _me.is_worker = True
    looks = 0
    while True:
        with _lock:
            task = _begun(called)
            if task is None:
                looks = LOOKS if _lying else looks - 1
                if looks > 0 and _Count.watcher is None:
                    _Count.watcher = called
        if task is not None:
            with suppress(BaseException):  # whoever waits is told: `SystemExit` ends no worker
                task.run()
            del task
        elif _Count.watcher is called:
            called.wait(LIES)
        elif not called.wait(PATIENCE) and _has_gone(called):
            return


def _begun(called: threading.Event) -> Task | None:
    """What a worker is to run; None where it is idle from now on. The lock is held."""
    if _Count.watcher is called:
        _Count.watcher = None
    if called in _idle:
        _idle.remove(called)
    is_one_too_many = _Count.workers - _Count.waiting - len(_idle) > get_num_interop_threads()
    task = None if is_one_too_many else _next()
    if task is None:
        called.clear()
        _idle.append(called)
    else:
        _watch()
    return task


def _has_gone(called: threading.Event) -> bool:
    """Whether a worker that nobody called goes."""
    with _lock:
        if called not in _idle:
            return False
        _idle.remove(called)
        _Count.workers -= 1
    return True


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
    _lying.clear()
    _idle.clear()
    _Count.workers = _Count.waiting = 0
    _Count.watcher = None
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
        _lying.clear()
