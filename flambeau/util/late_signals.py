"""Work that no handler of a signal may leave half done, since nobody could use its halves: importing the compiler.

>>> import signal
>>> before = signal.getsignal(signal.SIGINT)
>>> with late_signals():
...     signal.getsignal(signal.SIGINT) == before
False
>>> signal.getsignal(signal.SIGINT) == before
True
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType

Handler = Callable[[int, "FrameType | None"], object]


@contextmanager
def late_signals() -> Iterator[None]:
    """Within the block, signals with handlers in Python wait, Ctrl-C among them; behind it each handler is called once.

    Python runs handlers in the main thread: in others there is nothing to do. What a handler raises is raised behind
    the block.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: dict[int, FrameType | None] = {}
    handlers: dict[int, Handler] = {}
    is_over = False

    def note(number: int, frame: FrameType | None) -> None:
        if is_over:  # what a handler raised kept this one from being put back
            handlers[number](number, frame)
        else:
            arrived[number] = frame

    try:
        for number in map(int, signal.valid_signals()):  # some have no name
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, note)
        yield
    finally:
        is_over = True
        try:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        finally:
            _call([partial(handlers[number], number, frame) for number, frame in arrived.items()])


def _call(handlers: Sequence[Callable[[], object]]) -> None:
    """Call all, whatever one raises."""
    if handlers:
        try:
            handlers[0]()
        finally:
            _call(handlers[1:])
