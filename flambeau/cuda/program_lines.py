"""The program's line that led here: the first one outside of this package and of the libraries below it.

>>> current_line()[0] is current_line.__code__
False
"""

from __future__ import annotations

import os
import sys
from functools import cache
from types import CodeType, FrameType

import numpy as np

from flambeau.cuda import library
from flambeau.util.user_code import INSIDE

Line = tuple[CodeType, int]
"""A function's code and a line in it."""


@cache
def _libraries(of: int) -> tuple[str, ...]:
    """How the names of files begin that are no program's."""
    paths = [getattr(module, "__file__", None) for module in (np, library.cupy())]
    return (*INSIDE, *(os.path.dirname(path) + os.sep for path in paths if path))


def inside() -> tuple[str, ...]:
    """How the names of files begin that are of this package, of NumPy or CuPy."""
    return INSIDE if library.unavailable() else _libraries(id(library.cupy()))


def current_line() -> Line | None:
    """The code and the line that led here; None if there is no such frame."""
    frame: FrameType | None = sys._getframe(1)
    beginnings = inside()
    while frame is not None and frame.f_code.co_filename.startswith(beginnings):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lineno)
