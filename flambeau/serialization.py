"""`flambeau.save` and `flambeau.load` under the name of the module that PyTorch's users import them from.

>>> import io
>>> file = io.BytesIO()
>>> save([1, 2], file)
>>> _ = file.seek(0)
>>> _is_zipfile(file), file.tell(), load(file)
(True, 0, [1, 2])
"""

# ruff: noqa: E402  (the compiler as a whole is imported before parts of it)
from __future__ import annotations

from typing import IO, Final
from typing import TYPE_CHECKING as _TYPE_CHECKING

from flambeau.util.inversions import import_compiler as _import_compiler

_import_compiler()

from flambeau.jit.loading.load import load_values as load
from flambeau.serialize.archive_writer.values_file import save
from flambeau.util.absent_names import refuse as _refuse

_BEGINNING: Final = b"PK\x03\x04"


def _is_zipfile(f: IO[bytes]) -> bool:
    """Whether a file that is open for reading goes on, from where it stands, as a container of archives does.

    It stands there again afterwards.

    >>> import io
    >>> _is_zipfile(io.BytesIO(b"text"))
    False
    """
    start = f.tell()
    beginning = f.read(len(_BEGINNING))
    f.seek(start)
    return beginning == _BEGINNING


if not _TYPE_CHECKING:  # for checkers of types, there is what there is
    __getattr__ = _refuse(__name__)

__all__ = ["load", "save"]
