"""Object code as LLVM writes it: the sections, symbols and relocations of a 64-bit ELF file for x86-64."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from flambeau.util.record import dataclass, field

_SYMBOL: Final = struct.Struct("<IBBHQQ")
_ADDEND: Final = struct.Struct("<QQq")

WRITABLE, _ALLOCATED, CODE, _THREAD_LOCAL = 1, 2, 4, 0x400
BITS, _SYMBOLS, _ADDENDS, _NO_BITS, _UNWINDING = 1, 2, 4, 8, 0x70000001
UNDEFINED, RESERVED, _INDIRECT = 0, 0xFF00, 10


class NotLinkedError(Exception):
    """An object has something in it that this linker does not know."""


@dataclass(slots=True)
class Section:
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    image_offset: int | None = None
    """Where it comes to be, from the start of the memory; None for what is not needed there."""


class Symbol(NamedTuple):
    name: str
    section: int
    value: int


class Relocation(NamedTuple):
    section: Section
    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(slots=True)
class Object:
    sections: list[Section]
    symbols: list[Symbol] = field(default_factory=list)
    relocations: list[Relocation] = field(default_factory=list)


def read_object(content: bytes) -> Object:
    """What is in an object file. Raises NotLinkedError for another format, and for what this linker does not know."""
    if content[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<HH", content, 16) != (1, 62):
        raise NotLinkedError("this is no relocatable object for x86-64")
    (start,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    sections = []
    for k in range(count):
        _, kind, flags, _, at, length, link, info, alignment, _ = struct.unpack_from(
            "<IIQQQQIIQQ", content, start + k * size
        )
        sections.append(Section(kind, flags, at, length, link, info, alignment))
    source = Object(sections)
    for s in sections:
        is_needed = s.flags & _ALLOCATED and s.kind != _UNWINDING
        if is_needed and (s.kind not in (BITS, _NO_BITS) or s.flags & _THREAD_LOCAL):
            raise NotLinkedError(f"a section of type {s.kind} with flags {s.flags}")
        s.image_offset = 0 if is_needed else None
        if s.kind == _SYMBOLS:
            source.symbols = _symbols(content, s, sections[s.link])
    for s in sections:
        if s.kind == _ADDENDS and sections[s.info].image_offset is not None:
            section = sections[s.info]
            source.relocations += [
                Relocation(section, offset, info & 0xFFFFFFFF, info >> 32, addend)
                for offset, info, addend in _ADDEND.iter_unpack(content[s.offset : s.offset + s.size])
            ]
    return source


def _symbols(content: bytes, table: Section, names: Section) -> list[Symbol]:
    symbols = []
    for name, info, _, section, value, _ in _SYMBOL.iter_unpack(content[table.offset : table.offset + table.size]):
        begin = names.offset + name
        text = content[begin : content.index(b"\0", begin)].decode()
        if info & 15 == _INDIRECT:
            raise NotLinkedError(f"symbol {text} is found by running code")
        symbols.append(Symbol(text, section, value))
    return symbols
