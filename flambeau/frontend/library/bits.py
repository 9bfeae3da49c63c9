"""`np.packbits` and `np.unpackbits`: arrays of bits, eight to a byte, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static


def packbits(a: Any, axis: Static = None, bitorder: Static = "big") -> Any:
    """Bytes of eight elements each along an axis, of which those that are not 0 are bits; the last is filled with 0.
    The first element is the highest bit, with `bitorder="little"` the lowest.
    """
    if axis is not None:
        lines = np.moveaxis(a, axis, -1)
        rows = lines.reshape(-1, lines.shape[-1])
        packed = np.zeros((len(rows), (rows.shape[1] + 7) // 8), dtype=np.uint8)
        for i in range(len(rows)):
            pack(rows[i], packed[i], bitorder == "little")
        return np.moveaxis(packed.reshape((*lines.shape[:-1], packed.shape[1])), -1, axis)
    else:
        flat = a.reshape(-1)
        out = np.zeros((len(flat) + 7) // 8, dtype=np.uint8)
        pack(flat, out, bitorder == "little")
        return out


def pack(bits: Any, out: Any, is_little: bool) -> None:
    """Write the bytes of the bits of one line."""
    for k in range(len(out)):
        byte = 0
        for i in range(8 * k, min(8 * k + 8, len(bits))):
            if bits[i] != 0:
                byte |= 1 << (i - 8 * k if is_little else 7 - (i - 8 * k))
        out[k] = byte


def unpackbits(a: Any, axis: Static = None, count: Any = None, bitorder: Static = "big") -> Any:
    """The bits of bytes along an axis, each an element, the highest first, with `bitorder="little"` the lowest; so many
    of them as `count` says, which leaves out the last where it is below 0, and adds zeros where there are no more.
    """
    if axis is not None:
        lines = np.moveaxis(a, axis, -1)
        rows = lines.reshape(-1, lines.shape[-1])
        unpacked = np.zeros((len(rows), length(8 * rows.shape[1], count)), dtype=np.uint8)
        for i in range(len(rows)):
            unpack(rows[i], unpacked[i], bitorder == "little")
        return np.moveaxis(unpacked.reshape((*lines.shape[:-1], unpacked.shape[1])), -1, axis)
    else:
        flat = a.reshape(-1)
        out = np.zeros(length(8 * len(flat), count), dtype=np.uint8)
        unpack(flat, out, bitorder == "little")
        return out


def length(size: int, count: Any) -> int:
    """How many of so many bits are asked for. Raises ValueError where more are left out than there are."""
    if count is None:
        return size
    if count < 0 and size + count < 0:
        raise ValueError(f"-count of {-count} is larger than the number of elements, {size}")
    return int(count) if count >= 0 else int(size + count)


def unpack(packed: Any, out: Any, is_little: bool) -> None:
    """Write the bits of the bytes of one line."""
    for i in range(min(len(out), 8 * len(packed))):
        byte = int(packed[i // 8])
        out[i] = (byte >> (i % 8 if is_little else 7 - i % 8)) & 1
