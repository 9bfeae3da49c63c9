"""The launches of a plan as they lie in memory, but for addresses: another process takes up all of them in one go.

    cell ─ launch ─ launch ─ 0        cells, records, blocks and tables, one behind the other
             ├ inputs, outputs
             └ template ─ tables

Words that are addresses are of four kinds: within the image, of machine code, of objects that every process has
(dtypes, `float`), and of what runs pieces on threads. Of each is noted what belongs there.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen import threads
from flambeau.codegen.call_geometry import Output
from flambeau.codegen.inline_cache import InlineCache, exact_words
from flambeau.codegen.kept_codes import KeptCodes, NotKeptError, linked
from flambeau.codegen.kept_launches import KeptLaunch, KeptTable
from flambeau.codegen.launches import RELEASE_FROM
from flambeau.codegen.layouts import CELL, LAUNCH, RELEASE_GIL, WORD
from flambeau.util.record import dataclass

_WITHIN, _CODE, _OBJECT, _POOL = range(4)
"""What an address is of: the image, machine code, an object, what runs pieces."""
_NUMBERS: Final[dict[str, type]] = {"int": int, "float": float, "complex": complex, "bool": bool}
_KINDS: Final = {"array": np.ndarray, **_NUMBERS}
_OBJECTS: Final[dict[str, Any]] = {f"class {name}": kind for name, kind in _NUMBERS.items()}
Cell = tuple[int, int, int, int]
"""Of a group: the word where its cell begins, that where the launch begins that is tried last, how many launches there
are, and for how many there is room."""


@dataclass(frozen=True, slots=True)
class LaunchImage:
    """All launches of a plan."""

    words: bytes
    within: bytes
    """The words that are addresses of the image itself: their places; they say the distance from its start."""
    outside: tuple[tuple[int, Any, bytes], ...]
    """Of what all other addresses are, each with the places of words that say it."""
    cells: dict[str, Cell]
    """By name of the group."""


class _Address(int):
    """0, and what an address is of."""

    of: tuple[int, Any]

    @classmethod
    def to(cls, kind: int, what: Any) -> _Address:
        address = cls(0)
        address.of = kind, what
        return address


class ImageWriter:
    """Lays launches out."""

    def __init__(self) -> None:
        self._words = array("q")
        self._within: list[int] = []
        self._outside: dict[tuple[int, Any], list[int]] = {}
        self._cells: dict[str, Cell] = {}

    def numbers(self, values: Iterable[int]) -> _Address:
        """Put words; their address."""
        start = len(self._words)
        for value in values or (0,):
            if isinstance(value, _Address):
                self._point(len(self._words), value)
            else:
                self._words.append((value + (1 << 63)) % (1 << 64) - (1 << 63))
        return _Address.to(_WITHIN, start * WORD)

    def object(self, value: Any) -> _Address:
        """The address of a dtype, or of a class of numbers. Raises NotKeptError for another object."""
        name = value.name if isinstance(value, np.dtype) else f"class {value.__name__}"
        if _object_of(name) is not value:
            raise NotKeptError(f"other processes do not have {value!r}")
        return _Address.to(_OBJECT, name)

    def _point(self, at: int, address: _Address) -> None:
        """Put an address at the end, or in the place of a word."""
        kind, what = address.of
        number = what if kind == _WITHIN else 0
        if at == len(self._words):
            self._words.append(number)
        else:
            self._words[at] = number
        if kind == _WITHIN:
            self._within.append(at)
        else:
            self._outside.setdefault((kind, what), []).append(at)

    def add(self, name: str, most: int, launches: Sequence[KeptLaunch]) -> None:
        """Put the launches of a group, the oldest first. Raises NotKeptError for one that no other process can have."""
        following, last = _Address.to(_WITHIN, 0), 0
        for number, kept in enumerate(launches):
            words = self._launch(kept) | {"next": following if number else 0}
            following = self.numbers([words[field] for field in LAUNCH.fields])
            last = last if number else following.of[1] // WORD
        cell = [0] * CELL.words
        if launches:
            cell[0] = following
        at = self.numbers(cell).of[1] // WORD
        self._cells[name] = at, last, len(launches), most

    def _launch(self, kept: KeptLaunch) -> dict[str, int]:
        starts: list[_Address] = []
        for table in kept.tables:
            content = table.content + bytes(-len(table.content) % WORD)
            starts.append(self.numbers(array("q", content)))
        for table, start in zip(kept.tables, starts, strict=True):
            self._fill(start.of[1] // WORD, table, starts, kept.codes)
        words: list[int] = [*array("q", kept.words.content)]
        if not words:
            words = [0]
        template = self.numbers(words)
        at = template.of[1] // WORD
        self._fill(at, kept.words, starts, kept.codes)
        high, step, pieces, nanoseconds, _, _, wanted = kept.numbers
        if kept.pool_at:
            self._point(at + kept.pool_at, _Address.to(_POOL, wanted))
        looks = [(_KINDS[kind], np.dtype(name), shape, strides) for kind, name, shape, strides in kept.looks]
        outputs = [Output(o[0], np.dtype(o[1]), o[2], o[3], o[4]) for o in kept.outputs]
        return exact_words(self, looks, kept.static, outputs) | {
            "kernel": _Address.to(_CODE, (kept.codes[0], kept.symbol)), "template": template,
            "words": len(kept.words.content) // WORD, "high": high, "step": step, "pieces": pieces,
            "flags": RELEASE_GIL if nanoseconds >= RELEASE_FROM else 0,
            "pool": _Address.to(_POOL, wanted) if step else 0,
        }  # fmt: skip

    def _fill(self, start: int, table: KeptTable, starts: Sequence[_Address], codes: Sequence[int]) -> None:
        """Put addresses into the words of a table."""
        for at, number, distance in table.pointers:
            self._point(start + at, _Address.to(_WITHIN, starts[number].of[1] + distance))
        for at, number, symbol in table.functions:
            self._point(start + at, _Address.to(_CODE, (codes[number], symbol)))

    def image(self) -> LaunchImage:
        """All that was put."""
        outside = tuple([(kind, what, array("q", at).tobytes()) for (kind, what), at in self._outside.items()])
        return LaunchImage(self._words.tobytes(), array("q", self._within).tobytes(), outside, self._cells)


class LaunchMemory:
    """An image in the memory of this process."""

    def __init__(self, image: LaunchImage, codes: KeptCodes) -> None:
        """Raises NotKeptError where code is gone."""
        self._cells = image.cells
        self._codes = linked(codes)
        self._memory = (ctypes.c_int64 * (len(image.words) // WORD)).from_buffer_copy(image.words)
        self._start = ctypes.addressof(self._memory)
        words: Any = np.frombuffer(memoryview(self._memory), np.int64)
        words[np.frombuffer(image.within, np.int64)] += self._start
        for kind, what, at in image.outside:
            words[np.frombuffer(at, np.int64)] = self._address(kind, what)
        self._caches: dict[str, InlineCache] = {}

    def _address(self, kind: int, what: Any) -> int:
        if kind == _OBJECT:
            return id(_object_of(what))
        return threads.run_address(what) if kind == _POOL else self._codes[what[0]].addresses[what[1]]

    def cell(self, name: str) -> int:
        """The address of the cell of a group, which lives as long as this object."""
        return self._start + self._cells[name][0] * WORD

    def find(self, name: str) -> InlineCache | None:
        """The launches of a group; None of one that native code does not run."""
        return self.inline_cache(name) if name in self._cells else None

    def inline_cache(self, name: str) -> InlineCache:
        """The launches of a group, to which others may be added."""
        known = self._caches.get(name)
        if known is None:
            _, last, count, most = self._cells[name]
            last_launch = None
            if count:
                last_launch = (ctypes.c_int64 * LAUNCH.words).from_address(self._start + last * WORD)
            cell = (ctypes.c_int64 * CELL.words).from_address(self.cell(name))
            cache = InlineCache.of_memory(cell, last_launch, self, count, most)
            known = self._caches.setdefault(name, cache)
        return known


def _object_of(name: str) -> Any:
    """A class of numbers, or a dtype, by name."""
    return _OBJECTS[name] if name in _OBJECTS else np.dtype(name)
