"""The functions as one module, compiled for this processor and kept on disk, and what calls them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.native_text import ATTRIBUTES
from flambeau.codegen.twister.normals import add_normals, loop_addresses, loop_types
from flambeau.codegen.twister.numbers import (
    add_doubles,
    add_floats,
    add_integers,
    add_permutation,
    add_wide_integers,
)
from flambeau.codegen.twister.words import add_words
from flambeau.util.array_address import address_of

Array = np.ndarray[Any, Any]
_SIGNATURE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3)
_WRITERS: Final[dict[str, Callable[[ModuleBuilder], None]]] = {
    "floats": add_floats, "doubles": add_doubles, "integers": add_integers, "wide_integers": add_wide_integers,
    "permutation": add_permutation,
}  # fmt: skip
_OF_LOOPS: Final[dict[str, Callable[[ModuleBuilder], None]]] = {
    f"normal_{element}": partial(add_normals, element=element) for element in ("float", "double")
}
"""Those that call loops of NumPy."""


def _what() -> str:
    return f"twister {loop_addresses() is not None}"


def is_at_hand() -> bool:
    """Whether the functions do not have to be compiled any more."""
    return engine().has_written(_what())


@cache
def _code() -> NativeCode:
    """All functions; those that call loops of NumPy where there are these. Raises `NativeError` where they cannot be
    compiled."""
    loops = loop_addresses()
    writers = _WRITERS if loops is None else _WRITERS | _OF_LOOPS

    def text() -> str:
        m = ModuleBuilder(loop_types())
        add_words(m)
        for add in writers.values():
            add(m)
        return m.text() + ATTRIBUTES

    return engine().link_written(_what(), tuple(writers), text, loops or {})


@cache
def functions() -> dict[str, Any]:
    """The functions by name: ``(state, out, count, first, second)``, other threads run meanwhile."""
    return {name: _SIGNATURE(address) for name, address in _code().addresses.items()}


class NativeTwister:
    """Draws from the state of a generator of bits: `bits` is NumPy's, whose words lie where its state begins."""

    __slots__ = ("_bits", "_doubles", "_floats", "_integers", "_permutation", "_state", "_wide", "normals")

    def __init__(self, bits: Any) -> None:
        known = functions()
        self._bits, self._state = bits, bits.ctypes.state_address
        self._floats, self._doubles, self._permutation = known["floats"], known["doubles"], known["permutation"]
        self._integers, self._wide = known["integers"], known["wide_integers"]
        self.normals = {char: known.get(f"normal_{element}") for char, element in (("f", "float"), ("d", "double"))}

    def floats(self, count: int) -> Array:
        """Float32s uniform in [0, 1)."""
        numbers = np.empty(count, np.float32)
        self._floats(self._state, address_of(numbers), count, 0, 0)
        return numbers

    def doubles(self, count: int) -> Array:
        """Float64s uniform in [0, 1)."""
        numbers = np.empty(count)
        self._doubles(self._state, address_of(numbers), count, 0, 0)
        return numbers

    def normal(self, count: int, dtype: np.dtype[Any], *, is_filled: bool = True) -> Array | None:
        """Sixteen normal numbers or more, in blocks: what is left over is drawn, if it `is_filled`, and makes the
        last sixteen anew. None where there are no loops for the dtype."""
        function = self.normals[dtype.char]
        if function is None:
            return None
        numbers = np.empty(count, dtype)
        address, size, whole = address_of(numbers), dtype.itemsize, count & ~15
        function(self._state, address, whole, 0, 0)
        if whole < count:
            if is_filled:
                uniform = self._floats if size == 4 else self._doubles
                uniform(self._state, address + size * whole, count - whole, 0, 0)
            function(self._state, address + size * (count - 16), 16, 0, 0)
        return numbers

    def integers(self, low: int, span: int, count: int) -> Array:
        """Integers of one word each: `span` of them, below 2**32, from `low` on."""
        numbers = np.empty(count, np.int64)
        self._integers(self._state, address_of(numbers), count, span, low)
        return numbers

    def wide_integers(self, low: int, span: int, count: int) -> Array:
        """Integers of two words each: `span` of them, at most 2**64, from `low` on."""
        numbers = np.empty(count, np.int64)
        self._wide(self._state, address_of(numbers), count, _signed(span), low)
        return numbers

    def permutation(self, count: int) -> Array:
        """The integers below `count`, at most 2**32, in random order."""
        order = np.arange(count)
        self._permutation(self._state, address_of(order), count, 0, 0)
        return order


def _signed(number: int) -> int:
    """The 64 lowest bits of a number as a signed one."""
    low = number & (1 << 64) - 1
    return low - (1 << 64) if low >> 63 else low
