"""Who touched what: the memory of a simulated grid, which notices accesses that no barrier orders.

Two accesses to one place clash when different threads make them, one of them writes, and they are in different blocks,
or in one block with no barrier between. Nothing else orders the threads of a grid within one launch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
NOBODY, SEVERAL = -1, -2


class SimulationError(RuntimeError):
    """Something that a kernel must not do on a device: a race, an access out of range, a barrier not all reach."""


class Touched:
    """The last accesses to every place of one array."""

    def __init__(self, name: str, count: int, *, is_initialised: bool) -> None:
        self.name = name
        self.writer = np.full(count, NOBODY)
        self.reader = np.full(count, NOBODY)
        self.write_time = np.full(count, NOBODY)
        self.read_time = np.full(count, NOBODY)
        """Time: a number that grows at every barrier of every block."""
        self.write_block = np.full(count, NOBODY)
        self.read_block = np.full(count, NOBODY)
        self.known = np.full(count, is_initialised)

    def read(self, elements: Array, threads: Array, block: int, time: int) -> None:
        """Some threads of a block read a place each."""
        if not self.known[elements].all():
            k = int(np.flatnonzero(~self.known[elements])[0])
            raise SimulationError(
                f"thread {threads[k]} of block {block} reads {self.name} at place {elements[k]}, which nobody wrote"
            )
        self._clash(elements, threads, block, time, self.writer, self.write_time, self.write_block, "read", "wrote")
        self._note(elements, threads, block, time, self.reader, self.read_time, self.read_block)

    def write(self, elements: Array, threads: Array, block: int, time: int) -> None:
        """Some threads of a block write a place each."""
        order = np.argsort(elements, kind="stable")
        same = np.flatnonzero(elements[order][1:] == elements[order][:-1])
        if same.size:
            a, b = order[same[0]], order[same[0] + 1]
            self._report(elements[a], threads[a], block, "writes", threads[b], "writes")
        self._clash(elements, threads, block, time, self.writer, self.write_time, self.write_block, "write", "wrote")
        self._clash(elements, threads, block, time, self.reader, self.read_time, self.read_block, "write", "read")
        self._note(elements, threads, block, time, self.writer, self.write_time, self.write_block)
        self.known[elements] = True

    def _clash(
        self, elements: Array, threads: Array, block: int, time: int, who: Array, when: Array, where: Array, verb: str,
        other_verb: str,
    ) -> None:  # fmt: skip
        now = (when[elements] == time) & (who[elements] != NOBODY) & (who[elements] != threads)
        elsewhere = (where[elements] != NOBODY) & (where[elements] != block)
        bad = np.flatnonzero(now | elsewhere)
        if bad.size:
            k = bad[0]
            p = elements[k]
            other = f"thread {who[p]}" if now[k] and who[p] != SEVERAL else "another thread"
            apart = "of another block" if elsewhere[k] else "of the block, with no barrier between"
            raise SimulationError(
                f"race: thread {threads[k]} of block {block} {verb}s {self.name} at place {p}, "
                f"which {other} {apart} {other_verb}"
            )

    def _report(self, element: int, thread: int, block: int, verb: str, other: int, other_verb: str) -> None:
        raise SimulationError(
            f"race: thread {thread} of block {block} {verb} {self.name} at place {element}, which thread {other} "
            f"{other_verb} at the same time"
        )

    def _note(
        self, elements: Array, threads: Array, block: int, time: int, who: Array, when: Array, where: Array
    ) -> None:
        touched, which = np.unique(elements, return_inverse=True)
        who[touched[when[touched] != time]] = NOBODY
        for trace, mine in ((who, threads), (where, np.full_like(threads, block))):
            low, high = np.full(len(touched), np.iinfo(np.int64).max), np.full(len(touched), NOBODY)
            np.minimum.at(low, which, mine)
            np.maximum.at(high, which, mine)
            is_one = (low == high) & ((trace[touched] == NOBODY) | (trace[touched] == low))
            trace[touched] = np.where(is_one, low, SEVERAL)
        when[touched] = time
