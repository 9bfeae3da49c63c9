"""Whether the way back may use several threads: it takes one, whatever is said.

>>> with set_multithreading_enabled(False):
...     is_multithreading_enabled()
False
"""

from __future__ import annotations

import threading
from typing import Self


class _Mode(threading.local):
    enabled = True


_mode = _Mode()


def is_multithreading_enabled() -> bool:
    """What was said last in this thread.

    >>> is_multithreading_enabled()
    True
    """
    return _mode.enabled


class set_multithreading_enabled:  # noqa: N801  (as programs write it)
    """Say whether several threads may run a way back, from this call on; as a context manager, until the block's end.

    Args:
        mode: whether they may.

    >>> import flambeau
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> with set_multithreading_enabled(False):
    ...     x.sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    def __init__(self, mode: bool) -> None:
        self._before, _mode.enabled = _mode.enabled, mode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        _mode.enabled = self._before
