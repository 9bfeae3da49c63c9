"""A bar on the terminal for work in steps that are counted beforehand; nothing where standard error is no terminal.

>>> bar = ProgressBar("warming", 4)
>>> bar.line("softmax", 1)
'warming [#######.....................] 1/4 softmax'
"""

from __future__ import annotations

import sys
from typing import Final

WIDTH: Final = 28
CLEAR: Final = "\r\x1b[K"


class ProgressBar:
    """Steps of some work."""

    def __init__(self, what: str, count: int) -> None:
        self.what, self.count = what, count
        self.done = 0
        self._is_shown = sys.stderr.isatty()

    def line(self, step: str, done: int) -> str:
        """What the terminal shows while a step is under way."""
        filled = WIDTH * done // max(self.count, 1)
        return f"{self.what} [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{self.count} {step}"

    def step(self, name: str) -> None:
        """Say that a step begins; those before it are done."""
        if self._is_shown:
            print(CLEAR + self.line(name, self.done), end="", file=sys.stderr, flush=True)
        self.done += 1

    def end(self) -> None:
        """Take the bar away."""
        if self._is_shown:
            print(CLEAR, end="", file=sys.stderr, flush=True)
