"""Blocks that Python makes for native code, in the ring of a call, and their words."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, Final

from flambeau.codegen.graph.containers.dict_tables import FEW
from flambeau.codegen.graph.containers.dict_words import fill_dict
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, BLOCK_PADDING, CONTEXT, DICT, LIST, WORD

_allocate: Final[Any] = ctypes.pythonapi["PyMem_RawMalloc"]  # function objects of their own, with these types
_allocate.restype, _allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
_deallocate: Final[Any] = ctypes.pythonapi["PyMem_RawFree"]
_deallocate.restype, _deallocate.argtypes = None, [ctypes.c_void_p]
_WORDS: Final = struct.Struct("=6q")
"""Of a block from the one before its address on: raw, references, previous, next, origin, bin."""

_NEXT, _PREVIOUS, _LENGTH = BLOCK.offset("next"), BLOCK.offset("previous"), LIST.offset("length")
_OF_LIST: Final = struct.Struct("=3q")
"""What a list has behind these: length, capacity, items."""


def word(address: int, index: int) -> int:
    """The word with an index, counted from an address."""
    return ctypes.c_int64.from_address(address + 8 * index).value


def set_word(address: int, index: int, value: int) -> None:
    """Write a word."""
    ctypes.c_int64.from_address(address + 8 * index).value = value


def new_block(context: int, size: int, references: int = 1) -> int:
    """A block of native memory in the ring of a call. Raises MemoryError."""
    raw = _allocate(size + BLOCK_PADDING)
    if not raw:
        raise MemoryError("a tensor of the program did not fit into memory")
    block = (raw + 71) & -64
    next_of_context = ctypes.c_int64.from_address(context + _NEXT)
    first = next_of_context.value
    ctypes.memmove(block - WORD, _WORDS.pack(raw, references, context, first, 0, 0), _WORDS.size)
    ctypes.c_int64.from_address(first + _PREVIOUS).value = next_of_context.value = block
    return int(block)


def new_list(context: int, words: Sequence[int] | bytes, length: int, width: int, references: int = 1) -> int:
    """A list of items of ``width`` words each, these words, in the ring of a call."""
    capacity = max(4, length)
    room, new = new_block(context, WORD * width * capacity), new_block(context, 0, references)
    if words:
        packed = words if isinstance(words, bytes) else bytes((ctypes.c_int64 * len(words))(*words))
        ctypes.memmove(room + BLOCK_DATA, packed, len(packed))
    ctypes.memmove(new + _LENGTH, _OF_LIST.pack(length, capacity, room), _OF_LIST.size)
    return new


def new_dict(context: int, words: Sequence[int], entries: int, width: int) -> int:
    """A dict of entries of ``width`` words each, these words, in the ring of a call."""
    capacity = max(FEW, entries)
    items, block = new_block(context, 8 * width * capacity), new_block(context, 8 * (DICT.words - LIST.words))
    if words:
        ctypes.memmove(items + BLOCK_DATA, (ctypes.c_int64 * len(words))(*words), 8 * len(words))
    fill_dict(block, items, entries, capacity)
    return block


def drop_block(block: int) -> None:
    """Take a block out of its ring, and free it."""
    _free(_unlink(block))


def _unlink(block: int) -> int:
    """Take a block out of its ring; what to free."""
    previous, following = BLOCK.read(block, "previous"), BLOCK.read(block, "next")
    BLOCK.write(previous, "next", following)
    BLOCK.write(following, "previous", previous)
    return BLOCK.read(block, "raw")


def _free(raw: int) -> None:
    _deallocate(raw)


def free_ring(context: int) -> None:
    """Free all blocks that are left of a call."""
    block = CONTEXT.read(context, "next")
    while block != context:
        raw, _, _, following, _, _ = _WORDS.unpack(ctypes.string_at(block - WORD, _WORDS.size))
        _free(raw)
        block = following
    CONTEXT.write(context, "next", context)
    CONTEXT.write(context, "previous", context)
