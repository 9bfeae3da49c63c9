"""Which sizes allocations are rounded to, and how much memory is asked of the device for them.

>>> rounded(1), rounded(513), segment_size(512), segment_size(3 << 20), segment_size(25 << 20)
(512, 1024, 2097152, 20971520, 27262976)
"""

from __future__ import annotations

from typing import Final

GRANULE: Final = 512
"""Addresses and sizes are multiples of it."""
SMALL: Final = 1 << 20
"""Up to this size allocations lie in segments of their own kind, so that they break up no large ones."""
SMALL_SEGMENT: Final = 2 << 20
LARGE_SEGMENT: Final = 20 << 20
FILLS_A_SEGMENT: Final = 10 << 20
"""From this size on an allocation has a segment of its size."""


def rounded(asked: int) -> int:
    """Bytes that an allocation takes."""
    return -(-asked // GRANULE) * GRANULE


def segment_size(size: int) -> int:
    """Bytes that are asked of the device where no cached memory fits an allocation."""
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < FILLS_A_SEGMENT:
        return LARGE_SEGMENT
    return -(-size // SMALL_SEGMENT) * SMALL_SEGMENT


def is_worth_splitting(rest: int, *, is_small: bool) -> bool:
    """Whether what an allocation leaves of a block becomes a block."""
    return rest >= GRANULE if is_small else rest > SMALL
