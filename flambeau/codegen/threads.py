"""How many threads kernels run on, and the pools that run them.

A launch says that it may be shared out, and into which pieces; how many threads then take part is looked up by each
call: what `set_num_threads` says at that moment, or what the function itself asks for.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache
from typing import Any

from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.pool import FUTEX, RELAY, pool_text
from flambeau.util import thread_count
from flambeau.util.locks import Lock, in_child

_lock = Lock()
_MACHINES = {"AMD64": "x86_64", "x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32)
_callers = ctypes.c_int64(0)
"""Python threads whose kernels are being shared out, in all pools."""
_setting = ctypes.c_int64(0)
"""The address of the `run` that the setting stands for."""


class Pool:
    """Native worker threads, which stay inside native code and know nothing of Python."""

    def __init__(self, threads: int) -> None:
        process = ctypes.CDLL(None)
        imports = {
            "flambeau_syscall": ctypes.cast(process.syscall, ctypes.c_void_p).value or 0,
            "flambeau_start_thread": ctypes.cast(process.pthread_create, ctypes.c_void_p).value or 0,
            "flambeau_callers": ctypes.addressof(_callers),
        }
        text = pool_text(threads, _MACHINES[platform.machine()])
        self.code: NativeCode = engine().link(text, ("run", "reset"), imports)
        self.run_address = self.code.addresses["run"]
        self.reset: Any = ctypes.CFUNCTYPE(None)(self.code.addresses["reset"])


_pools: dict[int, Pool] = {}


@in_child
def _start_anew() -> None:
    """In a forked process no worker is left, and nobody is in a kernel: pools start their workers when next asked."""
    _callers.value = 0
    for one in _pools.values():
        one.reset()


def is_supported() -> bool:
    """Whether there is a pool for this system; without one kernels run on the caller's thread."""
    return sys.platform.startswith("linux") and _MACHINES.get(platform.machine()) in FUTEX


def get_num_threads() -> int:
    """Threads that one kernel may use, the caller's included.

    >>> import flambeau
    >>> flambeau.get_num_threads() >= 1
    True
    """
    return thread_count.get() if is_supported() else 1


def set_num_threads(count: int) -> None:
    """Let one kernel use ``count`` threads; 1 keeps all work on the caller's. Raises ValueError for less,
    TypeError for what is no int.

    It holds from the next call on, also for what is compiled already. A function's own `num_threads` comes first. BLAS,
    which large products go to, uses no more threads either while it works for this package.

    Args:
        count: how many threads, from 1 on.

    >>> import flambeau
    >>> flambeau.set_num_threads(flambeau.get_num_threads())
    """
    thread_count.put(count)


@thread_count.when_put
def _run_on(count: int) -> None:
    """Have launches run on so many threads."""
    with _lock:
        if _setting.value:
            _setting.value = _run_address(count)


def threads_for(wanted: int | None) -> int:
    """How many threads a launch is made for, of a function that asks for so many, or for none in particular.

    In that case more than one, whatever is set now: pieces are there in case they are wanted.
    """
    if not is_supported():
        return 1
    return max(2, min(thread_count.processors(), 64)) if wanted is None else wanted


def shared_by(wanted: int) -> int:
    """How many threads share the pieces of a launch that wants so many, or `ANY`."""
    return get_num_threads() if wanted == thread_count.ANY else wanted


def run_address(wanted: int) -> int:
    """The address of what runs pieces on so many threads, or on as many as the setting says at the time of the call."""
    with _lock:
        if wanted != thread_count.ANY:
            return _run_address(wanted)
        if not _setting.value:
            _setting.value = _run_address(get_num_threads())
        return _relay().addresses["relay"]


def run(wanted: int) -> Any:
    """The same as a function of (kernel, block, high, step, pieces)."""
    return _RUN(run_address(wanted))


def _run_address(count: int) -> int:
    """Pools are made at first use, and live as long as the process."""
    if count == 1:
        return _relay().addresses["alone"]
    if count not in _pools:
        _pools[count] = Pool(count)
    return _pools[count].run_address


@cache
def _relay() -> NativeCode:
    return engine().link(RELAY, ("relay", "alone"), {"flambeau_setting": ctypes.addressof(_setting)})
