"""The memory of one device: handed out in the order of streams, kept for the next request, taken from the device last.

A free chunk is handed out again at once to the stream that it was given to before: whatever that stream still does to
it comes before what it is given next. Chunks that other streams use too are free when those have got past.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any

from flambeau.cuda import capturing, library
from flambeau.cuda.allocator.chunks import Block, Chunk, Pool, Segment
from flambeau.cuda.allocator.shortage import shortage
from flambeau.cuda.allocator.sizes import SMALL, is_worth_splitting, rounded, segment_size
from flambeau.cuda.allocator.usage import Usage
from flambeau.cuda.allocator.waiting import Waiting
from flambeau.cuda.devices import device as using
from flambeau.cuda.program_lines import Line, current_line
from flambeau.util.locks import Lock

OUT_OF_MEMORY = 2
"""`cudaErrorMemoryAllocation`"""


class DeviceAllocator:
    """Gives out the memory of one device. Any thread may ask; what comes back is noted without a lock."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.usage = Usage()
        self.pool = Pool()
        self.private: dict[tuple[int, int], Pool] = {}
        """Pools of captured graphs and of `MemPool`, by handle."""
        self.limit: int | None = None
        self.fraction = 1.0
        self.records_all_lines = False
        self._returned: deque[Chunk] = deque()
        self._after_captures: list[Chunk] = []
        """Chunks whose streams are asked when no capture is underway: asking would be part of it."""
        self._leaving: deque[tuple[tuple[int, int], Collection[int]]] = deque()
        """Pools that have a user less, with the streams that this user's work was given to."""
        self._left: list[tuple[tuple[int, int], list[Any]]] = []
        """Pools that have a user less, with events behind the work that this user gave."""
        self._waiting = Waiting()
        self._lock = Lock()

    # Asking and giving back

    def allocate(self, nbytes: int, stream: int, pool: Pool | None = None) -> Block:
        """Memory for work of a stream. Raises OutOfMemoryError where there is too little."""
        size = rounded(nbytes or 1)
        is_small = size <= SMALL
        pool = self.pool if pool is None else pool
        if self._lock.is_owned():  # a finaliser asks, which the collector ran in the middle of this
            chunk = self._segment(size, stream, pool, is_small=is_small, asked=nbytes).first
            return self._given(chunk, nbytes, is_small, None)
        with self._lock:
            self._take_back()
            line = current_line() if not is_small or self.records_all_lines else None
            same = pool.quick.get((stream, size))
            if same:
                return self._given(same.pop(), nbytes, is_small, line)
            chunk = pool.fitting_chunk(size, stream, is_small) or self._grown(size, stream, pool, is_small, nbytes)
            if is_worth_splitting(chunk.size - size, is_small=is_small):
                pool.list_for(stream, is_small).add(chunk.split(size))
            return self._given(chunk, nbytes, is_small, line)

    def _given(self, chunk: Chunk, nbytes: int, is_small: bool, line: Line | None) -> Block:
        chunk.is_free, chunk.asked, chunk.line, chunk.streams = False, nbytes, line, None
        usage, size = self.usage, chunk.size
        usage.allocated.add(size, nbytes)
        usage.allocated_by_kind[not is_small].add(size, nbytes)
        if usage.waiting.bytes:
            usage.peak_active = max(usage.peak_active, usage.allocated.bytes + usage.waiting.bytes)
        return Block(chunk, nbytes, self.device, self._returned)

    def _take_back(self) -> None:
        """Free what was returned, as far as no other stream uses it."""
        while self._returned:
            chunk = self._returned.popleft()
            usage, segment, size, asked = self.usage, chunk.segment, chunk.size, chunk.asked
            usage.allocated.remove(size, asked)
            usage.allocated_by_kind[not segment.is_small].remove(size, asked)
            if chunk.streams:
                chunk.is_waiting = True
                usage.waiting.add(size)
                self._after_captures.append(chunk)
            else:
                segment.pool.put_aside(chunk)
        if self._after_captures and not self._is_captured():
            with using(self.device):
                while self._after_captures:
                    self._waiting.add(self._after_captures.pop(), self.device)
        if self._waiting and not self._is_captured():
            self._free_passed()
        if (self._leaving or self._left) and not self._is_captured():
            self._release_pools()

    def _free_passed(self, *, wait: bool = False) -> None:
        for chunk in self._waiting.passed(wait=wait):
            self.usage.waiting.remove(chunk.size)
            chunk.is_waiting = False
            chunk.segment.pool.give_back(chunk)

    def _is_captured(self) -> bool:
        return any(c.device == self.device for c in capturing.underway)

    # Asking the device

    def _grown(self, size: int, stream: int, pool: Pool, is_small: bool, asked: int) -> Chunk:
        """A chunk from a new segment; where there is no room for one, after all else was tried."""
        try:
            return self._segment(segment_size(size), stream, pool, is_small=is_small, asked=asked).first
        except MemoryError:
            if self._is_captured():
                raise
        self.usage.retries += 1
        for make_room in (self._wait_for_streams, self._free_cached, self._collect):
            make_room()
            chunk = pool.fitting_chunk(size, stream, is_small)
            if chunk is not None:
                return chunk
            try:
                return self._segment(segment_size(size), stream, pool, is_small=is_small, asked=asked).first
            except MemoryError as error:
                last = error
        self.usage.shortages += 1
        raise last

    def _wait_for_streams(self) -> None:
        if self._waiting:
            self.usage.waits += 1
            self._free_passed(wait=True)

    def _free_cached(self) -> None:
        self.free_unused()
        with using(self.device):
            library.cupy().get_default_memory_pool().free_all_blocks()

    def _collect(self) -> None:
        """Tensors in cycles that nobody reaches go."""
        gc.collect()
        self._take_back()
        self._wait_for_streams()
        self.free_unused()

    def _segment(self, size: int, stream: int, pool: Pool, *, is_small: bool, asked: int) -> Segment:
        """New memory of the device. Raises OutOfMemoryError."""
        runtime = library.cupy().cuda.runtime
        if self.limit is not None and self.usage.reserved.bytes + size > self.limit:
            raise self._shortage(asked)
        try:
            with using(self.device):
                address = runtime.malloc(size)
        except runtime.CUDARuntimeError as error:
            if error.status != OUT_OF_MEMORY:
                raise
            raise self._shortage(asked) from None
        segment = pool.segments[address] = Segment(address, size, stream, pool, is_small=is_small)
        self.usage.device_allocations += 1
        self.usage.reserved.add(size)
        self.usage.reserved_by_kind[not is_small].add(size)
        return segment

    def _shortage(self, asked: int) -> Exception:
        for pool in (self.pool, *self.private.values()):
            pool.merge()
        with using(self.device):
            free, total = library.cupy().cuda.runtime.memGetInfo()
        return shortage(
            asked=asked, device=self.device, free=free, total=total, allocated=self.usage.allocated.bytes,
            cached=self.usage.reserved.bytes - self.usage.allocated.bytes, limit=self.limit,
            chunks=[c for s in self.segments() for c in s.chunks() if not c.is_free],
            within_capture=self._is_captured(),
        )  # fmt: skip

    def free_unused(self) -> None:
        """Give the device back the segments that nobody has a part of. Nothing happens while a graph is captured."""
        with self._lock:
            self._take_back()
            if self._is_captured():
                return
            self._free_passed()
            pools = [self.pool, *(p for p in self.private.values() if not p.users)]
            unused = [s for p in pools for s in p.unused_segments()]
            if not unused:
                return
            with using(self.device):
                for segment in unused:
                    library.cupy().cuda.runtime.free(segment.address)
            for segment in unused:
                self.usage.device_frees += 1
                self.usage.reserved.remove(segment.size)
                self.usage.reserved_by_kind[not segment.is_small].remove(segment.size)

    # Other streams, pools of graphs

    def used_by(self, address: int, stream: int) -> None:
        """A stream uses the memory at an address: it is not given out again before that has got past.

        Raises ValueError for an address in no block of this allocator.
        """
        with self._lock:
            for segment in self.segments():
                if segment.address <= address < segment.address + segment.size:
                    chunk = next(c for c in segment.chunks() if address < c.address + c.size)
                    if stream != segment.stream:
                        chunk.streams = (chunk.streams or set()) | {stream}
                    return
        raise ValueError(f"{address:#x} is no memory that flambeau gave out: record_stream() cannot keep it")

    def private_pool(self, handle: tuple[int, int]) -> Pool:
        """The pool of that handle, new if there is none; it has one user more."""
        with self._lock:
            pool = self.private.setdefault(handle, Pool(handle[1]))
            pool.users += 1
            return pool

    def release_pool(self, handle: tuple[int, int], streams: Collection[int] = ()) -> None:
        """The pool has one user less, when streams have got past that one's work; without any, it is everybody's.

        Finalisers call it, whatever they interrupt: it is only noted here.
        """
        self._leaving.append((handle, streams))

    def _release_pools(self) -> None:
        cuda = library.cupy().cuda
        while self._leaving:
            handle, streams = self._leaving.popleft()
            with using(self.device):
                events = [cuda.Event(disable_timing=True) for _ in streams]
                for event, stream in zip(events, streams, strict=True):
                    event.record(library.stream_of(stream))
            self._left.append((handle, events))
        still = []
        for handle, events in self._left:
            if all(event.done for event in events):
                self._without_user(handle)
            else:
                still.append((handle, events))
        self._left = still

    def _without_user(self, handle: tuple[int, int]) -> None:
        pool = self.private[handle]
        pool.users -= 1
        if pool.users:
            return
        del self.private[handle]
        pool.merge()
        for segment in pool.segments.values():
            segment.pool = self.pool
        self.pool.segments |= pool.segments
        for (stream, is_small), free_list in pool.free.items():
            for _, _, chunk in free_list.items:
                self.pool.list_for(stream, is_small).add(chunk)

    # Looking

    def settle(self) -> None:
        """Count what came back."""
        with self._lock:
            self._take_back()

    def segments(self) -> list[Segment]:
        """All memory that the device gave, by address."""
        pools = [self.pool, *self.private.values()]
        return sorted((s for p in pools for s in list(p.segments.values())), key=lambda s: s.address)

    def snapshot(self) -> Iterator[tuple[Segment, list[Chunk]]]:
        """The segments with their chunks, as they are now."""
        with self._lock:
            self._take_back()
            for pool in (self.pool, *self.private.values()):
                pool.merge()
            snapshot: list[Any] = [(s, s.chunks()) for s in self.segments()]
        return iter(snapshot)
