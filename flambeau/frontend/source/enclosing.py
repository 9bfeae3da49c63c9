"""Classes that are local to a function, for annotations inside it: no closure holds what only annotations name.

def test():
    class Point: ...
    @script
    def f(p: Point): ...        `Point` is found in the frame of `test`, which is still running
"""

from __future__ import annotations

import sys
import typing
from types import FrameType
from typing import Any

_LOCALS = ".<locals>."


def enclosing_types(value: Any) -> dict[str, Any]:
    """The classes and type aliases in the running functions around the definition of a function or class, by name."""
    prefixes = _enclosing(value.__qualname__)
    types: dict[str, Any] = {}
    frame: FrameType | None = sys._getframe(1) if prefixes else None
    while frame is not None:
        if frame.f_code.co_qualname in prefixes and frame.f_globals.get("__name__") == value.__module__:
            for name, local in frame.f_locals.items():
                if isinstance(local, type) or typing.get_origin(local) is not None:
                    types.setdefault(name, local)
        frame = frame.f_back
    return types


def _enclosing(qualified: str) -> set[str]:
    """The names of the functions around a definition.

    >>> sorted(_enclosing("a.<locals>.B.b.<locals>.f"))
    ['a', 'a.<locals>.B.b']
    """
    parts = qualified.split(_LOCALS)
    return {_LOCALS.join(parts[:count]) for count in range(1, len(parts))}
