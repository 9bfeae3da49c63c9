"""Dicts and sets of native code as Python reads and writes their words: see `dict_tables` for what they look like."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.representation import Mapped, Representation, word_count
from flambeau.codegen.layouts import BLOCK_DATA, DICT, LIST


def entry_words(rep: Mapped, block: int) -> Iterator[Iterator[int]]:
    """The words of key and value of each entry, in order, without those that were taken out."""
    width = word_count(rep.entry)
    words = _words(block, width)
    for start in range(0, len(words), width):
        if words[start]:
            yield iter(words[start + 1 : start + width])


def _words(block: int, width: int) -> list[int]:
    count = LIST.read(block, "length") * width
    return (ctypes.c_int64 * count).from_address(LIST.read(block, "items") + BLOCK_DATA)[:] if count else []


def plain_dict(rep: Mapped, block: int) -> dict[Any, Any] | set[Any] | None:
    """The whole dict, or set, where it is one of numbers, column by column; None for another."""
    width = word_count(rep.entry)
    if not _is_plain(rep.key) or not (rep.is_set or _is_plain(rep.value)):
        return None
    table = np.array(_words(block, width), np.int64).reshape(-1, width)
    table = table[table[:, 0] != 0]
    keys = _column(rep.key, table, 1)
    if rep.is_set:
        return set(keys)
    return dict(zip(keys, _column(rep.value, table, 1 + word_count(rep.key)), strict=True))


def _is_plain(rep: Representation) -> bool:
    match rep:
        case forms.Int() | forms.Float() | forms.Bool():
            return True
        case forms.Tupled():
            return rep.names is None and not rep.is_list and rep.keys is None and all(map(_is_plain, rep.items))
        case _:
            return False


def _column(rep: Representation, table: np.ndarray[Any, Any], word: int) -> list[Any]:
    """The values of one part of all entries, whose words begin at `word`."""
    if isinstance(rep, forms.Tupled):
        columns = []
        for item in rep.items:
            columns.append(_column(item, table, word))
            word += word_count(item)
        return list(zip(*columns, strict=True)) if columns else [()] * len(table)
    words = np.ascontiguousarray(table[:, word])
    if isinstance(rep, forms.Float):
        words = words.view(np.float64)
    elif isinstance(rep, forms.Bool):
        words = words != 0
    values: list[Any] = words.tolist()
    return values


def fill_dict(block: int, items: int, entries: int, capacity: int) -> None:
    """Write the fields of a dict with entries, but without a table: that is made when a key is looked for."""
    fields = {"length": entries, "capacity": capacity, "items": items, "live": entries}
    for name in ("length", "capacity", "items", "table", "bits", "live", "filled"):
        DICT.write(block, name, fields.get(name, 0))
