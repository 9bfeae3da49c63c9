"""The error of schedules and definitions that have no meaning."""

from __future__ import annotations


class ScheduleError(ValueError):
    """A definition, a schedule or a call that cannot be done; the message says what to write instead."""
