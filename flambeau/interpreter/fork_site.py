"""One `prim::fork` of a program: what runs its tasks, and whether they are worth a thread.

Handing a task to another thread takes tens of microseconds. A task that took less the last times, and that can wait for
nobody, runs where it is forked: nobody can tell, but by the time it takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from flambeau.interpreter.future import Future
from flambeau.interpreter.tasks import submit
from flambeau.ir import kinds
from flambeau.ir.graph import Graph
from flambeau.tensor import dispatch

SMALL: Final = 1e-4
"""Seconds below which a task is not worth a thread."""
TRIALS: Final = 4
"""Tasks that must have been small one after another before the next one is taken to be."""
_MAY_WAIT: Final = kinds.WAIT | {"prim::CallFunction", "prim::CallMethod"}
"""Nodes that may wait for another task, themselves or in what they call."""


class ForkSite:
    """Makes the tasks of one node; `run` runs one, `graph` gives what it then consists of."""

    __slots__ = ("_graph", "_left", "_may_wait", "_run")

    def __init__(self, run: Callable[..., Any], graph: Callable[[], Graph | None]) -> None:
        self._run, self._graph = run, graph
        self._left = TRIALS
        """Small tasks that are missing until tasks run where they are forked."""
        self._may_wait: bool | None = None

    def fork(self, *arguments: Any) -> Future:
        """A task with these arguments."""
        if dispatch.is_intercepted():  # who watches this thread sees its tasks
            return Future.of(partial(self._run, *arguments))
        if self._left:
            return submit(partial(self._timed, arguments))
        return Future.of(partial(self._timed, arguments))

    def _timed(self, arguments: tuple[Any, ...]) -> Any:
        start = time.perf_counter()
        try:
            return self._run(*arguments)
        finally:
            if time.perf_counter() - start > SMALL:
                self._left = TRIALS
            elif self._left and not self._can_wait():
                self._left -= 1

    def _can_wait(self) -> bool:
        """Whether a task may wait: where it is forked, it could then wait for what is behind that place."""
        if self._may_wait is None:
            graph = self._graph()
            if graph is None:
                return True
            self._may_wait = any(n.op in _MAY_WAIT or n.op.startswith("^") for n in graph.all_nodes())
        return self._may_wait
