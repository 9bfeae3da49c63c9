"""Chunks that were given back while other streams than their own used them: they are free when those have got past."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from flambeau.cuda import library
from flambeau.cuda.allocator.chunks import Chunk


class Waiting:
    """What is waited for, by stream, in the order in which streams get there."""

    def __init__(self) -> None:
        self._by_stream: dict[int, deque[tuple[Any, Chunk]]] = {}
        self._left: dict[Chunk, int] = {}
        """How many streams each chunk is still used by."""
        self._events: list[Any] = []
        """Events that are used again."""

    def __len__(self) -> int:
        return len(self._left)

    def add(self, chunk: Chunk, device: int) -> None:
        """Wait for all streams that use a chunk."""
        cuda = library.cupy().cuda
        assert chunk.streams
        self._left[chunk] = len(chunk.streams)
        for handle in chunk.streams:
            event = self._events.pop() if self._events else cuda.Event(disable_timing=True)
            event.record(library.stream_of(handle))
            self._by_stream.setdefault(handle, deque()).append((event, chunk))
        chunk.streams = None

    def passed(self, *, wait: bool = False) -> Iterator[Chunk]:
        """The chunks that no stream uses any more; with `wait`, all, when the streams have got past."""
        for handle, entries in list(self._by_stream.items()):
            while entries and self._is_past(entries[0][0], wait):
                event, chunk = entries.popleft()
                self._events.append(event)
                self._left[chunk] -= 1
                if not self._left[chunk]:
                    del self._left[chunk]
                    yield chunk
            if not entries:
                del self._by_stream[handle]

    @staticmethod
    def _is_past(event: Any, wait: bool) -> bool:
        if wait:
            event.synchronize()
        return bool(event.done)
