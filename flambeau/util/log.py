"""`FLAMBEAU_LOG`: what the compiler does, told on standard error while it does it.

FLAMBEAU_LOG=executor              every compilation: its cause, what was known of the arguments, how long it took
FLAMBEAU_LOG=passes:2,codegen:1    the diff of each pass that changed something; each kernel with its schedule
FLAMBEAU_LOG=all                   level 1 of everything

The variable is read when something first could be told, once in a process. A wrong part is told too, and left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Final

VARIABLE: Final = "FLAMBEAU_LOG"
AREAS: Final[Mapping[str, tuple[str, ...]]] = {
    "executor": ("each compilation: cause, known types, time", "and the time of each stage, and dropped plans"),
    "passes": ("the passes that changed a graph, with times", "and their changes as a diff", "and the other passes"),
    "codegen": ("each kernel: time, schedule, or why there is none", "and its loop nest", "and its LLVM IR"),
    "cache": ("compiled objects read from disk and written there, and why one was not",),
}
"""What can be told, and what each level adds."""


def parse(text: str) -> tuple[dict[str, int], list[str]]:
    """The level of each area that a setting names, and what is wrong with the rest.

    >>> parse("passes:2,executor")
    ({'passes': 2, 'executor': 1}, [])
    >>> parse("pases")[1]
    ["there is no area 'pases'; write executor, passes, codegen, cache or all, each with :LEVEL or without"]
    """
    levels: dict[str, int] = {}
    wrong: list[str] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        area, colon, number = part.partition(":")
        if area not in AREAS and area != "all":
            wrong.append(f"there is no area {area!r}; write {', '.join(AREAS)} or all, each with :LEVEL or without")
        elif colon and not number.isdecimal():
            wrong.append(f"the level in {part!r} is no number; {area}:1 tells least")
        else:
            for name in AREAS if area == "all" else (area,):
                levels[name] = max(levels.get(name, 0), int(number) if colon else 1)
    return levels, wrong


@cache
def _levels() -> dict[str, int]:
    levels, wrong = parse(os.environ.get(VARIABLE, ""))
    for text in wrong:
        print(f"[flambeau] {VARIABLE}: {text}", file=sys.stderr)
    return levels


def level(area: str) -> int:
    """How much of an area is told; 0 is nothing."""
    return _levels().get(area, 0)


def write(area: str, text: str) -> None:
    """Write a block of lines to the log, each marked with its area."""
    lines = [f"[flambeau {area}] {line}" for line in text.rstrip("\n").split("\n")]
    sys.stderr.write("\n".join(lines) + "\n")


def reread() -> None:
    """Read the variable again when something is next told."""
    _levels.cache_clear()
