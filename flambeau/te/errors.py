"""The error of schedules and definitions that have no meaning."""

from __future__ import annotations


class ScheduleError(ValueError):
    """A definition, a schedule or a call that cannot be done; the message says what to write instead.

    >>> from flambeau import te
    >>> try:
    ...     te.compute("y", [-1], lambda i: i)
    ... except ScheduleError as error:
    ...     print(error)
    size 0 of y is -1; sizes are zero or more
    """
