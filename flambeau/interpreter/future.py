"""What `fork` gives and `wait` takes: a task's result, or the error it ended in. Python completes one by hand, too.

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
from collections.abc import Callable, Iterable, Sequence
from typing import Any

TWICE = "Future can only be marked completed once"
NO_FUTURE = "Future can't be None"
CALLBACK_FAILED = "Got the following error when running the callback: {name}: {error}"
NO_PICKLE = "Futures cannot be pickled: wait for the value and send that"
NOT_READY = "the future has no value yet: wait for it"


class Future:
    """The outcome of a task. A forked task runs when it is forked: its result does not depend on when.

    >>> Future.of(lambda: 3).wait()
    3
    """

    __slots__ = ("_callbacks", "_error", "_lock", "_ready", "_value")

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        """A future that somebody will complete. `devices` is accepted for PyTorch's programs and means nothing."""
        self._lock = threading.Lock()
        self._ready: threading.Event | None = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    @classmethod
    def of(cls, task: Callable[[], Any]) -> Future:
        """Run a task and keep its outcome."""
        made = cls.__new__(cls)
        made._lock, made._ready, made._callbacks = threading.Lock(), None, []
        made._value = made._error = None
        try:
            made._value = task()
        except Exception as error:
            made._error = error
        return made

    def __class_getitem__(cls, item: Any) -> Any:
        return _Subscripted(cls, item)

    def done(self) -> bool:
        """Whether the outcome is known."""
        return self._ready is None or self._ready.is_set()

    def wait(self) -> Any:
        """The task's result, when it is there. Raises what the task raised."""
        if self._ready is not None:
            self._ready.wait()
        if self._error is not None:
            raise self._error
        return self._value

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
            raise TypeError(f"{error!r} is of type {type(error).__name__}, not an Exception.")
        self._complete(None, error)

    def _complete(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done() or self._ready is None:
                raise RuntimeError(TWICE)
            self._value, self._error = result, error
            self._ready.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what `callback`, called with this one when it is complete, returns or raises."""
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

        def run() -> None:
            try:
                callback(self)
            except Exception as error:
                warnings.warn(f"a callback of a future failed: {type(error).__name__}: {error}", stacklevel=2)

        self._when_done(run)

    def _when_done(self, run: Callable[[], None]) -> None:
        with self._lock:
            waits = not self.done()
            if waits:
                self._callbacks.append(run)
        if not waits:
            run()

    def __reduce__(self) -> Any:
        raise _PicklingError(NO_PICKLE)

    def __repr__(self) -> str:
        return f"<Future {'done' if self.done() else 'pending'}>"


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
        return f"{self.__name__}[{', '.join(getattr(a, '__name__', repr(a)) for a in self.__args__)}]"


def collect_all(futures: Iterable[Future]) -> Future:
    """A future of the list of these futures, complete when all are, even if some fail."""
    given = _checked(futures)
    collected = Future()
    left = len(given)
    lock = threading.Lock()

    def one(_: Future) -> None:
        nonlocal left
        with lock:
            left -= 1
            is_last = left == 0
        if is_last:
            collected.set_result(given)

    if not given:
        collected.set_result(given)
    for future in given:
        future.add_done_callback(one)
    return collected


def wait_all(futures: Iterable[Future]) -> list[Any]:
    """The results of all; the first error in order is raised when all have ended."""
    given = _checked(futures)
    collect_all(given).wait()
    return [future.wait() for future in given]


collect_all.language_form = "collect_all"  # type: ignore[attr-defined]
wait_all.language_form = "wait_all"  # type: ignore[attr-defined]


def _checked(futures: Iterable[Future]) -> list[Future]:
    given = list(futures)
    if any(future is None for future in given):
        raise RuntimeError(NO_FUTURE)
    return given
