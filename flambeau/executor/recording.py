"""Who runs functions in an executor's place, in this thread: a profiler of all that is called."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

Recorder = Callable[[Any, Sequence[Any]], Any]
"""Runs the function of an executor on all its arguments; its result."""


class _Local(threading.local):
    recorder: Recorder | None = None


local = _Local()
"""Looked at for calls that are intercepted; who sets a recorder intercepts."""
