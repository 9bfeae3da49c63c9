"""Named counters that programs add to: `jit._logging.add_stat_value("rounds", 3)`.

Where numbers go is said once for the process, as it is for Python's own `logging`; no program means anything else for
it.

>>> counters = LockingLogger()
>>> before = set_logger(counters)
>>> add_stat_value("rounds", 3), add_stat_value("rounds", 4)
(None, None)
>>> counters.get_counter_val("rounds")
7
>>> set_logger(before) is counters
True
"""

from __future__ import annotations

from enum import Enum

from flambeau.util.locks import Lock


class AggregationType(Enum):
    """What a counter is of the numbers added to it.

    >>> counters = LockingLogger()
    >>> counters.set_aggregation_type("size", AggregationType.AVG)
    >>> counters.add_stat_value("size", 2), counters.add_stat_value("size", 4)
    (None, None)
    >>> counters.get_counter_val("size")
    3
    """

    SUM = 0
    AVG = 1


class NoopLogger:
    """Forgets every number.

    >>> NoopLogger().get_counter_val("rounds")
    0
    """

    def add_stat_value(self, name: str, value: int) -> None:
        """Nothing."""

    def get_counter_val(self, name: str) -> int:
        """Always 0."""
        return 0

    def set_aggregation_type(self, name: str, kind: AggregationType) -> None:
        """Nothing."""


class LockingLogger(NoopLogger):
    """Keeps counters; any number of threads may add to them.

    >>> counters = LockingLogger()
    >>> counters.add_stat_value("rounds", 3)
    >>> counters.get_counter_val("rounds")
    3
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._totals: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._kinds: dict[str, AggregationType] = {}

    def add_stat_value(self, name: str, value: int) -> None:
        """Add a number to a counter."""
        with self._lock:
            self._totals[name] = self._totals.get(name, 0) + value
            self._counts[name] = self._counts.get(name, 0) + 1

    def get_counter_val(self, name: str) -> int:
        """The sum of a counter's numbers, or their mean, rounded towards zero; 0 for a name never added to."""
        with self._lock:
            total = self._totals.get(name, 0)
            if self._kinds.get(name) is not AggregationType.AVG or not total:
                return total
            mean = abs(total) // self._counts[name]
            return mean if total > 0 else -mean

    def set_aggregation_type(self, name: str, kind: AggregationType) -> None:
        """Make a counter a sum (as it is from the start) or a mean."""
        with self._lock:
            self._kinds[name] = kind


_logger: list[NoopLogger] = [NoopLogger()]


def set_logger(logger: NoopLogger) -> NoopLogger:
    """Send the numbers of all programs to `logger`; the one that had them before comes back.

    >>> before = set_logger(LockingLogger())
    >>> _ = set_logger(before)
    """
    before, _logger[0] = _logger[0], logger
    return before


def add_stat_value(name: str, value: int) -> None:
    """Add a number to a counter, in Python and in programs.

    >>> counters = LockingLogger()
    >>> before = set_logger(counters)
    >>> add_stat_value("rounds", 3)
    >>> counters.get_counter_val("rounds")
    3
    >>> _ = set_logger(before)
    """
    _logger[0].add_stat_value(name, value)


add_stat_value.operator_name = "prim::AddStatValue"  # type: ignore[attr-defined]  # how the compiler knows it
