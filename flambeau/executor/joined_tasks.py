"""What answers the calls of a function whose tasks are all short: native code in which each is a call.

A function that leaves no trace but its results can be run so, and once more with its tasks where that raised: errors
come out at the wait, and say so. Tasks that have become long are noticed by the time that calls take; they then run on
threads again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from flambeau.codegen.callable_type import MISSED
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.executor.options import Options
from flambeau.executor.rehearsal import leaves_no_trace
from flambeau.interpreter.fork_site import ForkSite
from flambeau.interpreter.machine import run
from flambeau.interpreter.task_length import SHORT
from flambeau.passes.join_tasks import joined
from flambeau.program.function import Function
from flambeau.util.inversions import TASK_EXECUTOR
from flambeau.util.locks import Lock

if TYPE_CHECKING:
    from flambeau.interpreter.code import Code

RUNS: Final = 16
"""Calls in a row with short tasks alone after which there is native code; twice as many each time that it was left."""
MOST_LEFT: Final = 4
"""Times that it is left before tasks stay tasks."""
LATE: Final = 2
"""Calls in a row that took so long that a task may have been long."""
JOINED: Final = SHORT / 4
"""Seconds that a call may take for each of its tasks, besides `SLACK` of what it took while they were tasks."""
SLACK: Final = 1.5


class JoinedTasks:
    """Of one plan: how its calls are answered."""

    def __init__(self, function: Function, options: Options, sites: Sequence[ForkSite]) -> None:
        self._function, self._options, self._sites = function, options, sites
        self._lock = Lock()
        self._executor: Any = None
        """Of the function without tasks."""
        self._depth = 0
        """Calls within which others are made, where tasks call what forked them."""
        self._runs = 0
        self._wanted = RUNS
        self._before = 0
        """Tasks before the first of the runs."""
        self._fastest = 0.0
        self._limit = 0.0
        self._late = 0
        self._left = 0
        self._short_way = self._call
        self.is_on = False
        """Whether calls are answered without tasks."""

    @property
    def executor(self) -> Any:
        """Of the function without tasks, while it answers; None while there are tasks."""
        return self._executor if self.is_on else None

    @property
    def short_way(self) -> Callable[..., Any] | None:
        """Takes the arguments of a call, and gives its result, or `MISSED`; None while there are tasks."""
        return self._short_way if self.is_on else None

    def run(self, code: Code, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run a plan's bytecode with its tasks, and see how short they are."""
        is_nested, self._depth = self._depth > 0, self._depth + 1
        start = time.perf_counter()
        try:
            results = run(code, arguments)
        finally:
            self._depth -= 1
        if self._left < MOST_LEFT and not self.is_on and not is_nested:
            self._look(arguments, time.perf_counter() - start)
        return results

    def _look(self, arguments: Sequence[Any], seconds: float) -> None:
        with self._lock:
            if not all(site.length.is_short and site.is_independent() for site in self._sites):
                self._runs = 0
                return
            if self._runs == 0:
                self._before, self._fastest = self._tasks(), seconds
            self._runs += 1
            self._fastest = min(self._fastest, seconds)
            if self._runs > self._wanted:
                self._begin(arguments)

    def _begin(self, arguments: Sequence[Any]) -> None:
        if self._executor is None:
            graph = joined(inlined_graph(self._function))
            if graph is None or not leaves_no_trace(graph):
                self._left = MOST_LEFT
                return
            without = Function(self._function.name, graph, self._function.schema)
            self._executor = TASK_EXECUTOR.implementation(without, self._options, is_noted=False)
        self._executor.compile(arguments)
        each = (self._tasks() - self._before) / (self._runs - 1)
        self._limit = each * JOINED + SLACK * self._fastest
        self._runs = self._late = 0
        self.is_on = True

    def _tasks(self) -> int:
        return sum(site.tasks for site in self._sites)

    def _call(self, *arguments: Any) -> Any:
        if not self.is_on:
            return MISSED
        executor = self._executor
        start = time.perf_counter()
        fast_path = executor.fast_path
        try:
            result = MISSED if fast_path is None else fast_path(*arguments)
            if result is MISSED:
                result = executor(*arguments)
        except Exception:  # raised again where the program waits
            return MISSED
        if time.perf_counter() - start < self._limit:
            self._late = 0
        else:
            self._late += 1
            if self._late >= LATE:
                self._leave()
        return result

    def _leave(self) -> None:
        self.is_on = False
        self._left += 1
        self._wanted = RUNS << self._left
        for site in self._sites:
            site.length.forget()
