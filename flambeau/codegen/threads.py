"""How many threads kernels run on, and the pool that runs them."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from typing import Any

from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.pool import FUTEX, pool_text

_lock = threading.Lock()
_MACHINES = {"AMD64": "x86_64", "x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def processor_count() -> int:
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """Native worker threads; they are Python daemon threads that stay inside native code, without the GIL."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        system_call = ctypes.cast(ctypes.CDLL(None).syscall, ctypes.c_void_p).value or 0
        text = pool_text(threads, _MACHINES[platform.machine()])
        self.code: NativeCode = engine().link(text, ("run", "worker"), {"flambeau_syscall": system_call})
        self.run_address = self.code.addresses["run"]
        address, number64, number32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
        signature = ctypes.CFUNCTYPE(None, address, address, number64, number64, number32)
        self.run: Any = signature(self.run_address)
        worker = ctypes.CFUNCTYPE(None, ctypes.c_int32)(self.code.addresses["worker"])
        for number in range(1, threads):
            threading.Thread(target=worker, args=(number,), daemon=True, name=f"flambeau-{number}").start()


_pools: dict[int, Pool] = {}
_threads: list[int] = []


def is_supported() -> bool:
    """Whether there is a pool for this system; without one kernels run on the caller's thread."""
    return sys.platform.startswith("linux") and _MACHINES.get(platform.machine()) in FUTEX


def get_num_threads() -> int:
    """Threads that one kernel may use, the caller's included."""
    if not _threads:
        given = os.environ.get("FLAMBEAU_NUM_THREADS", "")
        _threads.append(max(1, int(given)) if given.isdigit() else min(processor_count(), 64))
    return _threads[0] if is_supported() else 1


def set_num_threads(count: int) -> None:
    """Let one kernel use ``count`` threads; 1 keeps all work on the caller's. Raises ValueError for less."""
    if count < 1:
        raise ValueError(f"set_num_threads expects a positive number, got {count}")
    _threads[:] = [count]


def threads_for(wanted: int | None) -> int:
    """How many threads a function may use that asks for so many, or for none in particular."""
    return get_num_threads() if wanted is None else wanted if is_supported() else 1


def pool(count: int) -> Pool:
    """The pool of a size, started at first use. Pools live as long as the process."""
    with _lock:
        if count not in _pools:
            _pools[count] = Pool(count)
        return _pools[count]
