"""Ctrl-C while something runs, however slow the machine is: an interrupt that comes too early would end the tests."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def interrupted_once(has_begun: Callable[[], bool]) -> Iterator[None]:
    """A block that has to end by KeyboardInterrupt, which is sent when another thread sees that its work has begun."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.01):
            if has_begun():
                _thread.interrupt_main()
                return

    watcher = threading.Thread(target=watch)
    try:
        watcher.start()
        yield
    except KeyboardInterrupt:
        pass
    else:
        pytest.fail("it was not interrupted")
    finally:
        is_over.set()
        watcher.join()
