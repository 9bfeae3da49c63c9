"""Values that are computed when they are first asked for.

>>> later = Await(pow, 2, 10)
>>> later.is_nowait(), later.wait(), later + 1
(False, 1024, 1025)
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from flambeau.interpreter.future import _Subscripted
from flambeau.util.locks import Lock

_NOTHING: Any = object()
NO_PICKLE = "an awaitable cannot be pickled: ask for its value and send that"


class Await:
    """The result of a call that has not been made yet; made once, when the value or anything of it is asked for."""

    def __init__(self, fn: Callable[..., Any], *args: Any) -> None:
        self._fn, self._args, self._value = fn, args, _NOTHING
        self._lock = Lock()

    @classmethod
    def of(cls, value: Any) -> Await:
        """A value that is there already."""
        await_ = cls(_NOTHING)
        await_._value = value
        return await_

    def __class_getitem__(cls, item: Any) -> Any:
        return _Subscripted(cls, item)

    def fn(self) -> Callable[..., Any]:
        """What will be called. Raises RuntimeError for a value that was there from the start."""
        if self.is_nowait():
            raise RuntimeError("the value was given: there is nothing to call")
        return self._fn

    def args(self) -> tuple[Any, ...]:
        """What it will be called with; the value itself, if it was there from the start."""
        return (self._value,) if self.is_nowait() else self._args

    def is_nowait(self) -> bool:
        """Whether the value was there from the start."""
        return self._fn is _NOTHING

    def wait(self) -> Any:
        """The value. Raises what the call raises, each time."""
        with self._lock:
            if self._value is _NOTHING:
                self._value = self._fn(*self._args)
            return self._value

    def __reduce__(self) -> Any:
        raise pickle.PicklingError(NO_PICKLE)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.wait(), name)

    def __add__(self, other: Any) -> Any:
        return self.wait() + other

    def __radd__(self, other: Any) -> Any:
        return other + self.wait()

    def __sub__(self, other: Any) -> Any:
        return self.wait() - other

    def __mul__(self, other: Any) -> Any:
        return self.wait() * other

    def __rmul__(self, other: Any) -> Any:
        return other * self.wait()

    def __truediv__(self, other: Any) -> Any:
        return self.wait() / other

    def __neg__(self) -> Any:
        return -self.wait()

    def __getitem__(self, key: Any) -> Any:
        return self.wait()[key]

    def __len__(self) -> int:
        return len(self.wait())
