"""The BLAS that NumPy brought, and how many threads it uses while it works for this package.

Its own threads are no help for small products, and ruin everything where other threads are busy: each product ends with
all of them meeting, and whoever has no processor then is waited for by others that spin. So a product has one thread,
unless it is large; a large one has as many as `set_num_threads` or the function that runs says, shared among the Python
threads that came here within the last moments. BLAS's own number, which it has for everybody else, is never exceeded,
and comes back afterwards.

Operators call the functions of this module instead of NumPy's.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.linalg import LinAlgError

from flambeau.util import thread_count
from flambeau.util.inversions import CHECKED_MATRICES
from flambeau.util.locks import Lock, NoForkLock, in_child

LARGE: Final = 1 << 27
"""Multiplications from which a call is worth several threads: some milliseconds."""
SMALL: Final = 1 << 13
"""Elements of a matrix up to which BLAS multiplies it with a vector by one thread of its own accord. A matrix of one
row or column counts as a vector."""
SMALL_WORK: Final = 1 << 18
"""Multiplications up to which it multiplies two matrices so. Beyond it asks all its threads, and one that finds no free
processor is waited for, spinning, for milliseconds.
"""
MOMENT: Final = 0.05
"""Seconds for which a Python thread that called counts as busy."""
MANY: Final = 64
"""Threads that called from which on those are forgotten that are idle."""
_NAMES = (
    ("scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"),
    ("openblas_set_num_threads64_", "openblas_get_num_threads64_"),
    ("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
    ("openblas_set_num_threads", "openblas_get_num_threads"),
    ("MKL_Set_Num_Threads", "MKL_Get_Max_Threads"),
)
"""How OpenBLAS, in NumPy's wheels and in other builds, and MKL call what sets and gives the number."""


class _Calls:
    running = 0
    """Calls that need the number that is set."""
    before = 0
    """What it was."""


_lock = Lock()
_callers: dict[int, float] = {}
"""By thread: when it last called."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """What NumPy's own products are linked with, with all that it has loaded; None where that cannot be opened."""
    with NoForkLock():
        try:
            return ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
        except (ImportError, OSError):
            return None


@functools.cache
def _control() -> tuple[Callable[[int], None], Callable[[], int]] | None:
    """What sets the number of threads and what gives it; None where BLAS has no such functions."""
    loaded = library()
    if loaded is None:
        return None
    for setter, getter in _NAMES:
        if hasattr(loaded, setter) and hasattr(loaded, getter):
            put = ctypes.PYFUNCTYPE(None, ctypes.c_int)((setter, loaded))
            return put, ctypes.PYFUNCTYPE(ctypes.c_int)((getter, loaded))
    return None


@functools.cache
def control_address() -> int:
    """The address of two words: the C functions that give and set the number of threads, or zeros where BLAS has none.
    Whoever holds the interpreter's lock may set it for a moment."""
    control = _control()
    functions: Any = () if control is None else (control[1], control[0])
    _words[:] = [ctypes.cast(one, ctypes.c_void_p).value or 0 for one in functions] or [0, 0]
    return ctypes.addressof(_words)


_words: Final = (ctypes.c_size_t * 2)()


class _Own(threading.local):
    most: int | None = None
    """Threads that the function which this thread runs asks for."""


_own = _Own()


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """Within the block, this thread's calls of BLAS may use so many threads, whatever others may."""
    before, _own.most = _own.most, count
    try:
        yield
    finally:
        _own.most = before


class threads_for:  # noqa: N801  # reads as a function
    """A block within which BLAS has the threads that a call of so many multiplications is worth."""

    __slots__ = ("_put", "_work")

    def __init__(self, work: float) -> None:
        self._work = work
        self._put: Callable[[int], None] | None = None

    def __enter__(self) -> None:
        control = _control()
        if control is None:
            return
        put, get = control
        now, me = time.monotonic(), threading.get_ident()
        with _lock:
            _callers[me] = now
            if len(_callers) > MANY:
                _forget_idle(now)
            if not _Calls.running:
                _Calls.before = get()
            _Calls.running += 1
            self._put = put
            put(_share(now) if self._work >= LARGE else 1)

    def __exit__(self, *_: object) -> None:
        if self._put is not None:
            with _lock:
                _Calls.running -= 1
                if not _Calls.running:
                    self._put(_Calls.before)


def _forget_idle(now: float) -> None:
    for thread in [t for t, then in _callers.items() if now - then >= MOMENT]:
        del _callers[thread]


def _share(now: float) -> int:
    """The threads of one of the Python threads that came within the last moments."""
    _forget_idle(now)
    most = thread_count.get() if _own.most is None else _own.most
    return max(1, min(_Calls.before, most // max(1, len(_callers))))


@in_child
def _nobody_calls() -> None:
    """In a forked process, calls of other threads have ended, and their number goes."""
    control = _control()
    if _Calls.running and control is not None:
        control[0](_Calls.before)
    _Calls.running = 0
    _callers.clear()


def is_small(a: Any, b: Any) -> bool:
    """Whether a product of two arrays takes so little that one thread is asked for it anyway; of stacks of matrices,
    which are multiplied pair by pair, each product."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return False
    if a.ndim < 2 or b.ndim < 2:
        return a.size <= SMALL and b.size <= SMALL
    rows, folded = a.shape[-2:]
    columns = b.shape[-1]
    if rows * folded * columns > SMALL_WORK:
        return False
    if rows * folded <= SMALL and folded * columns <= SMALL:
        return True
    return bool(rows > 1 < columns and folded > 1 and _lie_apart(a, b))


def _lie_apart(a: Any, b: Any) -> bool:
    """Whether two arrays are not seen at a glance to be the same memory: BLAS has another routine for a matrix and its
    own transpose, which asks all threads sooner."""
    return a is not b.base and b is not a.base and (a.base is None or a.base is not b.base)


def _is_small_dot(a: Any, b: Any) -> bool:
    return is_small(a, b) and a.ndim < 3 and b.ndim < 3


def _limited(function: Callable[..., Any], is_alone: Callable[[Any, Any], bool] | None = None) -> Any:
    """A function of NumPy that calls BLAS; `is_alone` says of two arrays whether it takes one thread for them of its
    own accord."""

    @functools.wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        if is_alone is not None and len(args) == 2 and not kwargs and is_alone(*args):
            return function(*args)
        largest = widest = 0
        has_vectors = False
        for a in args[0] if isinstance(args[0], list) else args:
            if isinstance(a, np.ndarray):
                largest = max(largest, a.size)
                if a.ndim:
                    widest = max(widest, a.shape[-1])
                has_vectors = has_vectors or a.ndim < 2
        work = float(largest) * widest
        if largest <= SMALL and (work <= SMALL_WORK or has_vectors):
            return function(*args, **kwargs)
        with threads_for(work):
            return function(*args, **kwargs)

    return limited


matmul, dot, einsum = _limited(np.matmul, is_small), _limited(np.dot, _is_small_dot), _limited(np.einsum)
small_matmul: Final[Callable[..., Any]] = np.matmul
"""For two matrices of which `is_small` holds: whoever calls has looked."""


def _factoring(function: Callable[..., Any]) -> Any:
    """A function of `numpy.linalg`, which raises for what it cannot factor on devices too."""
    limited = _limited(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if isinstance(args[0], np.ndarray | list):
            return limited(*args, **kwargs)
        with CHECKED_MATRICES.implementation():
            return function(*args, **kwargs)

    return checked


class linalg:  # noqa: N801  (stands for numpy.linalg)
    """The functions of `numpy.linalg` that operators use."""

    cholesky, det, eig, eigh, eigvalsh, inv, lstsq, multi_dot, qr, slogdet, solve, svd = (
        staticmethod(_factoring(getattr(np.linalg, name)))
        for name in (
            "cholesky", "det", "eig", "eigh", "eigvalsh", "inv", "lstsq", "multi_dot", "qr", "slogdet", "solve", "svd",
        )
    )  # fmt: skip
    LinAlgError = LinAlgError
