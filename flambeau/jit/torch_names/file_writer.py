"""`flambeau._C.PyTorchFileWriter`: the container of archives, record by record.

>>> import io
>>> file = io.BytesIO()
>>> writer = PyTorchFileWriter(file)
>>> writer.write_record("note", b"hello", 5)
>>> writer.write_end_of_file()
>>> writer.get_all_written_records()
['note', 'version', 'byteorder', '.data/serialization_id']
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Self

from flambeau.serialize.archive_format import PLAIN_VERSION
from flambeau.serialize.archive_writer.container_writer import Bytes, ContainerWriter
from flambeau.serialize.archive_writer.output import folder_of, opened

FINISHED = "write_end_of_file was called: nothing can be added to '{name}' any more"


class PyTorchFileWriter:
    """Writes records to a path or to something open for writing bytes. A path has its file at the end of the file."""

    def __init__(self, file: Any) -> None:
        """Raises RuntimeError for a directory that does not exist."""
        self._files = ExitStack()
        self._writer = ContainerWriter(self._files.enter_context(opened(file)), folder_of(file))
        self._version = PLAIN_VERSION
        self._is_finished = False

    def write_record(self, name: str, data: Bytes | str, size: int | None = None) -> None:
        """Write the first `size` bytes of `data`, all by default. Raises RuntimeError for a name that is taken."""
        if self._is_finished:
            raise RuntimeError(FINISHED.format(name=self.archive_name()))
        content = memoryview(data.encode() if isinstance(data, str) else data).cast("B")
        self._writer.write(name, content if size is None else content[:size])

    def set_min_version(self, version: int) -> None:
        """Let the format's number be no less than this."""
        self._version = max(self._version, version)

    def write_end_of_file(self) -> None:
        """Write what makes it an archive, and close it."""
        if not self._is_finished:
            self._writer.finish(self._version)
            self._is_finished = True
            self._files.close()

    def archive_name(self) -> str:
        """The top directory."""
        return self._writer.folder

    def get_all_written_records(self) -> list[str]:
        """The records written so far."""
        return self._writer.names

    def serialization_id(self) -> str:
        """Forty digits that tell this archive from others."""
        return self._writer.serialization_id()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if kind is None:
            self.write_end_of_file()
        else:
            self._is_finished = True
            self._files.__exit__(kind, error, trace)
