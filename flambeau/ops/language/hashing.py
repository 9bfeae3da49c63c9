"""`hash` of values, the same in every process.

>>> hash_of(5), hash_of("a") == hash_of("a")
(5, True)
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

from flambeau.ops.language import int64
from flambeau.ops.language.declare import declare
from flambeau.schema.device import Device
from flambeau.tensor.tensor import Tensor


def hash_of(value: Any) -> int:
    """A 64-bit hash; equal values have equal hashes, `1` and `1.0` too; tensors hash by identity.

    Raises RuntimeError for lists, dicts and what holds them.
    """
    if isinstance(value, bool | int):
        return int(value)
    if value is None:
        return 0
    if isinstance(value, float):
        if value.is_integer() and int64.MIN <= value <= int64.MAX:
            return int(value)
        return _digest(struct.pack("<d", value + 0.0))
    if isinstance(value, str):
        return _digest(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, complex):
        if value.imag == 0:
            return hash_of(value.real)
        return _digest(struct.pack("<dd", value.real + 0.0, value.imag + 0.0))
    if isinstance(value, tuple):
        return _digest(b"".join(struct.pack("<q", hash_of(item)) for item in value))
    if isinstance(value, Device):
        return _digest(str(value).encode())
    if isinstance(value, Tensor):
        return int64.wrap(id(value))
    raise RuntimeError(
        f"unhashable type: '{type(value).__name__}'; numbers, strings, tensors, devices and tuples of them hash"
    )


def _digest(data: bytes) -> int:
    return int(struct.unpack("<q", hashlib.blake2b(data, digest_size=8).digest())[0])


declare("aten::hash.generic(t value) -> int", hash_of)
