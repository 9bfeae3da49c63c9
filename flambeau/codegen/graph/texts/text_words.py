"""Texts of native code as Python reads and writes their code points."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

from flambeau.codegen.layouts import BLOCK_DATA, TEXT, TEXT_DATA

_CODE_POINT = 4


def text_words(text: str, new_block: Callable[[int], int]) -> list[int]:
    """The words of a text, whose code points go into a block of a size that `new_block` is given."""
    count = len(text)
    block = new_block(TEXT_DATA - BLOCK_DATA + _CODE_POINT * (count + 1))
    TEXT.write(block + BLOCK_DATA, "used", count)
    TEXT.write(block + BLOCK_DATA, "room", count)
    ctypes.memmove(block + TEXT_DATA, text.encode("utf-32-le", "surrogatepass"), _CODE_POINT * count)
    return [block, block + TEXT_DATA, count]


def read_text(words: Iterator[int]) -> str:
    """The text of the next words."""
    next(words)
    data, count = next(words), next(words)
    return ctypes.string_at(data, _CODE_POINT * count).decode("utf-32-le", "surrogatepass") if count else ""
