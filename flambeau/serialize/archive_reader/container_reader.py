"""The ZIP container of an archive: records by name, each checked before its bytes are given out.

A file up to `MAPPED_ABOVE` bytes is read whole, a larger one is mapped: records that are stored come as views of that
memory, without a copy. Writing to the views changes neither the file nor what another reader sees.

```
local header, bytes of record, local header, bytes of record, ..., central directory, (zip64 end), end
```
"""

from __future__ import annotations

import io
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from flambeau.serialize.archive_reader.limits import DEFAULT, LoadLimits, exceeded
from flambeau.util.errors import ArchiveError

MAPPED_ABOVE: Final = 16 << 20
"""Files longer than this, in bytes, are mapped into memory, and what is stored in them is read when it is used."""
MESSAGE_LENGTH: Final = 2_000
"""Characters of a file's own texts that a message may quote."""
_DEFLATE_RATIO: Final = 1040
"""No deflated byte gives more than this many."""

_END: Final = struct.Struct("<4s4H2IH")
_LOCATOR: Final = struct.Struct("<4sIQI")
_END64: Final = struct.Struct("<4sQ2H2I4Q")
_ENTRY: Final = struct.Struct("<4s6H3I5H2I")
_LOCAL: Final = struct.Struct("<4s5H3I2H")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED: Final = 0x1
_FULL32: Final = 0xFFFFFFFF

_OTHER_FORMATS: Final = (
    (b"PYTORCH1", "an archive in TorchScript's own format of before 1.0"),
    (b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46", "a file that torch.save wrote before 1.6"),
    (b"\x80", "a pickle"),
    (b"\x7fELF", "a library of machine code"),
    (b"\x1f\x8b", "compressed by gzip: decompress it first"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "an array of NumPy's: numpy.load reads it"),
    (b"BZh", "compressed by bzip2: decompress it first"),
    (b"\xfd7zXZ", "compressed by xz: decompress it first"),
)
"""What the first bytes of other files say they are."""


class Entry(NamedTuple):
    """One record, as the directory of the file declares it."""

    name: str
    """With the top directory."""
    method: int
    crc: int
    stored_size: int
    size: int
    header: int
    """Where its local header is."""
    flags: int


class Container:
    """The records of one file. Raises ArchiveError for a file that is no ZIP file or whose directory is broken."""

    def __init__(self, memory: Any, title: str, limits: LoadLimits = DEFAULT) -> None:
        """`memory` is a writable buffer of the whole file, `title` what messages call it."""
        self.title = title
        self.limits = limits
        self._memory = memoryview(memory)
        self.is_mapped = isinstance(memory, mmap.mmap)
        entries = list(self._entries())
        if not entries:
            raise self.error("it has no records")
        first = entries[0].name
        self.top = first.partition("/")[0]
        """The directory that all records are in: that of the first."""
        if "/" not in first or not self.top or self.top == "..":
            raise self.error(f"its first record is '{first}', and should be in a directory")
        self._by_name = self._below_top(entries)
        inflated = sum(entry.size for entry in entries if entry.method == _DEFLATED)
        if inflated - limits.inflated_ratio * len(self._memory) > limits.inflated_bytes:
            raise self.error(f"its deflated records have {exceeded(limits, 'inflated_bytes')}")

    # -- opening ------------------------------------------------------------------------------------------------------

    @classmethod
    def open(cls, source: Any, limits: LoadLimits = DEFAULT) -> Container:
        """The container in a file, given by its path or as a file object that is read from where it stands.

        Raises ArchiveError; FileNotFoundError, another OSError or ValueError for a file that cannot be opened.
        """
        return cls(*memory_of(source), limits)

    # -- records ------------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names of all records, without the top directory, in the order of the file."""
        return list(self._by_name)

    def has(self, name: str) -> bool:
        """Whether there is a record of that name."""
        return name in self._by_name

    def size(self, name: str) -> int:
        """How many bytes a record has. Raises ArchiveError if it is not there."""
        return self._entry(name).size

    def offset(self, name: str) -> int:
        """Where in the file the bytes of a record begin. Raises ArchiveError."""
        return self._begin(self._entry(name))

    def read(self, name: str) -> bytes:
        """The bytes of a record. Raises ArchiveError if it is not there or broken."""
        record = self.view(name)
        return record.obj if type(record.obj) is bytes and len(record.obj) == len(record) else bytes(record)

    def text(self, name: str) -> str:
        """A record as UTF-8 text. Raises ArchiveError."""
        try:
            return self.read(name).decode()
        except UnicodeDecodeError as error:
            raise self.error(f"expected UTF-8 text: {error.reason} at byte {error.start}", name) from None

    def view(self, name: str, *, is_data: bool = False) -> memoryview:
        """The bytes of a record, without a copy where the record is stored.

        With `is_data` they may be written to, and the checksum of a record of a mapped file is not computed: that
        would read it. Raises ArchiveError.
        """
        entry = self._entry(name)
        begin = self._begin(entry)
        raw = self._memory[begin : begin + entry.stored_size]
        content = raw if entry.method == _STORED else memoryview(self._inflate(entry, raw, is_data=is_data))
        is_lazy = is_data and self.is_mapped and entry.method == _STORED
        if not is_lazy and zlib.crc32(content) != entry.crc:
            raise self.error("its bytes do not have the checksum that the directory of the file says", name)
        return content

    def as_stored(self, name: str) -> tuple[str, memoryview]:
        """The bytes of a record as they are in the file, with what the directory says of them: both together say what
        the record is, and whether it is broken. Raises ArchiveError if it is not there.
        """
        entry = self._entry(name)
        begin = self._begin(entry)
        about = f"{entry.method} {entry.crc} {entry.stored_size} {entry.size}"
        return about, self._memory[begin : begin + entry.stored_size]

    @property
    def memory(self) -> memoryview:
        """The bytes of the whole file."""
        return self._memory

    def extent(self, name: str) -> tuple[int, int, int] | None:
        """Where in the file the bytes of a record that is stored begin and end, and their checksum as the directory
        says it; None for one that is deflated. Raises ArchiveError."""
        entry = self._entry(name)
        begin = self._begin(entry)
        return (begin, begin + entry.stored_size, entry.crc) if entry.method == _STORED else None

    def error(self, text: str, record: str = "") -> ArchiveError:
        """An error about the file, or about one record of it."""
        where = f"{self.title}: " if not record else f"{self.title}, record '{_cut(record)}': "
        return ArchiveError(where + _cut(text))

    def _entry(self, name: str) -> Entry:
        entry = self._by_name.get(name)
        if entry is None:
            raise self.error(f"there is no record '{name}' in the archive (file not found)")
        return entry

    def _begin(self, entry: Entry) -> int:
        """Where the bytes of an entry begin; everything that its header says agrees with the directory."""
        name = entry.name.partition("/")[2]
        if entry.flags & _ENCRYPTED:
            raise self.error("it is encrypted", name)
        if entry.method not in (_STORED, _DEFLATED):
            raise self.error(f"expected a stored or deflated record, got compression method {entry.method}", name)
        if entry.header + _LOCAL.size > len(self._memory):
            raise self.error("its header lies outside of the file", name)
        head = _LOCAL.unpack_from(self._memory, entry.header)
        begin = int(entry.header + _LOCAL.size + head[9] + head[10])
        own = bytes(self._memory[entry.header + _LOCAL.size :][: head[9]])
        if head[0] != b"PK\3\4" or own.decode("utf-8", "replace") != entry.name:
            raise self.error("there is no header of this record where the directory of the file says", name)
        if begin + entry.stored_size > len(self._memory):
            raise self.error(
                f"expected {entry.stored_size} bytes in the file, got {max(0, len(self._memory) - begin)}", name
            )
        if entry.method == _STORED and entry.stored_size != entry.size:
            raise self.error(f"it is stored as {entry.stored_size} bytes but declared as {entry.size}", name)
        return begin

    def _inflate(self, entry: Entry, raw: memoryview, *, is_data: bool) -> bytes | bytearray:
        name = entry.name.partition("/")[2]
        if entry.size > _DEFLATE_RATIO * (entry.stored_size + 1):
            raise self.error(f"{entry.stored_size} deflated bytes cannot be the {entry.size} bytes declared", name)
        machine = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            inflated = machine.decompress(raw, entry.size + 1)
        except zlib.error as error:
            raise self.error(f"its bytes cannot be inflated: {error}", name) from None
        if len(inflated) != entry.size or not machine.eof:
            raise self.error(f"expected {entry.size} bytes when inflated, got {len(inflated)}", name)
        return bytearray(inflated) if is_data else inflated

    # -- directory ----------------------------------------------------------------------------------------------------

    def _entries(self) -> Iterator[Entry]:
        count, begin, size = self._directory()
        memory, position, end = self._memory, begin, begin + size
        for _ in range(count):
            if position + _ENTRY.size > end:
                raise self.error("its directory ends early")
            fields = _ENTRY.unpack_from(memory, position)
            signature, _, _, flags, method, _, _, crc, stored, whole, n, extra, comment = fields[:13]
            if signature != b"PK\1\2":
                raise self.error("its directory is broken")
            position += _ENTRY.size
            if position + n + extra + comment > end:
                raise self.error("its directory ends early")
            try:
                name = bytes(memory[position : position + n]).decode()
            except UnicodeDecodeError:
                raise self.error("the name of a record is not UTF-8") from None
            header = fields[16]
            if _FULL32 in (whole, stored, header):
                more = memory[position + n : position + n + extra]
                stored, whole, header = self._full(more, name, whole, stored, header)
            position += n + extra + comment
            yield Entry(name, method, crc, stored, whole, header, flags)

    def _full(self, extra: memoryview, name: str, whole: int, stored: int, header: int) -> tuple[int, int, int]:
        """Sizes and place that do not fit into 32 bits stand in an extra field."""
        fields = [whole, stored, header]
        position = 0
        while position + 4 <= len(extra):
            kind, length = struct.unpack_from("<HH", extra, position)
            position += 4
            if kind == 1:
                values = extra[position : position + length]
                for i, field in enumerate(fields):
                    if field == _FULL32 and len(values) >= 8:
                        fields[i] = struct.unpack_from("<Q", values)[0]
                        values = values[8:]
                break
            position += length
        if _FULL32 in fields:
            raise self.error("its size is declared in a zip64 field that is not there", name.partition("/")[2])
        return fields[1], fields[0], fields[2]

    def _directory(self) -> tuple[int, int, int]:
        """How many entries the directory has, where it begins, and its size."""
        memory = self._memory
        tail = bytes(memory[-(_END.size + 0xFFFF) :])
        position = tail.rfind(b"PK\5\6")
        if position < 0 or len(tail) - position < _END.size:
            raise self.error(self._what_it_is())
        end = len(memory) - len(tail) + position
        _, disk, _, _, count, size, begin, _ = _END.unpack_from(memory, end)
        locator = end - _LOCATOR.size
        if locator >= 0 and bytes(memory[locator : locator + 4]) == b"PK\6\7":
            offset = _LOCATOR.unpack_from(memory, locator)[2]
            if offset + _END64.size > len(memory) or bytes(memory[offset : offset + 4]) != b"PK\6\6":
                raise self.error("its zip64 directory is not where the file says")
            _, _, _, _, disk, _, _, count, size, begin = _END64.unpack_from(memory, offset)
        if disk != 0:
            raise self.error("it is one part of an archive in several files")
        if count > self.limits.records:
            raise self.error(f"it has {exceeded(self.limits, 'records')}")
        if begin + size > end or count * _ENTRY.size > size:
            raise self.error(f"its directory of {count} records does not fit into the file")
        return count, begin, size

    def _what_it_is(self) -> str:
        start = bytes(self._memory[:16])
        if not start:
            return "the file is empty"
        if start[:4] == b"PK\3\4":
            return "the file is cut off: it begins as a ZIP file, but the directory at its end is missing"
        for magic, what in _OTHER_FORMATS:
            if start.startswith(magic):
                return f"expected a TorchScript archive, which is a ZIP file; this is {what}"
        return "expected a TorchScript archive, which is a ZIP file; this is something else"

    def _below_top(self, entries: list[Entry]) -> dict[str, Entry]:
        records: dict[str, Entry] = {}
        for entry in entries:
            top, _, name = entry.name.partition("/")
            if ".." in entry.name.split("/") or "\\" in entry.name or entry.name.startswith("/"):
                raise self.error(f"record '{entry.name}' would lie outside of the archive")
            if top != self.top or not name or name.endswith("/"):
                continue
            if name in records:
                raise self.error(f"there are two records '{name}'")
            records[name] = entry
        return records


def _cut(text: str) -> str:
    return text if len(text) <= MESSAGE_LENGTH else f"{text[:MESSAGE_LENGTH]}... ({len(text):,} characters)"


def memory_of(source: Any) -> tuple[Any, str]:
    """The bytes of a file, writable and the caller's own, and what messages call it: given by its path, by its bytes,
    or as a file object that is read from where it stands.

    Raises ArchiveError for a directory; FileNotFoundError, another OSError or ValueError for a file that cannot be
    opened, TypeError for what is no file.

    >>> memory_of(b"PK")
    (bytearray(b'PK'), '<bytes>')
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        title = str(path)
        if path.is_dir():
            raise ArchiveError(f"{title}: expected a file, got a directory")
        with path.open("rb") as file:
            return _memory_of(file), title
    if isinstance(source, bytes | bytearray | memoryview):
        return bytearray(source), "<bytes>"
    if not hasattr(source, "read"):
        raise TypeError(f"expected a path or a file object, got {type(source).__name__}")
    data = source.read()
    if not isinstance(data, bytes | bytearray):
        raise TypeError("expected a file opened in binary mode: open(path, 'rb')")
    name = getattr(source, "name", None)
    return bytearray(data), name if isinstance(name, str) else "<stream>"


def _memory_of(file: io.BufferedReader) -> Any:
    """The bytes of a file, writable and the caller's own."""
    if os.fstat(file.fileno()).st_size > MAPPED_ABOVE:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return bytearray(file.read())
