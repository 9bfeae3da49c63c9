"""Lists of numbers as the words of native code, and back, all at once.

>>> packed_numbers(Float(), [1.0, 0.5]) == struct.pack("=2d", 1.0, 0.5)
True
>>> packed_numbers(Int(), [1, None]) is None
True
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, Final

from flambeau.codegen.graph.representation import Bool, Float, Int, Representation
from flambeau.codegen.layouts import BLOCK_DATA, LIST

NUMBERS: Final[dict[type, str]] = {Int: "q", Float: "d", Bool: "q"}
"""The word of a number as `struct` packs it."""


def packed_numbers(rep: Representation, values: Sequence[Any]) -> bytes | None:
    """The words of numbers; None for other values, and for what is not known to be a number each."""
    item = NUMBERS.get(type(rep))
    if item is None:
        return None
    try:
        return struct.pack(f"={len(values)}{item}", *values)
    except (struct.error, OverflowError):
        return None


def unpacked_numbers(rep: Representation, block: int) -> list[Any] | None:
    """The items of a list's block, if they are numbers; None for others."""
    if type(rep) not in NUMBERS:
        return None
    count = LIST.read(block, "length")
    if not count:
        return []
    kind: Any = ctypes.c_double if isinstance(rep, Float) else ctypes.c_int64
    items: list[Any] = (kind * count).from_address(LIST.read(block, "items") + BLOCK_DATA)[:]
    return [item & 1 == 1 for item in items] if isinstance(rep, Bool) else items
