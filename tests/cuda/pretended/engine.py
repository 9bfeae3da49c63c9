"""When work is done: streams, what waits for what, and what is recorded in place of being done.

Work is done at once, or, with `deferred`, that of other streams than the default one is done when something waits for
it. Then a wait that is missing shows as a wrong result.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from tests.cuda.pretended.arena import DEVICES, arena
from tests.cuda.pretended.errors import (
    CAPTURE_ISOLATION,
    CAPTURE_UNJOINED,
    CAPTURE_UNSUPPORTED,
    ILLEGAL_STATE,
    INVALID_DEVICE,
    INVALID_HANDLE,
    CUDARuntimeError,
)

Action = Callable[[], None]
NULL, PER_THREAD = 0, 2


class Capture:
    """What streams are given between the begin and the end of a capture."""

    def __init__(self, origin: Queue, mode: int) -> None:
        self.origin, self.mode = origin, mode
        self.actions: list[Action] = []
        self.queues = {origin}
        self.unjoined: set[Queue] = set()


class Queue:
    """What a stream was given and has not done."""

    def __init__(self, pointer: int, device: int, blocking: bool = True) -> None:
        self.pointer, self.device, self.blocking = pointer, device, blocking
        self.pending: deque[tuple[int, Action]] = deque()
        self.given = self.done = self.captured = 0
        self.capture: Capture | None = None

    def run(self, until: int | None = None) -> None:
        """Do the work up to that number, or all."""
        while self.pending and (until is None or self.pending[0][0] <= until):
            number, action = self.pending.popleft()
            action()
            self.done = number


class Engine:
    """The streams of all devices."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.local = threading.local()
        self.deferred, self.advances = False, True
        self.launches: list[tuple[Any, ...]] = []
        """Kernels that were launched: name, blocks, threads, bytes of shared memory, stream."""
        self.synchronised = 0
        """How often the host waited for a device."""
        self.queues: dict[tuple[int, int], Queue] = {}
        self.next_pointer = 0x5000_0000
        for device in range(DEVICES):
            self.queues[device, NULL] = Queue(NULL, device)

    # Devices and streams of this thread

    @property
    def device(self) -> int:
        return getattr(self.local, "device", 0)

    def use(self, device: int) -> None:
        if not 0 <= device < DEVICES:
            raise CUDARuntimeError(INVALID_DEVICE)
        self.local.device = device

    def new_queue(self, blocking: bool) -> Queue:
        with self.lock:
            self.next_pointer += 0x100
            queue = Queue(self.next_pointer, self.device, blocking)
            self.queues[queue.device, queue.pointer] = queue
            return queue

    def drop(self, queue: Queue) -> None:
        with self.lock:
            queue.run()
            self.queues.pop((queue.device, queue.pointer), None)

    def queue(self, pointer: int, device: int | None = None) -> Queue:
        """The stream that has this handle on a device, the one in use if None."""
        device = self.device if device is None or device < 0 else device
        if pointer == PER_THREAD:
            pointer = PER_THREAD + (threading.get_ident() << 2)
            return self.queues.setdefault((device, pointer), Queue(pointer, device))
        found = self.queues.get((device, pointer))
        if found is None:
            raise CUDARuntimeError(INVALID_HANDLE)
        return found

    # Work

    def submit(self, queue: Queue, action: Action) -> None:
        """Give a stream work."""
        with self.lock:
            if queue.capture is not None:
                queue.capture.actions.append(action)
                queue.captured += 1
                if queue is not queue.capture.origin:
                    queue.capture.unjoined.add(queue)
                return
            if queue.pointer == NULL and any(
                q.capture is not None and q.blocking for q in self.queues.values() if q.device == queue.device
            ):
                raise CUDARuntimeError(CAPTURE_UNSUPPORTED)
            queue.given += 1
            if self.deferred and queue.pointer != NULL:
                queue.pending.append((queue.given, action))
                return
            self.settle(queue)
            action()
            queue.done = queue.given

    def settle(self, queue: Queue) -> None:
        """Do what work on a stream comes after: its own, and of the default stream that of all that block."""
        queue.run()
        if queue.pointer == NULL:
            for other in [q for q in self.queues.values() if q.device == queue.device and q.blocking]:
                other.run()

    def is_lazy(self, queue: Queue) -> bool:
        """Whether work on this stream is done later."""
        return queue.capture is not None or (self.deferred and queue.pointer != NULL)

    def synchronise(self, queue: Queue | None = None) -> None:
        """Wait for a stream, or for all of the device in use; refused while one captures."""
        with self.lock:
            chosen = [queue] if queue else [q for q in self.queues.values() if q.device == self.device]
            if any(q.capture for q in chosen):
                raise CUDARuntimeError(CAPTURE_UNSUPPORTED)
            self.synchronised += 1
            for q in chosen:
                self.settle(q)

    @contextmanager
    def later(self, *, advances: bool = True) -> Any:
        """Within the block, work of other streams than the default one is done when something waits for it.

        A question whether it is done, answered with no, has it done, unless nothing `advances` without waiting.
        """
        self.deferred, self.advances = True, advances
        try:
            yield self
        finally:
            self.deferred, self.advances = False, True
            for q in list(self.queues.values()):
                q.run()

    # Captures

    def begin(self, queue: Queue, mode: int) -> None:
        with self.lock:
            if queue.pointer == NULL:
                raise CUDARuntimeError(CAPTURE_UNSUPPORTED)
            if queue.capture is not None:
                raise CUDARuntimeError(ILLEGAL_STATE)
            queue.capture = Capture(queue, mode)

    def end(self, queue: Queue) -> list[Action]:
        with self.lock:
            capture = queue.capture
            if capture is None or capture.origin is not queue:
                raise CUDARuntimeError(ILLEGAL_STATE)
            for q in capture.queues:
                q.capture = None
            if capture.unjoined:
                raise CUDARuntimeError(CAPTURE_UNJOINED)
            return capture.actions

    def check_no_capture(self) -> None:
        """For what frees memory, which no capture permits."""
        if any(q.capture is not None for q in self.queues.values()):
            arena.mistakes.append("memory of a device was freed within a capture")
            raise CUDARuntimeError(CAPTURE_UNSUPPORTED)


class Mark:
    """A place in the work of a stream, which others wait for."""

    def __init__(self) -> None:
        self.queue: Queue | None = None
        self.number = self.captured = 0
        self.capture: Capture | None = None
        self.time = 0.0

    def record(self, queue: Queue) -> None:
        with engine.lock:
            self.queue, self.capture = queue, queue.capture
            engine.submit(queue, self._passed)
            self.number, self.captured = queue.given, queue.captured

    def _passed(self) -> None:
        self.time = time.perf_counter()

    def is_done(self) -> bool:
        return self.queue is None or self.queue.done >= self.number

    def reach(self) -> None:
        """Do the work before this place."""
        if self.queue is not None and not self.is_done():
            self.queue.run(self.number)

    def hold(self, queue: Queue) -> None:
        """A stream's further work comes after this place."""
        with engine.lock:
            capture = self.capture
            if capture is not None and capture.origin.capture is capture:
                if queue.capture is None:
                    queue.capture = capture
                    capture.queues.add(queue)
                    capture.unjoined.add(queue)
                elif self.queue is not None and self.queue is not queue and self.captured == self.queue.captured:
                    capture.unjoined.discard(self.queue)
                return
            before, number = self.queue, self.number
            if before is None:
                return
            if queue.capture is not None:
                raise CUDARuntimeError(CAPTURE_ISOLATION)
            engine.submit(queue, lambda: before.run(number))


engine = Engine()
