"""`flambeau._C.PyTorchFileReader`: the container of archives, record by record.

>>> import io
>>> from flambeau.jit.torch_names.file_writer import PyTorchFileWriter
>>> file = io.BytesIO()
>>> with PyTorchFileWriter(file) as writer:
...     writer.write_record("note", b"hello", 5)
>>> reader = PyTorchFileReader(io.BytesIO(file.getvalue()))
>>> reader.get_record("note"), reader.has_record("other"), reader.version()
(b'hello', False, 3)
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import numpy as np

from flambeau.jit.loading.load import get_extra_files
from flambeau.schema.dtype import DType
from flambeau.serialize.archive_format import SERIALIZATION_ID
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.program import version_of
from flambeau.tensor.tensor import Tensor, wrap


class PyTorchFileReader:
    """Reads records from a path or from something open for reading bytes. Raises ArchiveError for a broken file."""

    def __init__(self, file: Any) -> None:
        self._container = Container.open(file)

    def get_record(self, name: str) -> bytes:
        """The bytes of a record. Raises ArchiveError if it is not there."""
        return self._container.read(name)

    def has_record(self, name: str) -> bool:
        """Whether there is a record of that name."""
        return self._container.has(name)

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._container.size(name)

    def get_record_offset(self, name: str) -> int:
        """Where in the file the bytes of a record begin."""
        return self._container.offset(name)

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return self._container.names()

    def get_storage_from_record(self, name: str, count: int, dtype: DType) -> Tensor:
        """The first elements of a record as a tensor, which shares the memory of the file read."""
        elements = np.frombuffer(self._container.view(name, is_data=True), dtype.numpy, count)
        return wrap(elements if elements.flags.aligned else elements.copy())

    def archive_name(self) -> str:
        """The top directory."""
        return self._container.top

    def version(self) -> int:
        """The number of the format."""
        return version_of(self._container)

    def serialization_id(self) -> str:
        """Forty digits that tell this archive from others; none where the file has no such record."""
        return self._container.text(SERIALIZATION_ID) if self._container.has(SERIALIZATION_ID) else ""


def _get_model_extra_files(path: Any, extra_files: MutableMapping[str, Any]) -> None:
    """Put the files of an archive that are the keys of a dict into it. Raises ArchiveError."""
    get_extra_files(path, extra_files)


def _get_model_extra_files_from_buffer(buffer: Any, extra_files: MutableMapping[str, Any]) -> None:
    """Read the extra files of an archive that is a file object or bytes."""
    get_extra_files(buffer, extra_files)
