"""What tells the sources of a package from what they were before they were edited, without reading them.

Where an installer put the package, it left a record of the files, and the record speaks for all of them: installed
files are replaced together. Else, as in a checkout, each file is looked at.

>>> import flambeau.util
>>> from pathlib import Path
>>> "/source_stamps.py" in source_stamps(str(Path(flambeau.util.__file__).parent))
True
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

INFORMATION, RECORD = ".dist-info", "RECORD"
"""How the folder ends that an installer leaves beside a package, behind its name, and the list of files in it."""


@cache
def source_stamps(folder: str, below: str = "") -> str:
    """Name, size and age of each Python file below a folder, or of those in one of its folders, as they were when this
    was first asked. The disk is asked once for all folders below one.
    """
    if below:
        start = f"/{below}/"
        lines = source_stamps(folder).split("\n")
        is_recorded = not lines[0].startswith(os.sep)
        return "\n".join([line for line in lines if is_recorded or line.replace(os.sep, "/").startswith(start)])
    recorded = _record_of(folder)
    if recorded:
        return recorded
    return "\n".join(sorted(_stamps(folder, len(folder))))


def _record_of(folder: str) -> str:
    """Name, size and age of the installer's record of a package; empty where there is none, or not one alone."""
    beside, name = os.path.split(folder)
    try:
        folders = [one for one in os.listdir(beside) if one.startswith(f"{name}-") and one.endswith(INFORMATION)]
    except OSError:  # in an archive
        return ""
    records = [path for path in (os.path.join(beside, one, RECORD) for one in folders) if os.path.exists(path)]
    if len(records) != 1:
        return ""
    status = os.stat(records[0])
    return f"{os.path.basename(os.path.dirname(records[0]))} {status.st_size} {status.st_mtime_ns}"


def _stamps(folder: str, start: int) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # a package in an archive, which is replaced as a whole
        return
    for entry in entries:
        if entry.name.endswith(".py"):
            stamp = entry.stat()
            yield f"{entry.path[start:]} {stamp.st_size} {stamp.st_mtime_ns}"
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _stamps(entry.path, start)
