"""The Python files of a package, with their sizes and ages, without reading them.

Which files there are is read again only where the age of a folder says so: files come, go and change their names in
folders, and are edited without them.

>>> import flambeau.util
>>> from pathlib import Path
>>> package = str(Path(flambeau.util.__file__).parent)
>>> files = listed(package)
>>> b"source_files.py" in files.paths()
True
>>> files.is_current(package)
True
"""

from __future__ import annotations

import json
import os
import time
from array import array
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

SUFFIX: Final = ".py"
COMPILED: Final = "__pycache__"
COARSE: Final = 3_000_000_000
"""Nanoseconds in which a file system may give two changes one age."""
GONE: Final = -1
"""Size and age of a file that is not there any more, and the age of a folder that nobody can read."""
Look = Callable[[str, bytes, int], "array[int] | None"]
"""Gives of each file of a package its size, then its age in nanoseconds: the package's folder, the names as a listing
has them, and how many there are. None where it cannot."""


class Listing(NamedTuple):
    """Which files there are."""

    folders: tuple[tuple[str, int], ...]
    """Each folder's path below the package, and its age when it was read."""
    names: bytes
    """Paths of files below the package, in order, a zero byte behind each."""

    def paths(self) -> list[bytes]:
        """Paths of files below the package, in order."""
        return self.names.split(b"\0")[:-1]

    def is_current(self, package: str) -> bool:
        """Whether the folders still have these ages, so that the files still have these names."""
        try:
            below = os.path.join(package, "")
            return all(os.stat(below + path).st_mtime_ns == age for path, age in self.folders)
        except OSError:
            return False

    def is_settled(self) -> bool:
        """Whether the folders changed so long ago that another change would give them another age."""
        now = time.time_ns()
        return all(age < now - COARSE for _, age in self.folders)

    def written(self) -> bytes:
        """As bytes."""
        return json.dumps(self.folders).encode() + b"\n" + self.names

    @classmethod
    def read(cls, content: bytes) -> Listing | None:
        """What `written` gave; None for bytes that are something else.

        >>> Listing.read(b"something else") is None
        True
        """
        head, line, names = content.partition(b"\n")
        try:
            return cls(tuple([(str(path), int(age)) for path, age in json.loads(head)]), names) if line else None
        except (ValueError, TypeError):
            return None


def listed(package: str) -> Listing:
    """The files below a folder, read from the disk; none where it is no folder."""
    folders: list[tuple[str, int]] = []
    names = sorted(map(os.fsencode, _names(package, "", folders)))
    return Listing(tuple(folders), b"".join([name + b"\0" for name in names]))


def _names(package: str, folder: str, folders: list[tuple[str, int]]) -> Iterator[str]:
    path = os.path.join(package, folder)
    try:
        age = os.stat(path).st_mtime_ns  # before it is read: what comes meanwhile makes it newer
        entries = list(os.scandir(path))
    except OSError:
        folders.append((folder, GONE))
        return
    folders.append((folder, age))
    for entry in entries:
        name = f"{folder}/{entry.name}" if folder else entry.name
        if entry.name.endswith(SUFFIX):
            yield name
        elif entry.is_dir() and entry.name != COMPILED:
            yield from _names(package, name, folders)


def sizes_and_ages(package: str, names: bytes, count: int) -> array[int]:
    """A `Look` that asks the system for one file after another."""
    numbers: array[int] = array("q")
    below = os.fsencode(os.path.join(package, ""))
    for name in names.split(b"\0")[:count]:
        try:
            status = os.stat(below + name)
        except OSError:
            numbers.extend((GONE, GONE))
        else:
            numbers.extend((status.st_size, status.st_mtime_ns))
    return numbers
