"""Who sees calls of modules, and reads of their parameters and buffers, in this thread: a tracer of Python code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

Caller = Callable[[Any, tuple[Any, ...], dict[str, Any], Callable[..., Any]], Any]
"""Called with a module, its arguments, and what runs it with others."""


Reader = Callable[[str, Any], Any]
"""Called with the name of a parameter, buffer or submodule, and itself; gives what the code gets."""


class _Local(threading.local):
    caller: Caller | None = None
    reader: Reader | None = None


local = _Local()
readers: Final[list[Reader]] = []
"""Those of all threads: where there are none, nobody looks for one of this thread."""


def read(name: str, value: Any) -> Any:
    """What a read of a module's own parameter, buffer or submodule gives in this thread."""
    reader = local.reader
    return value if reader is None else reader(name, value)


@contextmanager
def intercepting_calls(caller: Caller, reader: Reader) -> Iterator[None]:
    """Within the block, calls of modules go to `caller`, and what is read of them to `reader`."""
    before = local.caller, local.reader
    local.caller, local.reader = caller, reader
    readers.append(reader)
    try:
        yield
    finally:
        readers.remove(reader)
        local.caller, local.reader = before
