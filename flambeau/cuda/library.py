"""CuPy, through which devices are reached: imported when the first call needs it, replaced by another in tests.

>>> from flambeau.cuda import library
>>> library.unavailable() is None or "GPU" in library.unavailable() or "CuPy" in library.unavailable()
True
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any

from flambeau.util.inversions import CHECKED_MATRICES
from flambeau.util.locks import in_child

NOT_INSTALLED = "CuPy is not installed: pip install flambeau[cuda]"
NO_GPU = "there is no GPU here"
NOT_SUPPORTED = (
    "no tensor can be put on device 'cuda' here ({reason}): ask flambeau.cuda.is_available() first, or use device='cpu'"
)
FORKED = (
    "this process was forked from one that had used a CUDA device, which it cannot use any more. Start processes that "
    "use devices with multiprocessing.get_context('spawn') (of a DataLoader: multiprocessing_context='spawn'), or fork "
    "before the first use"
)


class _Chosen:
    """The library in use, if it is not CuPy."""

    library: Any = None
    was_used = False
    is_forked = False
    """Whether another process had used devices before this one was forked from it."""


_chosen = _Chosen()


@in_child
def _forked() -> None:
    _chosen.is_forked = _chosen.is_forked or was_used()


@cache
def _installed() -> Any:
    import cupy

    return cupy


def cupy() -> Any:
    """The library.

    Raises RuntimeError with the reason where no device can be used, and in a process that was forked after the first
    use of one.
    """
    if _chosen.is_forked:
        raise RuntimeError(FORKED)
    _chosen.was_used = True
    if _chosen.library is not None:
        return _chosen.library
    reason = unavailable()
    if reason is not None:
        raise RuntimeError(NOT_SUPPORTED.format(reason=reason))
    return _installed()


@CHECKED_MATRICES.provide
def checked_matrices() -> AbstractContextManager[None]:
    """Within the block, this thread's linear algebra raises for matrices that it cannot factor: CuPy by itself gives
    what it has."""
    extras = _extras() if _chosen.library is None else _chosen.library.cupyx
    block: AbstractContextManager[None] = extras.errstate(linalg="raise")
    return block


@cache
def _extras() -> Any:
    import cupyx

    return cupyx


def was_used() -> bool:
    """Whether anybody asked for the library, and got it."""
    return _chosen.was_used and unavailable() is None


def unavailable() -> str | None:
    """Why no device can be used here; None where one can."""
    return _why_not() if _chosen.library is None else None


def which() -> int:
    """A number for the library in use: what is kept for one is not another's."""
    return id(_chosen.library)


def is_real() -> bool:
    """Whether there are devices, and nothing stands for CuPy."""
    return _chosen.library is None and _why_not() is None


@cache
def _why_not() -> str | None:
    try:
        if _installed().cuda.runtime.getDeviceCount() == 0:
            return NO_GPU
    except ImportError:
        return NOT_INSTALLED
    except Exception as error:  # CuPy raises its own errors where there is no driver, or one that is too old
        return f"{NO_GPU}: {error}"
    return None


@contextmanager
def use(library: Any) -> Iterator[None]:
    """Within the block, another object stands for CuPy: what has its functions, on whatever device."""
    before, _chosen.library = _chosen.library, library
    try:
        yield
    finally:
        _chosen.library = before


class _Handle:
    """A stream of CUDA's by its handle, as CuPy takes those of others."""

    __slots__ = ("pointer",)

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


def stream_of(handle: int) -> Any:
    """CuPy's object for a stream that somebody has, by CUDA's handle."""
    cuda = cupy().cuda
    if not handle:
        return cuda.Stream.null
    if hasattr(cuda.Stream, "from_external"):
        return cuda.Stream.from_external(_Handle(handle))
    return cuda.ExternalStream(handle)  # before CuPy 14
