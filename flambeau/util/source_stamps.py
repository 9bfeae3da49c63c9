"""What tells the sources of a package from what they were before they were edited, without reading them.

Where an installer put the package, it left a record of the files, and the record speaks for all of them: installed
files are replaced together. A package in an archive is replaced with it. Else, as in a checkout, the size and the age
of each file are looked at.

A process that began before the last edit may have read any file as it was, or as it is now. So its stamps are its own:
no other process has them, before or after.
"""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from flambeau.util.cached import cached_property
from flambeau.util.process_start import BEGIN
from flambeau.util.source_files import Listing, Look, listed, sizes_and_ages

INFORMATION: Final = ".dist-info"
RECORD: Final = "RECORD"
"""How the folder ends that an installer leaves beside a package, behind its name, and the list of files in it."""
LAG: Final = 20_000_000
"""Nanoseconds by which ages of files lag behind the clock."""


class SourceStamps:
    """Those of one package, as it was when the first one was asked for.

    >>> import flambeau.util
    >>> stamps = SourceStamps(os.path.dirname(flambeau.util.__file__))
    >>> stamps.of() == SourceStamps(os.path.dirname(flambeau.util.__file__)).of()
    True
    """

    def __init__(self, package: str, files: Callable[[str], Listing] = listed, look: Look = sizes_and_ages) -> None:
        """`package`: its folder; `files` and `look` say which files there are, and how large and old they are."""
        self._package, self._files, self._look = package, files, look
        self._rooms: dict[str, str] = {}

    def of(self, room: str = "") -> str:
        """The stamp of all files, or of those in one of the package's folders; of a package that is replaced as a
        whole, the same."""
        known = self._rooms.get(room)
        if known is None:
            known = self._of_whole or self._of_files(room)
            if self.are_own:
                known = f"{known} {os.getpid()} {BEGIN}"
            self._rooms[room] = known
        return known

    @cached_property
    def _of_whole(self) -> str:
        """The stamp of what the package is replaced with; empty where its files are edited one by one."""
        whole = _record_of(self._package) or _archive_of(self._package)
        if not whole:
            return ""
        status = os.stat(whole)
        return f"{os.path.basename(os.path.dirname(whole))} {status.st_size} {status.st_mtime_ns}"

    @cached_property
    def _statuses(self) -> tuple[list[bytes], memoryview]:
        """Files of the package in order, and of each its size and its age."""
        files = self._files(self._package)
        paths = files.paths()
        numbers = self._look(self._package, files.names, len(paths))
        if numbers is None:
            numbers = sizes_and_ages(self._package, files.names, len(paths))
        return paths, memoryview(numbers)

    def _of_files(self, room: str) -> str:
        paths, numbers = self._statuses
        begin, end = 0, len(paths)
        if room:
            begin, end = (bisect_left(paths, os.fsencode(room) + after) for after in (b"/", b"0"))  # 0 follows /
        whole = hashlib.sha256(b"\0".join(paths[begin:end]))
        whole.update(numbers[2 * begin : 2 * end])
        return whole.hexdigest()

    @cached_property
    def are_own(self) -> bool:
        """Whether something was edited since this process began."""
        whole = self._of_whole
        newest = int(whole.rpartition(" ")[2]) if whole else max(self._statuses[1][1::2], default=0)
        return newest > BEGIN - LAG


def _record_of(package: str) -> str:
    """The installer's record of a package; empty where there is none, or not one alone."""
    beside, name = os.path.split(package)
    try:
        folders = [one for one in os.listdir(beside) if one.startswith(f"{name}-") and one.endswith(INFORMATION)]
    except OSError:  # in an archive
        return ""
    records = [path for path in (os.path.join(beside, one, RECORD) for one in folders) if os.path.exists(path)]
    return records[0] if len(records) == 1 else ""


def _archive_of(package: str) -> str:
    """The archive that a package lies in; empty where it lies in none."""
    path = package
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path if os.path.isfile(path) else ""
