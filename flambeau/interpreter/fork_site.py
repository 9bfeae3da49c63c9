"""One `prim::fork` of a program: what runs its tasks, and whether they are worth a thread.

A task that is short and waits for nobody but tasks of its own runs where it is forked: nobody can tell, but by the time
it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from flambeau.interpreter.future import Future
from flambeau.interpreter.task_length import TaskLength
from flambeau.interpreter.tasks import run_here, submit
from flambeau.tensor import dispatch


class ForkSite:
    """Makes the tasks of one node; `run` runs one, `waits` says whether it may wait for what others have yet to do, or
    None before that is known."""

    __slots__ = ("_is_independent", "_run", "_waits", "length", "tasks")

    def __init__(self, run: Callable[..., Any], waits: Callable[[], bool | None], length: TaskLength) -> None:
        self._run, self._waits = run, waits
        self._is_independent: bool | None = None
        self.length = length
        """How long its tasks are."""
        self.tasks = 0
        """How many there were."""

    def fork(self, *arguments: Any) -> Future:
        """A task with these arguments."""
        if dispatch.is_intercepted():  # who watches this thread sees its tasks
            return Future.of(self._run, *arguments)
        self.tasks += 1
        if self.length.is_short and self.is_independent():
            future = run_here(self._run, arguments, self.length)
            if future is not None:
                return future
        return submit(partial(self._run, *arguments), self.length)

    def is_independent(self) -> bool:
        """Whether a task may run where it is forked: it waits for nothing that is behind that place."""
        if self._is_independent is None:
            waits = self._waits()
            if waits is None:
                return False
            self._is_independent = not waits
        return self._is_independent
