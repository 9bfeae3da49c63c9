"""Objects arranged as they lie in memory, as bytes for the cache on disk: whoever reads them fills in addresses."""

from __future__ import annotations

import json
import struct
from typing import Final

from flambeau.codegen.llvm.loader import Prelinked

_SIZE: Final = struct.Struct("<Q")


def written(arranged: Prelinked) -> bytes:
    """The bytes: how long the head is, the head, and what lies in memory up to the last byte that is not zero.

    >>> image = Prelinked(b"code" + bytes(60), ((0, 64, 5),), ((8, 16),), ((24, 0, "f", 0),), ({"main": 0},))
    >>> arranged_of(written(image)) == image
    True
    """
    fields = [len(arranged.content), arranged.parts, arranged.inner, arranged.outer, arranged.symbols]
    head = json.dumps(fields).encode()
    return _SIZE.pack(len(head)) + head + arranged.content.rstrip(b"\0")


def arranged_of(content: bytes) -> Prelinked | None:
    """What `written` was given; None for bytes that are something else.

    >>> arranged_of(b"something else") is None
    True
    """
    try:
        (end,) = _SIZE.unpack_from(content)
        end += _SIZE.size
        size, parts, inner, outer, symbols = json.loads(content[_SIZE.size : end])
        memory = content[end:].ljust(size, b"\0")
        return Prelinked(
            memory, tuple(map(tuple, parts)), tuple(map(tuple, inner)), tuple(map(tuple, outer)), tuple(symbols)
        )
    except (ValueError, TypeError, struct.error):
        return None
