"""Where a file goes: a path, where it appears whole or not at all, or something that takes bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from flambeau.serialize.archive_format import STREAM_NAME
from flambeau.serialize.archive_writer.container_writer import Bytes, Sink

Target = str | os.PathLike[str] | IO[bytes]
NO_DIRECTORY = "Parent directory {directory} does not exist: make it before saving '{path}'"
NOT_WRITABLE = "cannot save to a {kind}: pass a path or something with a method `write` that takes bytes"


def folder_of(target: Any) -> str:
    """The top directory of an archive: the file's name without its ending, `archive` for streams.

    >>> folder_of("models/net.v2.pt"), folder_of(Path(".hidden"))
    ('net.v2', '.hidden')
    """
    return Path(target).stem or STREAM_NAME if isinstance(target, str | os.PathLike) else STREAM_NAME


@contextmanager
def opened(target: Any) -> Iterator[Sink]:
    """What takes the bytes for a path or a stream; a path has its file when the block ends without an exception.

    Raises RuntimeError for a directory that does not exist, TypeError for what takes no bytes.
    """
    if not isinstance(target, str | os.PathLike):
        if not callable(getattr(target, "write", None)):
            raise TypeError(NOT_WRITABLE.format(kind=type(target).__name__))
        yield partial(_write_all, target.write)
        return
    path = Path(os.path.realpath(target))
    if not path.parent.is_dir():
        raise RuntimeError(NO_DIRECTORY.format(directory=Path(target).parent, path=target))
    if path.exists() and not path.is_file():
        with path.open("wb") as special:  # a pipe or a device, or a directory, which says so
            yield special.write
        return
    with _replacing(path) as file:
        yield file.write


def _write_all(write: Callable[[memoryview], object], data: Bytes) -> None:
    """Write it all, in as many pieces as the stream takes: unbuffered files say how much they took."""
    left = memoryview(data).cast("B")
    while len(left):
        taken = write(left)
        left = left[taken:] if isinstance(taken, int) else left[:0]


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path` that takes its place at the end."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with beside.open("xb") as file:
            yield file
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
