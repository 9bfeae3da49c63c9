"""Which compiled function was given to devices last: errors of kernels are told later, by whatever waits next.

>>> note("decay")
>>> noted(RuntimeError("out of cheese")).args
('out of cheese',)
>>> class Illegal(RuntimeError):
...     status = 700
>>> str(noted(Illegal("an illegal memory access was encountered"))).partition(";")[0]
"an illegal memory access was encountered: the compiled function that ran last is 'decay'"
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LASTING: Final = (700, 702, 709, 714, 715, 716, 717, 718, 719, 720)
"""What CUDA answers when a kernel failed: the device cannot be used any more by this process."""
RAN_LAST: Final = (
    "{error}: the compiled function that ran last is {name!r}; with CUDA_LAUNCH_BLOCKING=1 in the environment and "
    "without=('cuda_graphs',) the call that fails is the one that says so. The process has to start anew"
)
NOBODY: Final = (
    "{error}: no compiled function has run on the device. With CUDA_LAUNCH_BLOCKING=1 in the environment the call that "
    "fails is the one that says so. The process has to start anew"
)
_latest: Final = [""]


def note(name: str) -> None:
    """A compiled function runs on a device."""
    _latest[0] = name


def noted(error: Exception) -> Exception:
    """The error to raise for one of CUDA's: where a kernel failed, one that says what ran last."""
    if getattr(error, "status", None) not in LASTING:
        return error
    words = RAN_LAST if _latest[0] else NOBODY
    return RuntimeError(words.format(error=error, name=_latest[0]))


@contextmanager
def telling() -> Iterator[None]:
    """Within the block, errors of kernels that failed earlier say what ran last."""
    try:
        yield
    except RuntimeError as error:
        blamed = noted(error)
        if blamed is error:
            raise
        raise blamed from error
