"""CuPy's streams, events and graphs over the double's engine."""

from __future__ import annotations

import warnings
from typing import Any

from tests.cuda.pretended.engine import NULL, PER_THREAD, Action, Capture, Mark, Queue, engine
from tests.cuda.pretended.errors import INVALID_HANDLE, NOT_READY, CUDARuntimeError

RELAXED = 2
_COUNTER = [0x6000_0000]


def new_handle() -> int:
    """A number that no other handle has."""
    _COUNTER[0] += 0x10
    return _COUNTER[0]


class Event:
    """A place in the work of a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        self.mark = Mark()
        self.timed = not disable_timing
        self.ptr = new_handle()
        self.device_id = engine.device

    def record(self, stream: Any = None) -> None:
        self.mark.record(queue_of(stream))

    @property
    def done(self) -> bool:
        """Whether the place is reached; the device gets on meanwhile."""
        with engine.lock:
            done = self.mark.is_done()
            if engine.advances:
                self.mark.reach()
            return done

    def synchronize(self) -> None:
        with engine.lock:
            engine.synchronised += 1
            self.mark.reach()


def get_elapsed_time(start: Event, end: Event) -> float:
    """Milliseconds between two events."""
    if not (start.timed and end.timed) or start.mark.queue is None or end.mark.queue is None:
        raise CUDARuntimeError(INVALID_HANDLE)
    if not (start.mark.is_done() and end.mark.is_done()):
        raise CUDARuntimeError(NOT_READY)
    return (end.mark.time - start.mark.time) * 1e3


class Graph:
    """Work that was captured."""

    def __init__(self, actions: list[Action]) -> None:
        self.actions = actions
        self.graph, self.graphExec = new_handle(), new_handle()
        self.launched = 0

    def launch(self, stream: Any = None) -> None:
        """Do all of it, in a stream."""
        self.launched += 1
        queue = queue_of(stream)
        for action in self.actions:
            engine.submit(queue, action)

    def upload(self, stream: Any = None) -> None:
        queue_of(stream)

    def debug_dot_str(self, flags: int = 1) -> str:
        return "digraph {" + "".join(f"n{k};" for k in range(len(self.actions))) + "}"


class _BaseStream:
    """What all streams do."""

    ptr: int
    device_id: int
    is_non_blocking = False

    def __enter__(self) -> Any:
        _stack().append((engine.device, current(engine.device)))
        self.use()
        return self

    def __exit__(self, *_: object) -> None:
        device, before = _stack().pop()
        _currents()[device] = before

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BaseStream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def use(self) -> Any:
        if self.device_id not in (-1, engine.device):
            raise RuntimeError(f"This stream was not created on device {engine.device}. Call Device.use() first.")
        _currents()[engine.device] = self
        return self

    @property
    def queue(self) -> Queue:
        return engine.queue(self.ptr, self.device_id)

    @property
    def done(self) -> bool:
        with engine.lock:
            done = not self.queue.pending
            if engine.advances:
                engine.settle(self.queue)
            return done

    def synchronize(self) -> None:
        engine.synchronise(self.queue)

    def record(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        event.mark.hold(self.queue)

    def launch_host_func(self, callback: Any, arg: Any) -> None:
        engine.submit(self.queue, lambda: callback(arg))

    def add_callback(self, callback: Any, arg: Any) -> None:
        engine.submit(self.queue, lambda: callback(self, 0, arg))

    def begin_capture(self, mode: int | None = None) -> None:
        engine.begin(self.queue, RELAXED if mode is None else mode)

    def end_capture(self) -> Graph:
        return Graph(engine.end(self.queue))

    def is_capturing(self) -> bool:
        return self.queue.capture is not None

    @property
    def capture(self) -> Capture | None:
        return self.queue.capture


class Stream(_BaseStream):
    """A stream of its own, or one of the default ones."""

    null: Stream
    ptds: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self.own: Queue | None = None
        self.priority = priority or 0
        if null or ptds:
            self.ptr, self.device_id = (NULL if null else PER_THREAD), -1
            return
        self.own = engine.new_queue(not non_blocking)
        self.ptr, self.device_id, self.is_non_blocking = self.own.pointer, self.own.device, non_blocking

    def __del__(self) -> None:
        own = getattr(self, "own", None)
        if own is not None and engine is not None:  # it is gone while the interpreter ends
            engine.drop(own)

    @staticmethod
    def from_external(stream: Any) -> ExternalStream:
        """The stream of an object that has `__cuda_stream__`."""
        version, pointer = stream.__cuda_stream__()
        assert version == 0
        return ExternalStream(pointer, _owner=stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr


class ExternalStream(_BaseStream):
    """A stream that somebody else owns."""

    def __init__(self, ptr: int, device_id: int = -1, *, _owner: Any = None) -> None:
        if _owner is None:
            warnings.warn("ExternalStream is deprecated. Use Stream.from_external()", DeprecationWarning, stacklevel=2)
        self.ptr, self.device_id, self.priority, self.owner = ptr, device_id, 0, _owner


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


def _currents() -> dict[int, Any]:
    if not hasattr(engine.local, "streams"):
        engine.local.streams = {}
    return engine.local.streams


def _stack() -> list[Any]:
    if not hasattr(engine.local, "stack"):
        engine.local.stack = []
    return engine.local.stack


def current(device: int | None = None) -> Any:
    """The stream in use in this thread."""
    device = engine.device if device is None or device < 0 else device
    return _currents().get(device, Stream.null)


def get_current_stream(device_id: int = -1) -> Any:
    return current(device_id)


def queue_of(stream: Any = None) -> Queue:
    """The work of a stream: the one in use if None; a number is its handle."""
    stream = current() if stream is None else stream
    return engine.queue(stream) if isinstance(stream, int) else stream.queue
