"""`Timer`: how long a statement takes."""

from __future__ import annotations

import gc
import textwrap
import time
import timeit
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from flambeau.util import thread_count
from flambeau.utils.benchmark.measurement import Measurement, TaskSpec

timer: Final = time.perf_counter
OTHER_LANGUAGE: Final = (
    "a Timer measures Python, not {language}: what native code takes inside of a call says fn.profile(*args)"
)
NO_TEXT: Final = "a statement is text, as in Timer('f(x)', globals={{'f': f, 'x': x}}), got {kind}"
NO_NUMBER: Final = "{name} has to be positive, got {value}"


class Language(Enum):
    """What a statement is written in.

    >>> Language.PYTHON.name
    'PYTHON'
    """

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures a statement, with one thread unless another number is asked for, after it ran once.

    Args:
        stmt: the statement, which sees the names in `globals`.
        setup: lines that run before each measurement.
        global_setup: has to be empty: lines before a program in C++.
        timer: gives seconds.
        globals: names for both; nothing else is seen.
        label, sub_label, description, env: what it is measured for (`Compare` makes tables of them).
        num_threads: how many threads kernels may use meanwhile.
        language: Python.

    Raises TypeError for a statement that is no text, ValueError for another language.

    >>> import flambeau
    >>> Timer("y = x @ x", setup="x = flambeau.ones(8, 8)", globals={"flambeau": flambeau}).timeit(10).number_per_run
    10
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: Mapping[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise TypeError(NO_TEXT.format(kind=type(stmt).__name__))
        if language not in (Language.PYTHON, "py", "python") or global_setup:
            raise ValueError(OTHER_LANGUAGE.format(language=getattr(language, "name", language)))
        if num_threads < 1:
            raise ValueError(NO_NUMBER.format(name="num_threads", value=num_threads))
        stmt, setup = textwrap.dedent(stmt).strip("\n"), textwrap.dedent(setup).strip("\n")
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)
        self._seconds = timer
        self._timer = timeit.Timer(stmt, setup, timer, {} if globals is None else dict(globals))

    def _run(self, number: int) -> float:
        """Seconds of so many executions."""
        threads, collects = thread_count.get(), gc.isenabled()
        thread_count.put(self._task_spec.num_threads)
        try:
            return self._timer.timeit(number)
        finally:
            thread_count.put(threads)
            if collects:
                gc.enable()

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One run of so many executions. Raises ValueError unless there are any."""
        if number < 1:
            raise ValueError(NO_NUMBER.format(name="number", value=number))
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Refused, with what to write: runs are repeated until their times agree."""
        raise NotImplementedError("write timer.blocked_autorange() in place of timer.repeat(): it repeats by itself")

    def autorange(self, callback: Callable[[int, float], None] | None = None) -> None:
        """Refused, with what to write: the number of executions is found."""
        raise NotImplementedError("write timer.blocked_autorange() in place of timer.autorange()")

    def _block_size(self, min_run_time: float) -> int:
        """How many executions make a run that is long beside what looking at a clock takes."""
        number, overhead = 1, min(self._clock() for _ in range(5))
        self._run(2)
        while True:
            taken = self._run(number)
            is_long = overhead <= 1e-4 * taken and taken >= min_run_time / 1000
            if is_long or taken > min_run_time:
                return number
            number *= 10

    def _clock(self) -> float:
        start = self._seconds()
        return max(self._seconds() - start, 1e-9)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Runs of as many executions as a clock needs, until they took so many seconds together.

        Args:
            callback: is called with the number of executions and the seconds of each run.
            min_run_time: seconds of all runs together.

        >>> len(Timer("sum(range(100))").blocked_autorange(min_run_time=0.01).times) > 0
        True
        """
        number = self._block_size(min_run_time)
        times = self._runs(number, lambda times: sum(times) >= min_run_time, callback)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """Runs until their quartiles are closer than a share of the median, or they took too long.

        Args:
            threshold: that share.
            min_run_time: seconds that they take at least.
            max_run_time: seconds after which no more are made.
            callback: is called with the number of executions and the seconds of each run.
        """
        number = self._block_size(min_run_time)

        def is_enough(times: list[float]) -> bool:
            measured = Measurement(number, times, self._task_spec)
            close = len(times) > 3 and measured.iqr / measured.median < threshold
            return sum(times) >= max_run_time or (sum(times) >= min_run_time and close)

        return Measurement(number, self._runs(number, is_enough, callback), self._task_spec)

    def _runs(
        self, number: int, is_enough: Callable[[list[float]], bool], callback: Callable[[int, float], Any] | None
    ) -> list[float]:
        times: list[float] = []
        while not times or not is_enough(times):
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return times
