"""Who sees calls of modules in this thread, in place of their `forward`: a tracer of Python code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Caller = Callable[[Any, tuple[Any, ...], dict[str, Any], Callable[..., Any]], Any]
"""Called with a module, its arguments, and what runs it with others."""


class _Local(threading.local):
    caller: Caller | None = None


local = _Local()


@contextmanager
def intercepting_calls(caller: Caller) -> Iterator[None]:
    """Within the block, calls of modules go to `caller`."""
    before, local.caller = local.caller, caller
    try:
        yield
    finally:
        local.caller = before
