"""What tells the sources of a package from what they were before they were edited, without reading them.

>>> import flambeau.util
>>> from pathlib import Path
>>> "/source_stamps.py" in source_stamps(str(Path(flambeau.util.__file__).parent))
True
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache


@cache
def source_stamps(folder: str, below: str = "") -> str:
    """Name, size and age of each Python file below a folder, or of those in one of its folders, as they were when this
    was first asked. The disk is asked once for all folders below one.
    """
    if below:
        start = f"/{below}/"
        lines = source_stamps(folder).split("\n")
        return "\n".join([line for line in lines if line.replace(os.sep, "/").startswith(start)])
    return "\n".join(sorted(_stamps(folder, len(folder))))


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
