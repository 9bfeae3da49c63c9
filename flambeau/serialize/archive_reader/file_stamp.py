"""What tells an archive from every other without its records being looked at one by one.

    header, tensor, header, tensor, ..., header, code, ..., directory

Whoever read an archive in full leaves a stamp: where its tensors lie, with the checksums that the directory says, and
a hash over all other bytes. A file that has the same stamp would be read to the same end: of its tensors as much is
looked at as when each record is read, and nothing else of it differs by a byte.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Any, Final

from flambeau.serialize.archive_format import DATA
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.util.record import dataclass

_END: Final = struct.Struct("<4s12xIH")
"""The record that ends a ZIP file: where the directory begins, and the length of a comment."""
_OF_TENSORS: Final = f"{DATA}/"
"""How the names of such records begin; those of tensors that the code names are hashed, since what is made of the code
depends on their elements."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """All that an archive is. A file has the same where it has so many bytes and `fits` says so."""

    size: int
    digest: str
    """Hexadecimal digits of a hash over all bytes outside of `tensors`."""
    tensors: tuple[tuple[int, int, int], ...]
    """Where each record of a tensor begins and ends, in order, and its checksum."""

    @classmethod
    def of(cls, container: Container) -> Stamp:
        """That of an archive whose records were read. Raises ArchiveError."""
        names = [name for name in container.names() if name.startswith(_OF_TENSORS)]
        extents = [extent for extent in map(container.extent, names) if extent is not None and extent[0] < extent[1]]
        tensors = tuple(sorted(extents))
        return cls(len(container.memory), _digest(container.memory, tensors), tensors)

    def fits(self, memory: memoryview, *, is_mapped: bool) -> bool:
        """Whether a file has this stamp; the tensors of one that is mapped are not read."""
        if len(memory) != self.size or _digest(memory, self.tensors) != self.digest:
            return False
        return is_mapped or all(zlib.crc32(memory[begin:end]) == crc for begin, end, crc in self.tensors)


def directory_key(memory: memoryview) -> str | None:
    """A hash over the directory of a file, which names all records with their checksums; None for a file that does not
    end as ZIP files do.

    >>> directory_key(memoryview(b"no archive")) is None
    True
    """
    at = len(memory) - _END.size
    if at < 0 or bytes(memory[at : at + 4]) != b"PK\5\6":
        return None
    _, begin, _ = _END.unpack_from(memory, at)
    return hashlib.sha256(memory[min(begin, at) :]).hexdigest()


def _digest(memory: memoryview, tensors: tuple[tuple[int, int, int], ...]) -> str:
    """A hash over what lies outside of these places, which are in order."""
    digest: Any = hashlib.sha256()
    start = 0
    for begin, end, _ in tensors:
        digest.update(memory[start:begin])
        start = end
    digest.update(memory[start:])
    return str(digest.hexdigest())
