"""The inner loops of NumPy's universal functions: C functions that native code may call.

The structure of a universal function is part of NumPy's interface for C. Where it does not look so in several of
them, there are no loops.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Final

import numpy as np

from flambeau.util.native_type import HEAD, is_supported, word
from flambeau.util.record import dataclass

_COUNTS, _FUNCTIONS, _DATA, _NUMBER, _NAME, _TYPES = HEAD, HEAD + 16, HEAD + 24, HEAD + 32, HEAD + 40, HEAD + 48
"""Offsets: three ints, which say how many inputs, outputs and operands there are; tables of functions and of what they
are given; how many loops there are; the name; the numbers of the operands' types, loop by loop."""
_PROBES: Final = (np.add, np.exp, np.less, np.logical_not, np.divide)


@dataclass(frozen=True, slots=True)
class Loop:
    """A function ``void (ptr addresses, ptr count, ptr steps, ptr data)``."""

    function: int
    data: int


@functools.cache
def has_loops() -> bool:
    """Whether universal functions look as expected."""
    return is_supported() and all(map(_agrees, _PROBES))


def _agrees(function: np.ufunc) -> bool:
    counts = tuple((ctypes.c_int * 3).from_address(id(function) + _COUNTS))
    if counts != (function.nin, function.nout, function.nargs):
        return False
    if ctypes.c_int.from_address(id(function) + _NUMBER).value != function.ntypes:
        return False
    if ctypes.string_at(word(id(function) + _NAME)) != function.__name__.encode():
        return False
    numbers = (ctypes.c_byte * (function.nargs * function.ntypes)).from_address(word(id(function) + _TYPES))
    letters = [text.replace("->", "") for text in function.types]
    expected = [np.dtype(letter).num for text in letters for letter in text]
    return list(numbers) == expected


def loop_of(function: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> Loop | None:
    """The loop for operands of exactly these types, inputs before outputs; None where there is none of this kind."""
    if not has_loops() or len(dtypes) != function.nargs:
        return None
    wanted = "".join(d.char for d in dtypes)
    for index, text in enumerate(function.types):
        if text.replace("->", "") == wanted:
            address = word(word(id(function) + _FUNCTIONS) + 8 * index)
            data = word(id(function) + _DATA)
            return Loop(address, word(data + 8 * index) if data else 0) if address else None
    return None
