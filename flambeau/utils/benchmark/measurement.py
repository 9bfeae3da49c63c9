"""What a measurement found: times of runs, and what they say together."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any, Final

from flambeau.util.record import dataclass

UNITS: Final = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))
NO_TIMES: Final = "a measurement of no runs has no {name}"
FEW_RUNS, WIDE, VERY_WIDE = 4, 0.1, 0.25
"""Of how many runs the spread is looked at, and which share of the median is a wide one."""


def select_unit(seconds: float) -> tuple[str, float]:
    """The unit in which a time is read best, and how many seconds it is.

    >>> select_unit(0.0021)
    ('ms', 0.001)
    """
    for scale, unit in reversed(UNITS):
        if seconds >= scale:
            return unit, scale
    return UNITS[0][1], UNITS[0][0]


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What is measured; equal for measurements of the same thing.

    >>> TaskSpec("x + 1", setup="x = 1") == TaskSpec("x + 1", setup="x = 1")
    True
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    """What is compared: the title of a table."""
    sub_label: str | None = None
    """Which case of it: a row."""
    description: str | None = None
    """In which way: a column."""
    env: str | None = None
    """On what: several of these are rows apart."""
    num_threads: int = 1

    @property
    def title(self) -> str:
        """What is measured, in a line."""
        name = self.label or (self.stmt if "\n" not in self.stmt else "[multi-line stmt]")
        return f"{name}: {self.sub_label}" if self.sub_label else name

    def setup_str(self) -> str:
        """The lines that ran before, as a part of a report."""
        return "" if self.setup == "pass" or not self.setup else f"setup:\n{self.setup}"


class Measurement:
    """The times of some runs.

    >>> measured = Measurement(10, [0.02, 0.03, 0.04], TaskSpec("x + 1", "pass"))
    >>> measured.times, measured.median
    ([0.002, 0.003, 0.004], 0.003)
    """

    def __init__(
        self, number_per_run: int, raw_times: Sequence[float], task_spec: TaskSpec,
        metadata: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.number_per_run = number_per_run
        """How often a run had the statement executed."""
        self.raw_times = list(raw_times)
        """Seconds of each run."""
        self.task_spec = task_spec
        self.metadata = metadata

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__annotations__ or name == "title":
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    def _known(self, name: str) -> list[float]:
        if not self.raw_times:
            raise ValueError(NO_TIMES.format(name=name))
        return self.times

    @property
    def times(self) -> list[float]:
        """Seconds of one execution, of each run."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of the times. Raises ValueError without any."""
        return statistics.fmean(self._known("mean"))

    @property
    def median(self) -> float:
        """The median of the times. Raises ValueError without any."""
        return statistics.median(self._known("median"))

    @property
    def iqr(self) -> float:
        """How far the quartiles are apart. Raises ValueError without any time."""
        times = self._known("iqr")
        if len(times) == 1:
            return 0.0
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        return high - low

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary so much that little can be said."""
        return len(self.raw_times) >= FEW_RUNS and self.iqr / self.median > WIDE

    @property
    def significant_figures(self) -> int:
        """How many digits of the median are meant, of 1 to 3: what the spread leaves."""
        if len(self.raw_times) < FEW_RUNS:
            return 3
        return 1 if self.iqr / self.median > VERY_WIDE else 2 if self.has_warnings else 3

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of one task each, with the runs of all that were given of it.

        >>> task = TaskSpec("f()", "pass")
        >>> len(Measurement.merge([Measurement(1, [0.1], task), Measurement(2, [0.4], task)])[0].times)
        2
        """
        groups: dict[TaskSpec, list[Measurement]] = {}
        for one in measurements:
            groups.setdefault(one.task_spec, []).append(one)
        merged = []
        for task, group in groups.items():
            count = min(one.number_per_run for one in group)
            merged.append(Measurement(count, [time * count for one in group for time in one.times], task))
        return merged

    def __repr__(self) -> str:
        lines = [f"<{type(self).__module__}.{type(self).__name__}>", self.task_spec.title]
        if setup := self.task_spec.setup_str():
            lines.append(setup)
        unit, scale = select_unit(self.median) if self.raw_times else UNITS[0][::-1]
        count = len(self.raw_times)
        if count == 0:
            lines.append("  no runs")
        elif count == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        else:
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        runs = f"{count} measurement{'s' if count != 1 else ''}, {self.number_per_run} runs per measurement"
        lines.append(f"  {runs}, {threads}")
        if self.raw_times and self.has_warnings:
            share = 100 * self.iqr / self.median
            lines.append(f"  WARNING: the quartiles are {share:.1f}% of the median apart: the machine is busy")
        return "\n".join(lines)
