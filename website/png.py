"""Grey levels as PNG, with nothing but zlib."""

from __future__ import annotations

import struct
import zlib

import numpy as np


def png(levels: np.ndarray) -> bytes:
    """The file for a matrix of numbers, the smallest black and the largest white.

    >>> png(np.eye(2))[1:4]
    b'PNG'
    """
    low, high = float(levels.min()), float(levels.max())
    scaled = np.asarray((levels - low) * (255.0 / ((high - low) or 1.0))).round().astype(np.uint8)
    height, width = scaled.shape
    rows = b"".join(b"\0" + row.tobytes() for row in scaled)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (_part(b"IHDR", header), _part(b"IDAT", zlib.compress(rows, 9)), _part(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _part(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
