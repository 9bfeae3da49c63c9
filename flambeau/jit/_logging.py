"""Counters and the clock, for programs and Python alike.

>>> counters = LockingLogger()
>>> before = set_logger(counters)
>>> import flambeau
>>> unit = flambeau.CompilationUnit("def f(n: int):\\n  for i in range(n):\\n    add_stat_value('sum', i)")
>>> unit.f(4), counters.get_counter_val("sum")
(None, 6)
>>> set_logger(before) is counters
True
"""

from __future__ import annotations

import time

from flambeau.util.counters import AggregationType, LockingLogger, NoopLogger, add_stat_value, set_logger


def time_point() -> int:
    """Nanoseconds since some moment: the difference of two of them is a time.

    >>> start = time_point()
    >>> time_point() >= start
    True
    """
    return time.perf_counter_ns()


time_point.operator_name = "prim::TimePoint"  # type: ignore[attr-defined]  # how the compiler knows it

__all__ = ["AggregationType", "LockingLogger", "NoopLogger", "add_stat_value", "set_logger", "time_point"]
