"""When this process began to read the sources of this package: the first module of it that is imported."""

from __future__ import annotations

import time
from typing import Final

BEGIN: Final = time.time_ns()
"""Nanoseconds, by the clock that ages of files are of."""
