"""How far one function walks through the house: files, calls and changes of file, until it is compiled and called.

    python -m benchmarks.house_walk

The function is `decay` of `docs/architecture.md`; another one goes the same way before it, so that what is made once
for a process is not counted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import flambeau
from flambeau import Tensor

ROOT = os.path.dirname(flambeau.__file__)


def decay(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x * 0.5 + 1.0
    return x


def growth(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x * 2.0 - 1.0
    return x


class Walk:
    """What was met between two moments."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.calls = 0
        self.changes = 0
        """How often the next line of the package was in another file than the last."""
        self._last = ""

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Look at a call or a return, for `sys.setprofile`."""
        running = frame if event == "call" else frame.f_back if event == "return" else None
        if running is None or not running.f_code.co_filename.startswith(ROOT):
            return
        file = running.f_code.co_filename
        if event == "call":
            self.files.add(file)
            self.calls += 1
        self.changes += file != self._last
        self._last = file


def walk(run: Callable[[], Any]) -> tuple[Any, Walk]:
    """The result of a call, and the way it took."""
    taken = Walk()
    sys.setprofile(taken.note)
    try:
        return run(), taken
    finally:
        sys.setprofile(None)


def main() -> None:
    """Print the figures."""
    x = flambeau.ones(1000)
    flambeau.script(growth)(x, 5)
    function, compiling = walk(lambda: flambeau.script(decay))
    _, calling = walk(lambda: function(x, 5))
    for name, way in (("script", compiling), ("first call", calling)):
        print(f"{name}: {len(way.files)} files, {way.calls} calls, {way.changes} changes of file")


if __name__ == "__main__":
    main()
