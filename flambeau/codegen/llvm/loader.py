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
from collections.abc import Callable
from functools import cache
from typing import Any

from flambeau.util.record import dataclass, field

Find = Callable[[str], int | None]
"""The address of a symbol that an object does not define."""

_WRITABLE, _ALLOCATED, _CODE, _THREAD_LOCAL = 1, 2, 4, 0x400
_BITS, _SYMBOLS, _ADDENDS, _NO_BITS, _UNWINDING = 1, 2, 4, 8, 0x70000001
_UNDEFINED, _RESERVED, _INDIRECT = 0, 0xFF00, 10
_ABSOLUTE, _RELATIVE, _CALL, _FROM_TABLE = 1, 2, 4, (9, 41, 42)
_STUB = b"\xff\x25\x00\x00\x00\x00"
"""A jump to the address in the next eight bytes."""
_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE_ANONYMOUS = 0x22


class NotLinkedError(Exception):
    """An object has something in it that this linker does not know."""


@dataclass(slots=True, weakref_slot=True)
class Image:
    """Code in memory, which is freed with this object."""

    addresses: dict[str, int]
    """Where each symbol that was asked for starts."""


def is_supported() -> bool:
    """Whether this linker can be of use on this machine."""
    return sys.platform.startswith("linux") and platform.machine() == "x86_64" and sys.maxsize > 1 << 32


def link(content: bytes, exports: tuple[str, ...], find: Find) -> Image:
    """Put an object into memory. Raises NotLinkedError where something in it is not understood."""
    source = _read(content)
    layout = _arrange(source)
    base = _allocate(layout.size)
    image = Image({})
    # When the process ends, code may still be running in threads, and destructors are still to come.
    weakref.finalize(image, _c().munmap, base, layout.size).atexit = False
    memory = bytearray(layout.size)
    for s in source.sections:
        if s.place is not None and s.kind == _BITS:
            memory[s.place : s.place + s.size] = content[s.offset : s.offset + s.size]
    addresses = {k: _address(source, k, base, find) for k in {r.symbol for r in source.relocations}}
    for symbol, place in layout.stubs.items():
        struct.pack_into("<6sQ", memory, place, _STUB, addresses[symbol])
    for symbol, place in layout.table.items():
        struct.pack_into("<Q", memory, place, addresses[symbol])
    for r in source.relocations:
        _relocate(memory, base, r, layout, addresses[r.symbol])
    ctypes.memmove(base, bytes(memory), layout.size)
    for start, size, protection in layout.parts:
        if size and _c().mprotect(base + start, size, protection):
            raise NotLinkedError("the system does not let memory be executed")
    wanted = {s.name: k for k, s in enumerate(source.symbols) if s.section != _UNDEFINED}
    for name in exports:
        if name not in wanted:
            raise NotLinkedError(f"there is no symbol {name}")
        image.addresses[name] = _address(source, wanted[name], base, find)
    return image


# -- reading ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Section:
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    place: int | None = None
    """Where it comes to be, from the start of the memory; None for what is not needed there."""


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    section: int
    value: int


@dataclass(frozen=True, slots=True)
class _Relocation:
    section: _Section
    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(slots=True)
class _Object:
    sections: list[_Section]
    symbols: list[_Symbol] = field(default_factory=list)
    relocations: list[_Relocation] = field(default_factory=list)


def _read(content: bytes) -> _Object:
    if content[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<HH", content, 16) != (1, 62):
        raise NotLinkedError("this is no relocatable object for x86-64")
    (start,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    sections = []
    for k in range(count):
        _, kind, flags, _, at, length, link, info, alignment, _ = struct.unpack_from(
            "<IIQQQQIIQQ", content, start + k * size
        )
        sections.append(_Section(kind, flags, at, length, link, info, alignment))
    source = _Object(sections)
    for s in sections:
        is_needed = s.flags & _ALLOCATED and s.kind != _UNWINDING
        if is_needed and (s.kind not in (_BITS, _NO_BITS) or s.flags & _THREAD_LOCAL):
            raise NotLinkedError(f"a section of type {s.kind} with flags {s.flags}")
        s.place = 0 if is_needed else None
        if s.kind == _SYMBOLS:
            source.symbols = _symbols(content, s, sections[s.link])
    for s in sections:
        if s.kind == _ADDENDS and sections[s.info].place is not None:
            for at in range(s.offset, s.offset + s.size, 24):
                offset, info, addend = struct.unpack_from("<QQq", content, at)
                relocation = _Relocation(sections[s.info], offset, info & 0xFFFFFFFF, info >> 32, addend)
                source.relocations.append(relocation)
    return source


def _symbols(content: bytes, table: _Section, names: _Section) -> list[_Symbol]:
    symbols = []
    for at in range(table.offset, table.offset + table.size, 24):
        name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", content, at)
        begin = names.offset + name
        text = content[begin : content.index(b"\0", begin)].decode()
        if info & 15 == _INDIRECT:
            raise NotLinkedError(f"symbol {text} is found by running code")
        symbols.append(_Symbol(text, section, value))
    return symbols


# -- arranging --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Layout:
    size: int
    parts: list[tuple[int, int, int]]
    """Start, size and protection of each."""
    stubs: dict[int, int]
    """Places by symbol."""
    table: dict[int, int]


def _arrange(source: _Object) -> _Layout:
    """Give each section its place."""
    stubs: dict[int, int] = {}
    table: dict[int, int] = {}
    for r in source.relocations:
        if r.kind == _CALL and source.symbols[r.symbol].section == _UNDEFINED:
            stubs[r.symbol] = 0
        elif r.kind in _FROM_TABLE:
            table[r.symbol] = 0
    parts: list[tuple[int, int, int]] = []
    at = 0
    for wanted, protection, more, step in (
        (_CODE, _READ | _EXECUTE, stubs, 16),
        (0, _READ, table, 8),
        (_WRITABLE, _READ | _WRITE, {}, 1),
    ):
        start = at
        for s in source.sections:
            if s.place is not None and s.flags & (_CODE | _WRITABLE) == wanted:
                s.place = at = _up(at, s.alignment)
                at += s.size
        at = _up(at, 16)
        for symbol in more:
            more[symbol] = at
            at += step
        at = _up(at, mmap.PAGESIZE)
        parts.append((start, at - start, protection))
    if any(s.place is not None and s.flags & _CODE and s.flags & _WRITABLE for s in source.sections):
        raise NotLinkedError("a section of code that writes itself")
    return _Layout(max(at, mmap.PAGESIZE), parts, stubs, table)


def _up(at: int, step: int) -> int:
    step = max(step, 1)
    return -(-at // step) * step


# -- linking ----------------------------------------------------------------------------------------------------------


def _address(source: _Object, number: int, base: int, find: Find) -> int:
    symbol = source.symbols[number]
    if symbol.section == _UNDEFINED:
        external = find(symbol.name)
        if external is None:
            raise NotLinkedError(f"symbol {symbol.name} is not defined")
        return external
    place = None if symbol.section >= _RESERVED else source.sections[symbol.section].place
    if place is None:
        raise NotLinkedError(f"symbol {symbol.name} is in section {symbol.section}")
    return base + place + symbol.value


def _relocate(memory: bytearray, base: int, r: _Relocation, layout: _Layout, target: int) -> None:
    assert r.section.place is not None
    place = r.section.place + r.offset
    if r.kind == _ABSOLUTE:
        struct.pack_into("<Q", memory, place, (target + r.addend) & (1 << 64) - 1)
        return
    if r.kind in _FROM_TABLE:
        target = base + layout.table[r.symbol]
    elif r.kind == _CALL:
        target = base + layout.stubs[r.symbol] if r.symbol in layout.stubs else target
    elif r.kind != _RELATIVE:
        raise NotLinkedError(f"a relocation of type {r.kind}")
    distance = target + r.addend - base - place
    if not -(1 << 31) <= distance < 1 << 31:
        raise NotLinkedError("a symbol is out of reach")
    struct.pack_into("<i", memory, place, distance)


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
