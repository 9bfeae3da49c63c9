"""Words of the host's memory that kernels write to and the host reads."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from flambeau.cuda import library

SIZE = 4


class PinnedWords:
    """Words of 32 bits, zero at first; devices know them by the same addresses."""

    __slots__ = ("_block", "array", "start")

    def __init__(self, count: int) -> None:
        self._block: Any = library.cupy().cuda.alloc_pinned_memory(count * SIZE)
        self.start = int(self._block.ptr)
        self.array = np.ctypeslib.as_array((ctypes.c_int32 * count).from_address(self.start))
        self.array[...] = 0

    def address(self, index: int) -> int:
        """Where a word lies."""
        return self.start + int(index) * SIZE

    def addresses(self) -> list[int]:
        """Where all of them lie."""
        return [self.address(k) for k in range(len(self.array))]

    def written(self) -> list[int]:
        """Which of them are not zero."""
        return [int(k) for k in np.flatnonzero(self.array)]
