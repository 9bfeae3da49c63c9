"""Whether code runs to be traced, for code that does something else then; and marks of what stays as it is.

>>> from flambeau import fx
>>> seen = []
>>> _ = fx.symbolic_trace(lambda x: (seen.append(is_fx_tracing()), x)[1])
>>> seen, is_fx_tracing()
([True], False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

T = TypeVar("T")
_depth: Final[ContextVar[int]] = ContextVar("depth", default=0)


@contextmanager
def tracing() -> Iterator[None]:
    """Within the block, code is traced."""
    before = _depth.set(_depth.get() + 1)
    try:
        yield
    finally:
        _depth.reset(before)


def is_fx_tracing() -> bool:
    """Whether a `Tracer` runs the code that asks."""
    return _depth.get() > 0


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """A decorator that leaves what it decorates as it is: with it, authors say whether that stays as it is.

    Args:
        is_backward_compatible: what they say.

    >>> @compatibility(is_backward_compatible=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """
    return lambda marked: marked
