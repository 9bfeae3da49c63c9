"""Which tensors native code showed to Python, with their blocks: what Python gives back may be views of them.

    rows = check_unpack(rows, 2)     the words of a list, of tensors in it; the same tensors in the result
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.containers.dict_words import entry_words
from flambeau.codegen.graph.representation import Representation, holds_blocks, word_count
from flambeau.codegen.layouts import BLOCK_DATA, LIST, WORD
from flambeau.tensor.tensor import Tensor

Shown = Sequence[tuple[Tensor, int]]
"""Tensors that native code gave to Python, with their blocks."""


def shown(reps: Sequence[Representation], address: int, values: Sequence[Any]) -> Shown:
    """The tensors among values that `read` gave, those in lists and tuples too, with their blocks."""
    tensors: list[tuple[Any, int]] = []
    offset = 0
    for rep, value in zip(reps, values, strict=True):
        size = word_count(rep)
        if holds_blocks(rep):
            tensors += _shown(rep, words_at(address + WORD * offset, size), value)
        offset += size
    return tensors


def _shown(rep: Representation, words: Iterator[int], value: Any) -> Iterator[tuple[Any, int]]:
    """The tensors in one value with their blocks; takes all words of the value."""
    match rep:
        case forms.Array():
            owner, *_ = islice(words, word_count(rep))
            if value is not None:
                yield value, owner
        case forms.Listed() | forms.Mapped():
            block = next(words)
            if value is not None:
                yield from _shown_in(rep, block, value)
        case forms.Tupled():
            parts = (None,) * len(rep.items) if value is None else value
            for part, inner in zip(parts, rep.items, strict=True):
                yield from _shown(inner, words, part)
        case forms.Optional():
            next(words)
            yield from _shown(rep.inner, words, value)
        case _:
            for _ in range(word_count(rep)):
                next(words)


def _shown_in(rep: forms.Listed | forms.Mapped, block: int, value: Any) -> Iterator[tuple[Any, int]]:
    """The tensors in a list or a dict with their blocks."""
    if isinstance(rep, forms.Listed) and holds_blocks(rep.item):
        items = item_words(rep, block)
        for item in value:
            yield from _shown(rep.item, items, item)
    elif isinstance(rep, forms.Mapped) and holds_blocks(rep.value):
        for own, item in zip(entry_words(rep, block), value.values(), strict=True):
            yield from _shown(rep.value, islice(own, word_count(rep.key), None), item)


def item_words(rep: forms.Listed, block: int) -> Iterator[int]:
    """The words of the items of a list."""
    size, first = LIST.read(block, "length"), LIST.read(block, "items") + BLOCK_DATA
    return words_at(first, size * word_count(rep.item))


def words_at(address: int, count: int) -> Iterator[int]:
    """So many words from an address on."""
    return iter((ctypes.c_int64 * count).from_address(address)[:] if count else ())
