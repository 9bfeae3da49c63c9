"""Object code to memory that can be executed, without LLVM: a linker for what LLVM makes of our text.

It knows 64-bit ELF for x86-64 with the few relocations of position-independent code, and refuses anything else, which
LLVM's own linker then does. A process whose code is all in the cache does not load LLVM at all.

    code, stubs | constants, table | variables     each on pages of its own: executable, read-only, writable

A function elsewhere is out of reach of a call: it gets a stub that jumps to it. The table holds addresses that code
loads.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from flambeau.codegen.llvm.object_file import (
    BITS,
    CODE,
    RESERVED,
    UNDEFINED,
    WRITABLE,
    NotLinkedError,
    Object,
    Relocation,
    Symbol,
    read_object,
)
from flambeau.util.record import dataclass, field

Find = Callable[[str], int | None]
"""The address of a symbol that an object does not define."""

_ABSOLUTE, _RELATIVE, _CALL, _FROM_TABLE = 1, 2, 4, (9, 41, 42)
_STUB = b"\xff\x25\x00\x00\x00\x00"
"""A jump to the address in the next eight bytes."""
_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE_ANONYMOUS = 0x22


@dataclass(slots=True, weakref_slot=True)
class Image:
    """Code in memory, which is freed with this object."""

    addresses: dict[str, int]
    """Where each symbol that was asked for starts."""
    of_objects: list[dict[str, int]] = field(default_factory=list)
    """The same addresses, object by object."""


def is_supported() -> bool:
    """Whether this linker can be of use on this machine."""
    return sys.platform.startswith("linux") and platform.machine() == "x86_64" and sys.maxsize > 1 << 32


def link(content: bytes, exports: tuple[str, ...], find: Find) -> Image:
    """Put an object into memory. Raises NotLinkedError where something in it is not understood."""
    return load(prelinked([content]), [exports], [find])


@dataclass(frozen=True, slots=True)
class Prelinked:
    """Objects arranged as they will lie in memory, but for addresses, which are of one process."""

    content: bytes
    parts: tuple[tuple[int, int, int], ...]
    """Start, size and protection of each."""
    inner: tuple[tuple[int, int], ...]
    """Words that are addresses of the memory itself: their places, and the distance from its start."""
    outer: tuple[tuple[int, int, str, int], ...]
    """Words that are addresses elsewhere: their places, the object that asks, the symbol, and what is added."""
    symbols: tuple[dict[str, int], ...]
    """Where what each object defines starts."""


def prelinked(contents: Sequence[bytes]) -> Prelinked:
    """All of linking that needs no address. Raises NotLinkedError where something in an object is not understood."""
    sources = [read_object(content) for content in contents]
    layout = _arrange(sources)
    memory = bytearray(layout.size)
    inner: list[tuple[int, int]] = []
    outer: list[tuple[int, int, str, int]] = []

    def put(image_offset: int, number: int, symbol: int, addend: int) -> None:
        known = sources[number].symbols[symbol]
        if known.section == UNDEFINED:
            outer.append((image_offset, number, known.name, addend))
        else:
            inner.append((image_offset, _offset(sources[number], symbol) + addend))

    for content, source in zip(contents, sources, strict=True):
        _put_sections(memory, content, source)
    for (number, symbol), image_offset in layout.stubs.items():
        struct.pack_into("<6s", memory, image_offset, _STUB)
        put(image_offset + len(_STUB), number, symbol, 0)
    for (number, symbol), image_offset in layout.table.items():
        put(image_offset, number, symbol, 0)
    for number, source in enumerate(sources):
        for r in source.relocations:
            assert r.section.image_offset is not None
            if r.kind == _ABSOLUTE:
                put(r.section.image_offset + r.offset, number, r.symbol, r.addend)
            else:
                _relocate(memory, r, layout, source, number)
    return Prelinked(bytes(memory), tuple(layout.parts), tuple(inner), tuple(outer), tuple(map(_defined, sources)))


def _put_sections(memory: bytearray, content: bytes, source: Object) -> None:
    """Copy what an object has for memory to its places."""
    for s in source.sections:
        if s.image_offset is not None and s.kind == BITS:
            memory[s.image_offset : s.image_offset + s.size] = content[s.offset : s.offset + s.size]


def _defined(source: Object) -> dict[str, int]:
    """Where what an object defines starts."""
    return {s.name: _offset(source, k) for k, s in enumerate(source.symbols) if s.name and _is_there(source, s)}


def load(linked: Prelinked, exports: Sequence[tuple[str, ...]], finds: Sequence[Find]) -> Image:
    """Put objects into memory; of each, what it exports is noted, in order, and `finds` gives addresses elsewhere.

    Raises NotLinkedError for a symbol that nobody defines.
    """
    words = {at: _found(name, finds[number]) + addend for at, number, name, addend in linked.outer}
    for number, names in enumerate(exports):
        for name in names:
            if name not in linked.symbols[number]:
                raise NotLinkedError(f"there is no symbol {name}")
    size = len(linked.content)
    if not all(0 <= at <= size - 8 for at in (*words, *(at for at, _ in linked.inner))):
        raise NotLinkedError("a word lies outside of the memory")
    base = _allocate(size)
    image = Image({})
    # When the process ends, code may still be running in threads, and destructors are still to come.
    weakref.finalize(image, _c().munmap, base, size).atexit = False
    ctypes.memmove(base, linked.content, size)
    for at, distance in linked.inner:
        words[at] = base + distance
    for at, value in words.items():
        ctypes.c_uint64.from_address(base + at).value = value & (1 << 64) - 1
    for start, length, protection in linked.parts:
        if length and _c().mprotect(base + start, length, protection):
            raise NotLinkedError("the system does not let memory be executed")
    for number, names in enumerate(exports):
        own = {name: base + linked.symbols[number][name] for name in names}
        image.of_objects.append(own)
        image.addresses.update(own)
    return image


def _found(name: str, find: Find) -> int:
    address = find(name)
    if address is None:
        raise NotLinkedError(f"symbol {name} is not defined")
    return address


# -- arranging --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Layout:
    size: int
    parts: list[tuple[int, int, int]]
    """Start, size and protection of each."""
    stubs: dict[tuple[int, int], int]
    """Places by the number of the object, and of the symbol in it."""
    table: dict[tuple[int, int], int]


def _arrange(sources: Sequence[Object]) -> _Layout:
    """Give each section its offset in the image."""
    stubs: dict[tuple[int, int], int] = {}
    table: dict[tuple[int, int], int] = {}
    sections = [s for source in sources for s in source.sections if s.image_offset is not None]
    for number, source in enumerate(sources):
        for r in source.relocations:
            if r.kind == _CALL and source.symbols[r.symbol].section == UNDEFINED:
                stubs[number, r.symbol] = 0
            elif r.kind in _FROM_TABLE:
                table[number, r.symbol] = 0
    parts: list[tuple[int, int, int]] = []
    at = 0
    for wanted, protection, more, step in (
        (CODE, _READ | _EXECUTE, stubs, 16),
        (0, _READ, table, 8),
        (WRITABLE, _READ | _WRITE, {}, 1),
    ):
        start = at
        for s in sections:
            if s.flags & (CODE | WRITABLE) == wanted:
                s.image_offset = at = _up(at, s.alignment)
                at += s.size
        at = _up(at, 16)
        for symbol in more:
            more[symbol] = at
            at += step
        at = _up(at, mmap.PAGESIZE)
        parts.append((start, at - start, protection))
    if any(s.flags & CODE and s.flags & WRITABLE for s in sections):
        raise NotLinkedError("a section of code that writes itself")
    return _Layout(max(at, mmap.PAGESIZE), parts, stubs, table)


def _up(at: int, step: int) -> int:
    step = max(step, 1)
    return -(-at // step) * step


# -- linking ----------------------------------------------------------------------------------------------------------


def _is_there(source: Object, symbol: Symbol) -> bool:
    """Whether an object defines a symbol in what is put into memory."""
    return 0 < symbol.section < RESERVED and source.sections[symbol.section].image_offset is not None


def _offset(source: Object, number: int) -> int:
    """Where a symbol starts that the object defines."""
    symbol = source.symbols[number]
    image_offset = None if symbol.section >= RESERVED else source.sections[symbol.section].image_offset
    if image_offset is None:
        raise NotLinkedError(f"symbol {symbol.name} is in section {symbol.section}")
    return image_offset + symbol.value


def _relocate(memory: bytearray, r: Relocation, layout: _Layout, source: Object, number: int) -> None:
    """Write a distance within the memory."""
    assert r.section.image_offset is not None
    image_offset = r.section.image_offset + r.offset
    if r.kind in _FROM_TABLE:
        target = layout.table[number, r.symbol]
    elif r.kind == _CALL and (number, r.symbol) in layout.stubs:
        target = layout.stubs[number, r.symbol]
    elif r.kind in (_CALL, _RELATIVE):
        if source.symbols[r.symbol].section == UNDEFINED:
            raise NotLinkedError("a symbol is out of reach")
        target = _offset(source, r.symbol)
    else:
        raise NotLinkedError(f"a relocation of type {r.kind}")
    distance = target + r.addend - image_offset
    if not -(1 << 31) <= distance < 1 << 31:
        raise NotLinkedError("a symbol is out of reach")
    struct.pack_into("<i", memory, image_offset, distance)


@cache
def _c() -> Any:
    library = ctypes.CDLL(None)
    address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.restype = address
    library.mmap.argtypes = (address, size, number, number, number, ctypes.c_long)
    library.mprotect.argtypes = (address, size, number)
    library.munmap.argtypes = (address, size)
    return library


def _allocate(size: int) -> int:
    external = _c().mmap(None, size, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if external is None or external == ctypes.c_void_p(-1).value:
        raise MemoryError(f"no memory for {size} bytes of code")
    address: int = external
    return address
