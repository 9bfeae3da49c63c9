"""Lists of numbers, and of objects that only numbers are in, as arguments: packed at once, since all items look alike.

    [Point(1.0, 2), Point(0.5, 3)]      header  1.0  2      one row for each object, however often it is in the list
                                        header  0.5  3
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any

from flambeau.codegen.graph.containers.number_lists import packed_numbers
from flambeau.codegen.graph.entry.python_blocks import new_list
from flambeau.codegen.graph.objects.object_arguments import HEADER, NotNativeError, Record
from flambeau.codegen.graph.representation import Bool, Float, Int, Representation
from flambeau.codegen.layouts import FOREVER, WORD
from flambeau.program import instances

CLASSES: dict[type[Representation], type] = {Int: int, Float: float, Bool: bool}
"""The class of a number's values, exactly."""


def list_of_numbers(context: int, item: Representation, values: list[Any]) -> int:
    """The block of a list of numbers. Raises `NotNativeError` for other values."""
    if type(values) is not list:
        raise NotNativeError
    numbers = values.copy()  # another thread may change it
    packed = packed_numbers(item, numbers) if {CLASSES[type(item)]}.issuperset(map(type, numbers)) else None
    if packed is None:
        raise NotNativeError
    return _block(context, packed, len(numbers))


def _block(context: int, packed: bytes, count: int) -> int:
    return new_list(context, packed, count, 1, FOREVER)


class ObjectRows:
    """The objects in a list that the call had not met before, a row of words for each."""

    def __init__(self, record: Record, items: list[Any], blocks: dict[int, int]) -> None:
        """`blocks`: by the identities of the call's objects so far their blocks; these are added. Raises
        `NotNativeError` for other items than objects of the class with numbers in them.
        """
        first = {id(one): one for one in items if id(one) not in blocks}
        self._record = record
        self._objects = list(first.values())
        self._format = f"={record.packed.format.lstrip('=') * len(first)}"
        self._before = self._packed()
        self._memory = bytearray(self._before)
        self._exported = ctypes.c_char.from_buffer(self._memory) if first else None
        blocks.update(zip(first, self._addresses, strict=True))

    def _packed(self) -> bytes:
        try:
            rows = list(map(self._record.values_of, self._objects))
            for column, (_, rep, _, _) in zip(zip(*rows, strict=True), self._record.fields, strict=False):
                if not {CLASSES[type(rep)]}.issuperset(map(type, column)):
                    raise NotNativeError
            return struct.pack(self._format, *chain.from_iterable(chain.from_iterable(zip(repeat(HEADER), rows))))
        except (AttributeError, struct.error):
            raise NotNativeError from None

    @property
    def _addresses(self) -> Sequence[int]:
        if self._exported is None:
            return ()
        start = ctypes.addressof(self._exported)
        return range(start, start + len(self._memory), self._record.packed.size)

    @property
    def known(self) -> Iterator[tuple[int, Any]]:
        """The objects with their blocks."""
        return zip(self._addresses, self._objects, strict=True)

    def write_back(self) -> None:
        """Assign the attributes whose words are others than before."""
        if self._memory == self._before:
            return
        fields = [(instances.writer(name), isinstance(rep, Bool)) for name, rep, _, _ in self._record.fields]
        bits = f"={len(self._before) // WORD}q"
        old, new = struct.unpack(bits, self._before), struct.unpack(bits, self._memory)
        values = struct.unpack(self._format, self._memory)
        width = len(HEADER) + len(fields)
        for index in [k for k, (word, now) in enumerate(zip(old, new, strict=True)) if word != now]:
            row, column = divmod(index, width)
            if column >= len(HEADER):
                write, is_bool = fields[column - len(HEADER)]
                write(self._objects[row], values[index] & 1 == 1 if is_bool else values[index])


def list_of_objects(
    context: int, record: Record, items: list[Any], blocks: dict[int, int], rows: list[ObjectRows]
) -> int:
    """The block of a list of objects, whose rows are added to those of the call. Raises `NotNativeError`."""
    if type(items) is not list:
        raise NotNativeError
    objects = items.copy()  # another thread may change it
    if not {record.python}.issuperset(map(type, objects)):
        raise NotNativeError
    rows.append(ObjectRows(record, objects, blocks))
    words = [blocks[id(one)] for one in objects]
    return _block(context, struct.pack(f"={len(words)}q", *words), len(words))


def known_objects(blocks: Sequence[int], objects: Sequence[Any], rows: Sequence[ObjectRows]) -> dict[int, Any]:
    """The objects of a call by their blocks."""
    known = dict(zip(blocks, objects, strict=True))
    for one in rows:
        known.update(one.known)
    return known
