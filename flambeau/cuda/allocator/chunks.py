"""Segments, which the device gave, and the chunks that they are split into."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from typing import Any

from flambeau.cuda.program_lines import Line


class Segment:
    """Memory as the device gave it, for allocations of one stream."""

    __slots__ = ("address", "first", "is_small", "pool", "size", "stream")

    def __init__(self, address: int, size: int, stream: int, pool: Pool, *, is_small: bool) -> None:
        self.address, self.size, self.stream, self.pool, self.is_small = address, size, stream, pool, is_small
        self.first = Chunk(address, size, self)

    def is_unused(self) -> bool:
        """Whether all of it is free."""
        return self.first.is_free and self.first.after is None

    def chunks(self) -> list[Chunk]:
        """Its parts, in order."""
        parts, chunk = [], self.first
        while True:
            parts.append(chunk)
            if chunk.after is None:
                return parts
            chunk = chunk.after


class Chunk:
    """A part of a segment: free, or somebody's, or returned and waited for."""

    __slots__ = ("address", "after", "asked", "before", "is_free", "is_waiting", "line", "segment", "size", "streams")

    before: Chunk | None
    after: Chunk | None
    streams: set[int] | None
    """Other streams that use it."""
    line: Line | None
    """The line of the program that asked for it, where that is recorded."""

    def __init__(self, address: int, size: int, segment: Segment) -> None:
        self.address, self.size, self.segment = address, size, segment
        self.before = self.after = self.streams = self.line = None
        self.asked = 0
        self.is_free, self.is_waiting = True, False

    def split(self, size: int) -> Chunk:
        """Keep the first bytes; the rest becomes a chunk."""
        rest = Chunk(self.address + size, self.size - size, self.segment)
        rest.before, rest.after = self, self.after
        if self.after is not None:
            self.after.before = rest
        self.after, self.size = rest, size
        return rest

    def absorb(self) -> None:
        """Take over the chunk behind this one."""
        behind = self.after
        assert behind is not None
        self.size += behind.size
        self.after = behind.after
        if behind.after is not None:
            behind.after.before = self


class FreeList:
    """Free chunks of one stream, by size."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[tuple[int, int, Chunk]] = []

    def add(self, chunk: Chunk) -> None:
        insort(self.items, (chunk.size, chunk.address, chunk))

    def remove(self, chunk: Chunk) -> None:
        key: Any = (chunk.size, chunk.address)
        del self.items[bisect_left(self.items, key)]

    def take(self, size: int) -> Chunk | None:
        """The smallest chunk of at least that size, no longer in the list."""
        least: Any = (size,)
        at = bisect_left(self.items, least)
        return self.items.pop(at)[2] if at < len(self.items) else None


class Pool:
    """Memory that is used again within it only: that of a device, or that of some captured graphs."""

    __slots__ = ("free", "number", "quick", "segments", "users")

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.quick: dict[tuple[int, int], list[Chunk]] = {}
        """Chunks as they were returned, by stream and size: who asks for the same size has them at once."""
        self.free: dict[tuple[int, bool], FreeList] = {}
        """Free chunks by stream and whether they are small."""
        self.segments: dict[int, Segment] = {}
        self.users = 0
        """How many graphs replay work on its memory."""

    def list_for(self, stream: int, is_small: bool) -> FreeList:
        free_list = self.free.get((stream, is_small))
        if free_list is None:
            free_list = self.free.setdefault((stream, is_small), FreeList())
        return free_list

    def take(self, size: int, stream: int, is_small: bool) -> Chunk | None:
        """A free chunk that fits."""
        free_list = self.free.get((stream, is_small))
        return free_list.take(size) if free_list is not None else None

    def fitting_chunk(self, size: int, stream: int, is_small: bool) -> Chunk | None:
        """A free chunk that fits, also one that only those put aside make together."""
        chunk = self.take(size, stream, is_small)
        return self.take(size, stream, is_small) if chunk is None and self.merge() else chunk

    def give_back(self, chunk: Chunk) -> None:
        """Make a chunk free, one with its free neighbours."""
        segment = chunk.segment
        free = self.list_for(segment.stream, segment.is_small)
        behind, before = chunk.after, chunk.before
        if behind is not None and behind.is_free:
            free.remove(behind)
            chunk.absorb()
        if before is not None and before.is_free:
            free.remove(before)
            before.absorb()
            chunk = before
        chunk.is_free, chunk.asked, chunk.line, chunk.streams = True, 0, None, None
        free.add(chunk)

    def put_aside(self, chunk: Chunk) -> None:
        """Keep a chunk for the next that asks for its size."""
        key = (chunk.segment.stream, chunk.size)
        kept = self.quick.get(key)
        if kept is None:
            kept = self.quick[key] = []
        kept.append(chunk)

    def merge(self) -> bool:
        """Make the chunks free that lie aside; whether there were any."""
        if not self.quick:
            return False
        aside, self.quick = self.quick, {}
        for chunks in aside.values():
            for chunk in chunks:
                self.give_back(chunk)
        return True

    def unused_segments(self) -> list[Segment]:
        """Segments that nobody has a part of, no longer in the pool."""
        self.merge()
        unused = [s for s in list(self.segments.values()) if s.is_unused()]
        for segment in unused:
            self.list_for(segment.stream, segment.is_small).remove(segment.first)
            del self.segments[segment.address]
        return unused


class Block:
    """Memory of a device that somebody has, returned when nobody has this object any more.

    Args:
        address: where it is on the device.
        nbytes: how many bytes were asked for.
        device: the device's number.
    """

    __slots__ = ("__weakref__", "_chunk", "_returned", "address", "device", "nbytes")

    def __init__(self, chunk: Chunk, nbytes: int, device: int, returned: deque[Chunk]) -> None:
        self.address, self.nbytes, self.device = chunk.address, nbytes, device
        self._chunk, self._returned = chunk, returned

    @property
    def chunk(self) -> Chunk:
        """The part of a segment that it is."""
        return self._chunk

    def __del__(self) -> None:
        # Whatever the collector interrupts, also this allocator: the chunk is only noted here.
        self._returned.append(self._chunk)
