"""The stack of whoever stands between a call and its kernel in this thread: function modes, handlers, dispatch modes.

A call meets them in this order. *Functions* see what Python calls (`flambeau.add`, methods, properties); *handlers*
see operators before gradients are recorded (a tracer is one); *modes* see operators below that. Whoever is being asked
is meanwhile not on the stack. Between functions and handlers, `autocast` converts operands.

>>> from flambeau.tensor.observer import thread
>>> with changed(modes=("a mode",)):
...     thread.handlers.modes
('a mode',)
>>> thread.handlers
()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import local
from typing import Any, NamedTuple

from flambeau.tensor.observer import thread, watchers


class Interceptors(NamedTuple):
    """What is on a thread's stack; the last of each kind is asked first."""

    functions: tuple[Any, ...] = ()
    """Function modes: they see calls of functions, methods and properties."""
    handlers: tuple[Any, ...] = ()
    """Called instead of operators, before gradients are recorded; see `flambeau.tensor.dispatch`."""
    modes: tuple[Any, ...] = ()
    """Dispatch modes: called instead of kernels."""
    excluded: frozenset[str] = frozenset()
    """Names of dispatch keys that are passed over."""
    autocast: tuple[Any, ...] = ()
    """The mixed precision that operators are called in, `flambeau.tensor.autocast_state.Precision`."""


NOBODY = Interceptors()


def stack() -> Interceptors:
    """This thread's interceptors."""
    return thread.handlers or NOBODY


def set_stack(interceptors: Interceptors | tuple[()]) -> None:
    """Make these this thread's interceptors. Where there is none, `thread.handlers` is empty: calls take short ways."""
    thread.handlers = interceptors if any(interceptors) else ()


@contextmanager
def changed(**parts: Any) -> Iterator[None]:
    """Within the block, these parts of the stack are others. What raises leaves the stack as it was."""
    before = thread.handlers
    with watchers.one_more():
        set_stack((before or NOBODY)._replace(**parts))
        try:
            yield
        finally:
            thread.handlers = before


@contextmanager
def without_functions() -> Iterator[None]:
    """Within the block, no function mode sees what Python calls."""
    before = thread.handlers
    if before and before.functions:
        set_stack(before._replace(functions=()))
    try:
        yield
    finally:
        thread.handlers = before


class Standing(local):
    """A handler that a thread puts on its stack from one moment to another, below those of blocks.

    >>> standing = Standing("a handler")
    >>> standing.put(there=True)
    >>> thread.handlers.handlers
    ('a handler',)
    >>> standing.put(there=False)
    >>> thread.handlers
    ()
    """

    _watching: AbstractContextManager[None] | None = None

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    @property
    def is_there(self) -> bool:
        """Whether this thread has put it there."""
        return self._watching is not None

    def put(self, *, there: bool) -> None:
        """Put it on this thread's stack, or take it away."""
        here = stack()
        others = tuple(handler for handler in here.handlers if handler is not self._handler)
        if there and self._watching is None:
            self._watching = watchers.one_more()
            self._watching.__enter__()
        set_stack(here._replace(handlers=(self._handler, *others) if there else others))
        if not there and self._watching is not None:
            self._watching.__exit__(None, None, None)
            self._watching = None
