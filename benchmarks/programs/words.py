"""Hashes, generators of random numbers and images of unsigned integers, as users of NumPy and Numba write them."""

from __future__ import annotations

from typing import Any

import numpy as np


def xorshift(seed, n):
    """Words of a generator by three shifts."""
    out = np.empty(n, np.uint64)
    x = np.uint64(seed)
    for i in range(n):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        out[i] = x
    return out


def splitmix(x):
    """Each word mixed by products and shifts."""
    out = np.empty_like(x)
    for i in range(len(x)):
        z = x[i] + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out[i] = z ^ (z >> np.uint64(31))
    return out


def fnv(data):
    """A hash of bytes in 32 bits."""
    h = np.uint32(2166136261)
    for b in data:
        h = (h ^ np.uint32(b)) * np.uint32(16777619)
    return h


def crc(data, table):
    """A checksum by a table."""
    c = np.uint32(0xFFFFFFFF)
    for b in data:
        c = table[(c ^ b) & np.uint32(0xFF)] ^ (c >> np.uint32(8))
    return c ^ np.uint32(0xFFFFFFFF)


def counts_of_levels(image):
    """How often each of 65,536 levels is in an image."""
    counts = np.zeros(65536, np.int64)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            counts[image[i, j]] += 1
    return counts


def above(image, level):
    """Black and white by a level."""
    out = np.zeros_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            if image[i, j] > level:
                out[i, j] = 255
    return out


def mean_square(x):
    """A mean of squares of float32s, which NumPy rounds after each step."""
    s = 0.0
    for v in x:
        s += v * v
    return s / len(x)


def table_of_crc() -> Any:
    """The table of the checksum that zip files have."""
    rows = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        rows = (rows >> np.uint32(1)) ^ np.where(rows & np.uint32(1), np.uint32(0xEDB88320), np.uint32(0))
    return rows
