"""Python's exceptions as errors of functions compiled by Numba, which its code raises, hands on or catches."""

from __future__ import annotations

import ctypes
import importlib
import itertools
import pickle
import threading
from typing import Any

from flambeau.codegen.graph.native import forget_values
from flambeau.util.locks import Lock

LOST = "a scripted function failed, and too many others since for its error to be known"
MAX_ERRORS = 4096
"""Errors that are remembered until Numba raises them; it never asks for one that its code catches."""
_numbers = itertools.count()


class _Errors(threading.local):
    """The error that this thread is about to raise."""

    next: BaseException | None = None


_errors: dict[int, BaseException] = {}
_lock = Lock()
_thread = _Errors()


class _Next:
    """Unpickles as the error that this thread is about to raise."""

    def __reduce__(self) -> Any:
        return _take, ()


def _take() -> BaseException:
    error, _thread.next = _thread.next, None
    return error or RuntimeError(LOST)


def _unwrap(key: int) -> tuple[Any, ...]:
    """Called by code of Numba's that raises, before it unpickles what it raises."""
    with _lock:
        _thread.next = _errors.pop(key, None)
    return ()


_unwrap_c = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_int64)(_unwrap)
_PICKLED = pickle.dumps((_Next(), (), None))
_pickled_c = ctypes.create_string_buffer(_PICKLED, len(_PICKLED))


def described(error: BaseException) -> int:
    """An exception as Numba's functions hand it on: five words, which whoever raises it frees.

    They say where a pickle is, how long it is, a word, a function of that word whose results go into the pickle's
    arguments, and that there is one.
    """
    forget_values(error)
    helpers = importlib.import_module("numba.core.runtime._nrt_python").c_helpers
    address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(helpers["Allocate"])(40)
    if not address:
        return 0
    key = next(_numbers)
    with _lock:
        _errors[key] = error
        while len(_errors) > MAX_ERRORS:
            del _errors[next(iter(_errors))]
    unwrap = ctypes.cast(_unwrap_c, ctypes.c_void_p).value or 0
    words: list[ctypes.c_int64 | int] = [ctypes.addressof(_pickled_c), len(_PICKLED), key, unwrap, 1]
    (ctypes.c_int64 * 5).from_address(address)[:] = words
    return int(address)
