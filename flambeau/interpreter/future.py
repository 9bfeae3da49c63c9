"""What `fork` gives and `wait` takes: a task's result, or the error it ended in. Python completes one by hand, too.

How tasks run is said in `tasks`.

>>> future = Future()
>>> doubled = future.then(lambda f: f.value() * 2)
>>> future.set_result(21)
>>> doubled.wait()
42
"""

from __future__ import annotations

import pickle
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from flambeau.util.inversions import WAITING
from flambeau.util.locks import Lock, in_child
from flambeau.util.weak_sets import members

TWICE = (
    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once"
)
NO_FUTURE = "Future can't be None"
CALLBACK_FAILED = "Got the following error when running the callback: {name}: {error}"
NO_PICKLE = "Futures cannot be pickled: wait for the value and send that"
NO_EXCEPTION = "{value!r} is of type {kind}, not an Exception."
NOT_CALLABLE = "{name}(): expected a function that takes the future, got {kind}"
NO_FUTURES = "expected futures, got {kind}: fork and Future() make them"
NOT_READY = "the future has no value yet: wait for it"


_lock = Lock()
"""Held for a moment by whoever completes a future, or begins to wait for one."""


class Work:
    """What completes a future, for whoever waits for it."""

    __slots__ = ()

    def help(self) -> None:
        """Do it here, if nobody has begun to."""


class Future:
    """The outcome of a task, or what Python completes by hand.

    >>> Future.of(lambda: 3).wait()
    3
    """

    __slots__ = ("__weakref__", "_callbacks", "_error", "_is_done", "_ready", "_traceback", "_value", "work")

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        """A future that somebody will complete. `devices` is accepted for PyTorch's programs and means nothing."""
        self._is_done = False
        self._ready: threading.Event | None = None
        """What waiters wait for; None before there is one."""
        self._value: Any = None
        self._error: BaseException | None = None
        self._traceback: TracebackType | None = None
        self._callbacks: list[Callable[[], None]] | None = None
        self.work: Work | None = None
        """The task that completes it; None once it has, or where Python does."""

    @classmethod
    def of(cls, task: Callable[..., Any], *arguments: Any) -> Self:
        """Run a task now and keep its outcome."""
        future = cls()
        try:
            future._value = task(*arguments)
            future._is_done = True
        except Exception as error:
            future.end(None, error)
        return future

    def __class_getitem__(cls, item: Any) -> Any:
        return _Subscripted(cls, item)

    def done(self) -> bool:
        """Whether the outcome is known."""
        return self._is_done

    def wait(self) -> Any:
        """The task's result, when it is there. Raises what the task raised.

        A task that has not begun is run by the thread that waits.
        """
        if not self._is_done:
            self._wait()
        if self._error is not None:
            raise self._error.with_traceback(self._traceback)
        return self._value

    def _wait(self) -> None:
        work = self.work
        if work is not None:
            work.help()
        if self._is_done:
            return
        with _lock:
            if self._is_done:
                return
            ready = self._ready
            if ready is None:
                ready = self._ready = threading.Event()
                _waited_for.add(self)
        with WAITING.implementation():
            while not self._is_done:
                ready.wait()

    def value(self) -> Any:
        """The result of a task that has ended. Raises RuntimeError for one that has not."""
        if not self.done():
            raise RuntimeError(NOT_READY)
        return self.wait()

    def set_result(self, result: Any) -> None:
        """Complete it. Raises RuntimeError if it is complete."""
        self._complete(result, None)

    def set_exception(self, error: Exception) -> None:
        """Complete it with an error, which `wait` raises."""
        if not isinstance(error, Exception):
            raise NotAnExceptionError(NO_EXCEPTION.format(value=error, kind=type(error)))
        self._complete(None, error)

    def _complete(self, result: Any, error: BaseException | None) -> None:
        if not self.end(result, error):
            raise RuntimeError(TWICE)

    def end(self, result: Any, error: BaseException | None) -> bool:
        """Complete it, unless it is complete: whether it was not."""
        with _lock:
            if self._is_done:
                return False
            self._value, self._error = result, error
            self._traceback = None if error is None else error.__traceback__
            self._is_done, self.work = True, None
            ready, callbacks, self._callbacks = self._ready, self._callbacks, None
        if ready is not None:
            ready.set()
        for callback in callbacks or ():
            callback()
        return True

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what `callback`, called with this one when it is complete, returns or raises."""
        _check_callable("then", callback)
        after = type(self)()

        def run() -> None:
            try:
                result = callback(self)
            except Exception as error:
                text = CALLBACK_FAILED.format(name=type(error).__name__, error=error)
                after.set_exception(RuntimeError(text))
            else:
                after.set_result(result)

        self._when_done(run)
        return after

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call `callback` with this future when it is complete. What it raises becomes a warning."""
        _check_callable("add_done_callback", callback)

        def run() -> None:
            try:
                callback(self)
            except Exception as error:
                warnings.warn(f"a callback of a future failed: {type(error).__name__}: {error}", stacklevel=2)

        self._when_done(run)

    def _when_done(self, run: Callable[[], None]) -> None:
        with _lock:
            waits = not self._is_done
            if waits:
                self._callbacks = [*(self._callbacks or ()), run]
        if not waits:
            run()

    def __reduce__(self) -> Any:
        raise _PicklingError(NO_PICKLE)

    def __repr__(self) -> str:
        return f"<Future {'done' if self.done() else 'pending'}>"


_waited_for: weakref.WeakSet[Future] = weakref.WeakSet()
"""Futures that some thread has waited for."""


@in_child
def _wait_anew() -> None:
    """In a forked process: what threads that are no more held, they do not hold."""
    for future in members(_waited_for):
        if future._ready is not None:
            future._ready = threading.Event()


class NotAnExceptionError(TypeError, AssertionError):
    """Raised where a future is to end in what is no exception."""


class _PicklingError(pickle.PickleError, RuntimeError):
    """Raised where a future is pickled."""


class _Subscripted:
    """`Future[int]`: calling it makes a future, annotations read `__origin__` and `__args__`."""

    def __init__(self, origin: Any, item: Any) -> None:
        self.__origin__ = origin
        self.__args__ = item if isinstance(item, tuple) else (item,)
        self.__name__ = origin.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__origin__(*args, **kwargs)

    def __repr__(self) -> str:
        return f"flambeau.jit.{self.__name__}[{', '.join(getattr(a, '__name__', repr(a)) for a in self.__args__)}]"


def collect_all(futures: Iterable[Future]) -> Future:
    """A future of the list of these futures, complete when all are, even if some fail.

    >>> import flambeau
    >>> def twice(x):
    ...     return x * 2
    >>> both = collect_all([flambeau.jit.fork(twice, flambeau.tensor(k)) for k in range(2)])
    >>> [future.wait() for future in both.wait()]
    [tensor(0), tensor(2)]
    """
    members = _checked(futures)
    collected = Future()
    left = len(members)
    lock = Lock()

    def one(_: Future) -> None:
        nonlocal left
        with lock:
            left -= 1
            is_last = left == 0
        if is_last:
            collected.set_result(members)

    if not members:
        collected.set_result(members)
    for future in members:
        future.add_done_callback(one)
    return collected


def wait_all(futures: Iterable[Future]) -> list[Any]:
    """The results of all; the first error in order is raised when all have ended.

    >>> import flambeau
    >>> def twice(x):
    ...     return x * 2
    >>> wait_all([flambeau.jit.fork(twice, flambeau.tensor(k)) for k in range(2)])
    [tensor(0), tensor(2)]
    """
    members = _checked(futures)
    for future in members:
        with suppress(Exception):
            future.wait()
    return [future.wait() for future in members]


collect_all.language_form = "collect_all"  # type: ignore[attr-defined]
wait_all.language_form = "wait_all"  # type: ignore[attr-defined]


def _checked(futures: Iterable[Future]) -> list[Future]:
    if not isinstance(futures, Iterable):
        raise TypeError(NO_FUTURES.format(kind=type(futures).__name__))
    members = list(futures)
    if any(future is None for future in members):
        raise RuntimeError(NO_FUTURE)
    for future in members:
        if not isinstance(future, Future):
            raise TypeError(NO_FUTURES.format(kind=type(future).__name__))
    return members


def _check_callable(name: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(NOT_CALLABLE.format(name=name, kind=type(callback).__name__))
