"""Signals: `signal.windows`, what they are multiplied with before they are transformed."""

from flambeau.signal import windows

__all__ = ["windows"]
