"""A line on the terminal for whatever takes longer than a second.

    with progress("compiling decay") as tell:
        tell("passes")                        compiling decay: passes, 3 s

Nothing is written before a second has passed, nor when standard error is no terminal; the line goes away at the end.
Work inside other work shows in the outer line.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[str], None]
AFTER = 1.0
"""Seconds before anything is shown."""
EVERY = 0.5
"""Seconds between two updates."""
CLEAR = "\r\x1b[K"


class _Current(threading.local):
    line: _Line | None = None
    is_unseen: bool = False


_current = _Current()


class _Line:
    """The line of one piece of work, written by a thread of its own."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.stage = ""
        self._start = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._show, name="flambeau progress", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """What the line says now."""
        stage = f": {self.stage}" if self.stage else ""
        return f"{self.what}{stage}, {time.monotonic() - self._start:.0f} s"

    def _show(self) -> None:
        if self._done.wait(AFTER):
            return
        while True:
            sys.stderr.write(CLEAR + self.text())
            sys.stderr.flush()
            if self._done.wait(EVERY):
                sys.stderr.write(CLEAR)
                sys.stderr.flush()
                return

    def close(self) -> None:
        """Take the line away."""
        self._done.set()
        self._thread.join()


@contextmanager
def progress(what: str) -> Iterator[Tell]:
    """Show `what` while the block runs, if it runs long; the function that comes back names the stage it is in."""
    outer = _current.line
    if outer is not None:
        before = outer.stage
        outer.stage = what
        try:
            yield lambda stage: setattr(outer, "stage", f"{what}, {stage}")
        finally:
            outer.stage = before
    elif _current.is_unseen or sys.stderr is None or not sys.stderr.isatty():
        yield _nobody
    else:
        _current.line = line = _Line(what)
        try:
            yield lambda stage: setattr(line, "stage", stage)
        finally:
            _current.line = None
            line.close()


@contextmanager
def unseen() -> Iterator[None]:
    """Within the block, nothing of what this thread does is shown: nobody waits for it."""
    before, _current.is_unseen = _current.is_unseen, True
    try:
        yield
    finally:
        _current.is_unseen = before


def _nobody(stage: str) -> None:
    """Nobody looks."""
