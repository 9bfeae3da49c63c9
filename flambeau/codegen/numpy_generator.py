"""NumPy's generator for native code: where its state lies, the functions that draw from it, and its lock.

Who draws holds NumPy's own lock from the first number on, until the function is left or Python runs something in it, so
that numbers come in the order of the program, and no other thread draws the same ones.
"""

from __future__ import annotations

import _thread
import ctypes
from functools import cache
from typing import Any, Final

import numpy as np

from flambeau.codegen.layouts import words_layout

GENERATOR: Final = words_layout("ptr state, ptr double, ptr uint32, ptr uint64, i64 has_gauss, i64 gauss")
"""What drawing needs: the generator's state, functions of it, and the second of two normal numbers drawn together."""
BEGIN, END = "flambeau_draws_begin", "flambeau_draws_end"
BEGIN_TYPE, END_TYPE = "ptr (i64)", "void (i64)"
"""Both are told whether normal numbers are drawn."""


class _Draws:
    """Gives native code the generator, one holder at a time: whoever has NumPy's lock."""

    def __init__(self) -> None:
        self.words = GENERATOR.pack()
        self.lock: Any = None
        self.begin = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(self._begin)
        self.end = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._end)

    def _begin(self, draws_normals: int) -> int:
        generator = _generator()
        lock = generator._bit_generator.lock
        _acquire(lock)
        self.lock = lock
        interface = generator._bit_generator.ctypes
        address = ctypes.addressof(self.words)
        GENERATOR.write(address, "state", interface.state_address)
        for name in ("double", "uint32", "uint64"):
            function = ctypes.cast(getattr(interface, f"next_{name}"), ctypes.c_void_p).value
            GENERATOR.write(address, name, function or 0)
        if draws_normals:
            state = generator.get_state(legacy=False)
            GENERATOR.write(address, "has_gauss", int(state["has_gauss"]))
            GENERATOR.write(address, "gauss", _bits(state["gauss"]))
        return address

    def _end(self, draws_normals: int) -> None:
        if draws_normals:
            generator, address = _generator(), ctypes.addressof(self.words)
            state = generator.get_state(legacy=False)
            state["has_gauss"] = GENERATOR.read(address, "has_gauss")
            state["gauss"] = float(np.int64(GENERATOR.read(address, "gauss")).view(np.float64))
            generator.set_state(state)
        self.lock.release()


def _generator() -> Any:
    """What the functions of `np.random` draw from."""
    return np.random.normal.__self__  # type: ignore[attr-defined]


def _bits(number: float) -> int:
    return int(np.float64(number).view(np.int64))


def _acquire(lock: Any) -> None:
    """Wait for a lock. Native code goes on behind this, so an interrupt is told when it looks for signals next."""
    while True:
        try:
            lock.acquire()
        except KeyboardInterrupt:
            _thread.interrupt_main()
        else:
            return


@cache
def _draws() -> _Draws:
    return _Draws()


def draw_addresses() -> dict[str, int]:
    """Where the functions are that begin and end drawing, by symbol."""
    draws = _draws()
    pairs = ((BEGIN, draws.begin), (END, draws.end))
    return {symbol: ctypes.cast(function, ctypes.c_void_p).value or 0 for symbol, function in pairs}
