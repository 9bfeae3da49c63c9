"""What the C library does with memory that is freed: it keeps blocks of some megabytes for the next call.

glibc gives blocks back to the system that are larger than any that it has seen freed, and all free memory at the end of
its heap beyond twice that size; each page is then fresh in the next call, and costs more than the numbers on it. Its
thresholds rise when a large block is freed (mallopt(3), M_MMAP_THRESHOLD): one that nobody wrote to does it.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

KEPT: Final = 24 << 20
"""Bytes of blocks, up to which the C library keeps what is freed; larger results are kept by `entry_memory`."""


@cache
def keep_what_is_freed() -> None:
    """Have the C library keep blocks of less than `KEPT` bytes, once in a process.

    >>> keep_what_is_freed()
    """
    np.empty(KEPT, np.uint8)
