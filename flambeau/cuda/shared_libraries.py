"""NVIDIA's libraries, loaded for their C functions."""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

from flambeau.util.locks import NoForkLock

_lock = NoForkLock()


def load(name: str, *files: str) -> Any:
    """A library by the name that NVIDIA's packages have for it, else the first of `files` that the system finds; None
    where there is none that can be loaded.

    >>> load("no such library", "libnone.so") is None
    True
    """
    with _lock:
        for path in (*_packaged(name), *files):
            try:
                return ctypes.CDLL(path)
            except OSError:
                continue
    return None


def _packaged(name: str) -> tuple[str, ...]:
    """Where NVIDIA's packages put it."""
    try:
        finder = import_module("cuda.pathfinder")  # comes with CuPy
        return (str(finder.load_nvidia_dynamic_lib(name).abs_path),)
    except Exception:  # not there, or not to be loaded: each version of the finder has errors of its own
        return ()
