"""The container of archives: a ZIP file with one top directory, written from front to back.

Every record's bytes begin at a multiple of 64, so that readers can map them. Local headers say nothing of sizes, which
follow the bytes in a descriptor; dates are left out. The ZIP64 records at the end are always there.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from struct import pack

from flambeau.serialize.archive_format import ALIGNMENT, BYTE_ORDER, SERIALIZATION_ID, VERSION_RECORDS
from flambeau.util.record import dataclass

Bytes = bytes | bytearray | memoryview
Sink = Callable[[Bytes], object]
"""Takes the next bytes of the file."""

LIMIT = 0xFFFFFFFF
"""Sizes and places from here on have no room in the fields of plain ZIP."""
_ELSEWHERE = 0xFFFFFFFF
"""What stands in such a field."""
_FLAGS = 0x0808
"""A descriptor follows the bytes; names are UTF-8."""
_STORED, _DEFLATED = 0, 8
_FIRST_SEPARATE_VERSION = 6
"""Formats from here on are written where readers look first."""
TAKEN = "record '{name}' was written already"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A record that was written."""

    name: bytes
    crc: int
    packed: int
    size: int
    method: int
    at: int
    """Where its local header is."""

    @property
    def is_large(self) -> bool:
        return max(self.packed, self.size) >= LIMIT


class ContainerWriter:
    """Writes records to a sink.

    >>> found = bytearray()
    >>> writer = ContainerWriter(found.extend, "archive")
    >>> writer.write("extra/note", b"hello")
    >>> writer.finish()
    >>> found.index(b"hello") % 64
    0
    """

    def __init__(self, sink: Sink, folder: str) -> None:
        self._sink = sink
        self.folder = folder
        """The top directory."""
        self._at = 0
        self._entries: dict[str, _Entry] = {}

    @property
    def names(self) -> list[str]:
        """The records written so far, without the top directory."""
        return list(self._entries)

    def write(self, name: str, data: Bytes, *, deflated: bool = False) -> None:
        """Write a record. Raises RuntimeError for a name that is there already."""
        if name in self._entries:
            raise RuntimeError(TAKEN.format(name=name))
        data = memoryview(data).cast("B") if memoryview(data).nbytes else b""
        crc = zlib.crc32(data)
        packed: Bytes = _deflate(data) if deflated else data
        path = f"{self.folder}/{name}".encode()
        entry = _Entry(path, crc, len(packed), len(data), _DEFLATED if deflated else _STORED, self._at)
        self._put(_local_header(entry))
        self._put(packed)
        self._put(_descriptor(entry))
        self._entries[name] = entry

    def finish(self, version: int | None = None) -> None:
        """Write what says how to read the records, and the directory of all. `version` is the format's number."""
        if version is not None and not any(n in self._entries for n in VERSION_RECORDS):
            separate, plain = VERSION_RECORDS
            self.write(separate if version >= _FIRST_SEPARATE_VERSION else plain, f"{version}\n".encode())
        if version is not None and BYTE_ORDER not in self._entries:
            self.write(BYTE_ORDER, b"little")
        if version is not None and SERIALIZATION_ID not in self._entries:
            self.write(SERIALIZATION_ID, self.serialization_id().encode())
        start = self._at
        for entry in self._entries.values():
            self._put(_directory_entry(entry))
        self._put(_end(len(self._entries), start, self._at - start))

    def serialization_id(self) -> str:
        """Forty digits that tell one archive from another: what the records are called, and what is in them."""
        names = "\0".join(self._entries)
        sums = b"".join(pack("<I", e.crc) for e in self._entries.values())
        return "".join(
            f"{int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), 'little'):020d}"
            for text in (names.encode(), sums)
        )

    def _put(self, data: Bytes) -> None:
        self._sink(data)
        self._at += len(data)


def _field(value: int) -> int:
    return value if value < LIMIT else _ELSEWHERE


def _deflate(data: Bytes) -> bytes:
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _needed_version(entry: _Entry) -> int:
    return 45 if entry.is_large or entry.at >= LIMIT else 20 if entry.method == _DEFLATED else 0


def _local_header(entry: _Entry) -> bytes:
    """Header, name and padding, after which the bytes of the record begin."""
    extra = pack("<HHQQ", 1, 16, 0, 0) if entry.is_large else b""
    unpadded = entry.at + 30 + len(entry.name) + len(extra) + 4
    padding = -unpadded % ALIGNMENT
    extra += b"FB" + pack("<H", padding) + b"Z" * padding
    fixed = pack(
        "<4sHHHHHIIIHH", b"PK\x03\x04", _needed_version(entry), _FLAGS, entry.method, 0, 0, 0, 0, 0,
        len(entry.name), len(extra),
    )  # fmt: skip
    return fixed + entry.name + extra


def _descriptor(entry: _Entry) -> bytes:
    return pack("<4sIQQ" if entry.is_large else "<4sIII", b"PK\x07\x08", entry.crc, entry.packed, entry.size)


def _directory_entry(entry: _Entry) -> bytes:
    large = b"".join(pack("<Q", v) for v in (entry.size, entry.packed, entry.at) if v >= LIMIT)
    extra = pack("<HH", 1, len(large)) + large if large else b""
    fixed = pack(
        "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 0, _needed_version(entry), _FLAGS, entry.method, 0, 0, entry.crc,
        _field(entry.packed), _field(entry.size), len(entry.name), len(extra), 0, 0, 0, 0,
        _field(entry.at),
    )  # fmt: skip
    return fixed + entry.name + extra


def _end(count: int, start: int, size: int) -> bytes:
    """The ZIP64 end record, the locator that leads to it, and the plain end record."""
    wide = pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 0x1E2D, 45, 0, 0, count, count, size, start)
    locator = pack("<4sIQI", b"PK\x06\x07", 0, start + size, 1)
    few = min(count, 0xFFFF)
    return wide + locator + pack(
        "<4sHHHHIIH", b"PK\x05\x06", 0, 0, few, few, _field(size), _field(start), 0
    )  # fmt: skip
