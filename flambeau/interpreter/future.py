"""What `fork` gives and `wait` takes: a task's result, or the error it ended in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Future:
    """The outcome of a task that has run. A task runs when it is forked: its result does not depend on when.

    >>> Future.of(lambda: 3).wait()
    3
    """

    __slots__ = ("_error", "_value")

    def __init__(self, value: Any = None, error: Exception | None = None) -> None:
        self._value = value
        self._error = error

    @classmethod
    def of(cls, task: Callable[[], Any]) -> Future:
        """Run a task and keep its outcome."""
        try:
            return cls(task())
        except Exception as error:
            return cls(error=error)

    def done(self) -> bool:
        """Whether the outcome is known."""
        return True

    def wait(self) -> Any:
        """The task's result. Raises what the task raised."""
        if self._error is not None:
            raise self._error
        return self._value
