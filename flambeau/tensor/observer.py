"""Who watches tensors become Python values: a tracer wants to know when a branch, `int()` or a size leaves the graph.

An observer belongs to a thread; without one, conversions cost one look at a thread-local. How many threads have one
is counted in a word that native code reads.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from flambeau.util.locks import Lock, in_child


class Observer(Protocol):
    """What is told of conversions of tensors, and may answer with another value."""

    def converted(self, kind: str, tensor: Any, value: Any) -> Any:
        """`tensor` became the Python `value` through `kind`: bool, int, float, complex, item, tolist, numpy; or was
        asked about: rank, dtype, numel, is_contiguous, stride, iter."""

    def integer(self, tensor: Any) -> Any:
        """A 0-d tensor is used as an index: an int, or what stands for one."""

    def number(self, tensor: Any) -> Any:
        """A tensor of one element is used as a number: the number, or what stands for it."""

    def sizes(self, tensor: Any, sizes: tuple[int, ...]) -> tuple[Any, ...]:
        """Python asked for the sizes of `tensor`."""

    def called(self, function: Any, arguments: Any, run: Any) -> Any:
        """A scripted function is called; `run(arguments)` runs it."""

    def called_method(self, method: Any, arguments: Any, run: Any) -> Any:
        """A scripted module's method is called."""

    def called_python(self, name: str, function: Any, arguments: Any) -> Any:
        """A Python function of tensors that is no program is called: a custom function with a gradient of its own."""

    def forked(self, task: Any) -> Any:
        """`task()` is to be a task of its own; its future."""

    def module(self, module: Any) -> AbstractContextManager[None]:
        """A module is about to run its `forward`."""


class _Local(threading.local):
    observer: Observer | None = None
    """Told of conversions."""
    handlers: Any = ()
    """Who intercepts calls, `flambeau.tensor.interceptors.Interceptors`; empty for nobody."""
    ignores_subclasses: bool = False
    """Whether subclasses of tensors are plain tensors to functions."""
    is_plain: bool = False
    """Whether compiled functions run as the Python that they were written as."""
    watching: int = 0
    """How many of the watchers are this thread's."""


class Watchers:
    """How many observers and interceptors there are in all threads together."""

    def __init__(self) -> None:
        self.count = ctypes.c_int64(0)
        """Native code makes calls the long way, past which nobody gets unseen, while this is not 0."""
        self._lock = Lock()
        in_child(self._only_this_thread)

    def _only_this_thread(self) -> None:
        self.count.value = thread.watching

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count one more within the block."""
        with self._lock:
            self.count.value += 1
            thread.watching += 1
        try:
            yield
        finally:
            with self._lock:
                self.count.value -= 1
                thread.watching -= 1


watchers = Watchers()
thread = _Local()
"""Whoever looks on in this thread; a call that nobody sees may take a short way."""


def current() -> Observer | None:
    """This thread's observer."""
    return thread.observer


def is_tracing() -> bool:
    """Whether this thread's operators are being recorded; in a program, False."""
    return thread.observer is not None


is_tracing.language_form = "is_tracing"  # type: ignore[attr-defined]  # how the compiler knows it


@contextmanager
def observing(observer: Observer | None) -> Iterator[None]:
    """Within the block, `observer` is this thread's; None for none."""
    with nullcontext() if observer is None else watchers.one_more():
        before, thread.observer = thread.observer, observer
        try:
            yield
        finally:
            thread.observer = before


def seen(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Tells this thread's observer that a method takes a tensor's contents out to Python."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def alone(self: Any) -> Any:
            watching = thread.observer
            if watching is None:
                return method(self)
            with observing(None):
                value = method(self)
            return watching.converted(kind, self, value)

        if method.__code__.co_argcount == 1 and not method.__code__.co_kwonlyargcount:
            return alone

        @functools.wraps(method)
        def observed(self: Any, *args: Any, **kwargs: Any) -> Any:
            watching = thread.observer
            if watching is None:
                return method(self, *args, **kwargs)
            with observing(None):
                value = method(self, *args, **kwargs)
            return watching.converted(kind, self, value)

        return observed

    return decorate
