"""What tells the code of an archive from all other code: a hash over everything that decides what its graphs are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from flambeau.program.origin import Names, Origin
from flambeau.serialize.archive_format import CODE
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.limits import LoadLimits
from flambeau.serialize.archive_reader.permissions import Permissions
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import ArchiveError

MOST_BYTES: Final = 1 << 23
"""Of constants: more of them take longer to read than their code takes to compile."""


def code_key(texts: Mapping[str, str], version: int, permissions: Permissions, limits: LoadLimits) -> str:
    """A hash over the texts of an archive's code, over what it may call, and over how much of it is read."""
    digest = hashlib.sha256(f"{version} {sorted(permissions.allowed)} {limits}\0".encode())
    for record, text in sorted(texts.items()):
        content = text.encode()
        digest.update(f"{record}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def origin_of(container: Container, code: str, constants: Iterable[Any], names: Names) -> Origin | None:
    """The origin of an archive's code, whose key is given; None where that would take long to say, and where a record
    of it is broken.

    It depends on the code with its places in the source, and on the constants that it names.
    """
    digest = hashlib.sha256(code.encode())
    for record in sorted(name for name in container.names() if name.startswith(CODE) and not name.endswith(".py")):
        try:
            entry, content = container.as_stored(record)
        except ArchiveError:  # which whoever needs the record will say
            return None
        digest.update(f"{record}\0{entry}\0".encode())
        digest.update(content)
    left = MOST_BYTES
    for constant in constants:
        if not isinstance(constant, Tensor):
            return None
        array = constant._array
        left -= array.nbytes
        if left < 0:
            return None
        about = (constant.dtype, array.shape, array.strides, constant.requires_grad, constant.device)
        digest.update(f"{about}\0".encode())
        digest.update(array.tobytes())
    return Origin(digest.hexdigest(), names)
