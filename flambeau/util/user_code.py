"""The user's frame in the call stack: warnings and errors of this package name its line.

>>> import warnings
>>> with warnings.catch_warnings(record=True) as seen:
...     warnings.simplefilter("always")
...     warn_user("sizes were guessed", UserWarning)
>>> seen[0].filename == warn_user.__code__.co_filename
False
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""How the names of this package's files begin."""
INSIDE = (PACKAGE, contextlib.__file__)
"""Files whose lines are no user's: decorators of this package's functions are run by the library."""


PendingWarning = tuple[str, type[Warning]]


class _Holding(threading.local):
    pending: list[PendingWarning] | None = None


_holding = _Holding()


@contextlib.contextmanager
def holding_warnings(pending: list[PendingWarning]) -> Iterator[None]:
    """Within the block, warnings of this thread to the user go into a list: no line of the user's led here."""
    before = _holding.pending
    _holding.pending = pending
    try:
        yield
    finally:
        _holding.pending = before


def warn_user(text: str, category: type[Warning]) -> None:
    """A warning at the line in the user's code that led here, however many calls there are in between."""
    if _holding.pending is not None:
        _holding.pending.append((text, category))
        return
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level + 1)
