"""Streams: orders of work on a device, of which several go on at once; and events, which are places in them.

The stream in use belongs to a thread and a device; it is CuPy's, too, so that its functions and flambeau's kernels are
given to the same.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from flambeau.cuda import capturing, late_errors, library
from flambeau.cuda.devices import AnyDevice, index_of
from flambeau.cuda.devices import device as using
from flambeau.schema.device import Device
from flambeau.util.locks import Lock

STREAMS_OF_A_PRIORITY: Final = 32
"""As many streams of a device there are; then they are handed out again. Memory is kept by stream: none ever ends."""
NOT_TIMED: Final = "this event was made without times: write Event(enable_timing=True) for both"
NOT_RECORDED: Final = "both events must be recorded before the time between them can be asked for"


class _StreamPool:
    """Streams of CuPy's by device and priority."""

    def __init__(self) -> None:
        self.streams: dict[tuple[Any, int, int], list[Any]] = {}
        self.handed_out: dict[tuple[Any, int, int], int] = {}
        self.lock = Lock()


_pool = _StreamPool()


def _new_stream(device: int, priority: int) -> Any:
    """One of the streams of a device and priority."""
    cuda = library.cupy().cuda
    key = (id(cuda), device, priority)
    with _pool.lock:
        streams = _pool.streams.setdefault(key, [])
        number = _pool.handed_out[key] = _pool.handed_out.get(key, 0) + 1
        if len(streams) < STREAMS_OF_A_PRIORITY:
            with using(device):
                streams.append(cuda.Stream(non_blocking=True, priority=priority))
            return streams[-1]
        return streams[number % STREAMS_OF_A_PRIORITY]


class Stream:
    """Work of a device that is done in its order, beside that of other streams.

    Args:
        device: the device, the one in use if None.
        priority: the less, the sooner it is given a part of the device: 0, or -1 for what is urgent.

    Raises RuntimeError if there is no such device.

    >>> import flambeau
    >>> side = flambeau.cuda.Stream()
    >>> with side:
    ...     y = flambeau.ones(3, device="cuda") + 1
    >>> flambeau.cuda.current_stream().wait_stream(side)  # before others use y
    >>> y.tolist()
    [2.0, 2.0, 2.0]
    """

    __slots__ = ("_stream", "device", "priority")

    def __init__(self, device: AnyDevice = None, priority: int = 0, *, _stream: Any = None) -> None:
        index = index_of(device)
        self.device = Device("cuda", index)
        self.priority = priority
        self._stream = _new_stream(index, priority) if _stream is None else _stream

    @property
    def cuda_stream(self) -> int:
        """CUDA's handle."""
        return int(self._stream.ptr)

    stream_id = cuda_stream

    @property
    def device_index(self) -> int:
        """The device's number."""
        index = self.device.index
        assert index is not None
        return index

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream

    def synchronize(self) -> None:
        """Wait until the device has done the work in this stream. Raises RuntimeError within a capture."""
        capturing.refuse_waiting("Stream.synchronize()")
        with using(self.device_index):
            self._stream.synchronize()
        late_errors.tell()

    def query(self) -> bool:
        """Whether the device has done all the work in this stream."""
        with using(self.device_index):
            return bool(self._stream.done)

    def record_event(self, event: Event | None = None) -> Event:
        """An event at the end of the work in this stream; a new one if None."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Later work in this stream comes after an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Later work in this stream comes after all the work in another."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        _entered(self)
        return self

    def __exit__(self, *_: object) -> None:
        _left()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Stream) and self.device == other.device and self.cuda_stream == other.cuda_stream
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.device, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<flambeau.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library has, by its handle.

    Args:
        stream_ptr: the handle; who made the stream keeps it alive.
        device: its device, the one in use if None.

    >>> import flambeau
    >>> side = flambeau.cuda.Stream()
    >>> flambeau.cuda.ExternalStream(side.cuda_stream) == side
    True
    """

    __slots__ = ()

    def __init__(self, stream_ptr: int, device: AnyDevice = None) -> None:
        super().__init__(device, _stream=library.stream_of(stream_ptr))


class Event:
    """A place in the work of a stream, which the host or other streams wait for.

    Args:
        enable_timing: whether the time between this and another event can be asked for.
        blocking: whether a thread that waits for it sleeps meanwhile.
        interprocess: whether other processes may wait for it; not with times.

    >>> import flambeau
    >>> start, end = (flambeau.cuda.Event(enable_timing=True) for _ in range(2))
    >>> start.record()
    >>> y = flambeau.ones(3, device="cuda") + 1
    >>> end.record()
    >>> end.synchronize()
    >>> start.elapsed_time(end) >= 0  # milliseconds
    True
    """

    __slots__ = ("_event", "_is_blocking", "_is_interprocess", "_is_recorded", "_is_timed")

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._is_timed, self._is_blocking, self._is_interprocess = enable_timing, blocking, interprocess
        self._event: Any = None
        self._is_recorded = False

    def record(self, stream: Stream | None = None) -> None:
        """Put it behind the work in a stream, the one in use if None."""
        stream = current_stream() if stream is None else stream
        with using(stream.device_index):
            if self._event is None:
                self._event = library.cupy().cuda.Event(
                    block=self._is_blocking, disable_timing=not self._is_timed, interprocess=self._is_interprocess
                )
            self._event.record(stream._stream)
        self._is_recorded = True

    def wait(self, stream: Stream | None = None) -> None:
        """Later work in a stream, the one in use if None, comes after this event."""
        if self._is_recorded:
            stream = current_stream() if stream is None else stream
            with using(stream.device_index):
                stream._stream.wait_event(self._event)

    def query(self) -> bool:
        """Whether the device has got there; also if it was never recorded."""
        return not self._is_recorded or bool(self._event.done)

    def synchronize(self) -> None:
        """Wait until the device gets there. Raises RuntimeError within a capture."""
        capturing.refuse_waiting("Event.synchronize()")
        if self._is_recorded:
            self._event.synchronize()
        late_errors.tell()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from here to another event. Raises RuntimeError if one of them has no time."""
        if not (self._is_timed and end_event._is_timed):
            raise RuntimeError(NOT_TIMED)
        if not (self._is_recorded and end_event._is_recorded):
            raise RuntimeError(NOT_RECORDED)
        return float(library.cupy().cuda.get_elapsed_time(self._event, end_event._event))

    def __repr__(self) -> str:
        return f"<flambeau.cuda.Event {'recorded' if self._is_recorded else 'not recorded'}>"


def current_stream(device: AnyDevice = None) -> Stream:
    """The stream that work of this thread on a device is given to. Raises RuntimeError without a device.

    >>> import flambeau
    >>> with flambeau.cuda.Stream() as side:
    ...     print(flambeau.cuda.current_stream() == side)
    True
    """
    index = index_of(device)
    return Stream(index, _stream=library.cupy().cuda.get_current_stream(index))


def default_stream(device: AnyDevice = None) -> Stream:
    """The stream that is in use where nobody chose one; work on it comes after that of CUDA's blocking streams.

    Raises RuntimeError without a device.

    >>> import flambeau
    >>> flambeau.cuda.current_stream() == flambeau.cuda.default_stream()
    True
    """
    return Stream(device, _stream=library.cupy().cuda.Stream.null)


def set_stream(stream: Stream) -> None:
    """Give a stream this thread's work on its device from now on.

    >>> import flambeau
    >>> side = flambeau.cuda.Stream()
    >>> flambeau.cuda.set_stream(side)
    >>> flambeau.cuda.current_stream() == side
    True
    >>> flambeau.cuda.set_stream(flambeau.cuda.default_stream())
    """
    with using(stream.device_index):
        stream._stream.use()


class _Before(threading.local):
    """What was in use before the blocks that a thread is in."""

    def __init__(self) -> None:
        self.stack: list[tuple[int, Stream]] = []


_before = _Before()


def _entered(stream: Stream) -> None:
    runtime = library.cupy().cuda.runtime
    _before.stack.append((runtime.getDevice(), current_stream(stream.device)))
    runtime.setDevice(stream.device_index)
    set_stream(stream)


def _left() -> None:
    device, stream = _before.stack.pop()
    set_stream(stream)
    library.cupy().cuda.runtime.setDevice(device)


@contextmanager
def stream(chosen: Stream | None) -> Iterator[Stream | None]:
    """Within the block, this thread uses a stream and its device; None changes nothing.

    >>> import flambeau
    >>> side = flambeau.cuda.Stream()
    >>> with flambeau.cuda.stream(side):
    ...     print(flambeau.cuda.current_stream() == side)
    True
    """
    if chosen is None:
        yield None
        return
    with chosen:
        yield chosen
