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

GENERATOR: Final = words_layout("ptr state, ptr double, ptr uint32, ptr uint64, i64 has_gauss, i64 gauss, ptr words")
"""What drawing needs: the generator's state, functions of it, the second of two normal numbers drawn together, and the
words of a Mersenne twister: null for other generators."""
_HAS_GAUSS, _GAUSS = GENERATOR.word("has_gauss"), GENERATOR.word("gauss")
WORDS: Final = 624
"""Words of the twister's state."""
PLACE: Final = WORDS
"""The word behind them says how many were drawn."""
BEGIN, END = "flambeau_draws_begin", "flambeau_draws_end"
BEGIN_TYPE, END_TYPE = "ptr (i64)", "void (i64)"
"""Both are told whether normal numbers are drawn."""


class _Draws:
    """Gives native code the generator, one holder at a time: whoever has NumPy's lock."""

    def __init__(self) -> None:
        self.words = GENERATOR.pack()
        self.address = ctypes.addressof(self.words)
        self.bits: Any = None
        self.lock: Any = None
        self.normals: _NormalsByState | _NormalsInMemory = _NormalsByState(_generator())
        self.begin = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(self._begin)
        self.end = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._end)

    def _begin(self, draws_normals: int) -> int:
        bits = _generator()._bit_generator
        lock = bits.lock
        _acquire(lock)
        self.lock = lock
        if bits is not self.bits:
            self._look_up(bits)
        if draws_normals:
            self.words[_HAS_GAUSS], self.words[_GAUSS] = self.normals.read()
        return self.address

    def _look_up(self, bits: Any) -> None:
        """Note where a generator of bits, and what its owner keeps beside it, lies."""
        interface = bits.ctypes
        GENERATOR.write(self.address, "state", interface.state_address)
        GENERATOR.write(self.address, "words", interface.state_address if has_words(bits) else 0)
        for name in ("double", "uint32", "uint64"):
            function = ctypes.cast(getattr(interface, f"next_{name}"), ctypes.c_void_p).value
            GENERATOR.write(self.address, name, function or 0)
        self.bits, self.normals = bits, _normals_of(_generator())

    def _end(self, draws_normals: int) -> None:
        if draws_normals:
            self.normals.write(self.words[_HAS_GAUSS], self.words[_GAUSS])
        self.lock.release()


def has_words(bits: Any) -> bool:
    """Whether a generator of bits is a Mersenne twister whose words lie where its state begins."""
    if type(bits) is not np.random.MT19937:
        return False
    lying = (ctypes.c_uint32 * (WORDS + 1)).from_address(bits.ctypes.state_address)[:]
    state = bits.state["state"]
    return lying == [*state["key"].tolist(), state["pos"]]


class _NormalsByState:
    """The normal number that a generator keeps for the next draw, and whether it has one: through its whole state."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def read(self) -> tuple[int, int]:
        """Whether there is one, and its bits."""
        state = self.generator.get_state(legacy=False)
        return int(state["has_gauss"]), _bits(state["gauss"])

    def write(self, has_gauss: int, gauss: int) -> None:
        """Keep another one."""
        state = self.generator.get_state(legacy=False)
        state["has_gauss"] = has_gauss
        state["gauss"] = float(np.int64(gauss).view(np.float64))
        self.generator.set_state(state)


class _NormalsInMemory:
    """The same where it lies in the object: behind the address of the functions that draw bits."""

    def __init__(self, generator: Any, offset: int) -> None:
        start = id(generator) + offset
        self.generator = generator
        self.has_gauss = ctypes.c_int32.from_address(start + 8)
        self.gauss = ctypes.c_int64.from_address(start + 16)

    def read(self) -> tuple[int, int]:
        """Whether there is one, and its bits."""
        return self.has_gauss.value, self.gauss.value

    def write(self, has_gauss: int, gauss: int) -> None:
        """Keep another one."""
        self.has_gauss.value, self.gauss.value = has_gauss, gauss


def _normals_of(generator: Any) -> _NormalsByState | _NormalsInMemory:
    """In memory where a generator of our own shows that it lies there, through the whole state otherwise."""
    offset = _offset_of_normals()
    return _NormalsByState(generator) if offset is None else _NormalsInMemory(generator, offset)


@cache
def _offset_of_normals() -> int | None:
    """Where in objects a word is with an address within the object, behind which the number lies; None for nowhere."""
    size = np.random.RandomState.__basicsize__
    first, second = np.random.RandomState(1), np.random.RandomState(2)
    second.standard_normal()
    for offset in range(0, size - 16, 8):
        word = ctypes.c_int64.from_address(id(first) + offset).value
        if not id(first) < word < id(first) + size:
            continue
        own, other = _NormalsInMemory(first, offset), _NormalsInMemory(second, offset)
        if own.read() == (0, 0) and other.read() == _NormalsByState(second).read():
            return offset
    return None


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
