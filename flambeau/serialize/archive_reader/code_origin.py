"""What tells the code of an archive from all other code: a hash over everything that decides what its graphs are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final

from flambeau.program.origin import Names, Origin
from flambeau.serialize.archive_format import CODE
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.permissions import Permissions
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import ArchiveError

MOST_BYTES: Final = 1 << 23
"""Of constants: more of them take longer to read than their code takes to compile."""


def origin_of(
    container: Container, constants: Iterable[Any], permissions: Permissions, names: Names
) -> Origin | None:
    """The origin of an archive's code; None where that would take long to say, and where a record of it is broken.

    It depends on the code with its places in the source, on the constants that it names, and on what it may call.
    """
    digest = hashlib.sha256()
    for name in ("version", *sorted(permissions.allowed)):
        digest.update(f"{name}\0".encode())
    for record in sorted(name for name in container.names() if name.startswith(CODE) or name.endswith("version")):
        try:
            content = container.view(record)
        except ArchiveError:  # which whoever needs the record will say
            return None
        digest.update(f"{record}\0{len(content)}\0".encode())
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
