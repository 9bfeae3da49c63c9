"""CUDA graphs: work that is captured once and given to a device again in one piece, with the same memory.

Between `capture_begin` and `capture_end` nothing runs. What is made meanwhile has memory that belongs to the graph: a
replay writes the same results into the same tensors, from the same arguments, which are filled before.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final

from flambeau.cuda import allocator, capturing, library
from flambeau.cuda.devices import device as using
from flambeau.cuda.devices import index_of, synchronize
from flambeau.cuda.memory import MemPool, empty_cache
from flambeau.cuda.streams import Stream, current_stream, stream
from flambeau.util.inversions import GRAPHED_CALLABLES

MODES: Final = {"global": 0, "thread_local": 1, "relaxed": 2}
DEFAULT_STREAM: Final = (
    "the default stream cannot be captured: write `with flambeau.cuda.graph(g):`, which uses another one, or "
    "capture within `with flambeau.cuda.stream(s):`"
)
NOT_CAPTURED: Final = "this graph holds no work: capture some first, `with flambeau.cuda.graph(g): ...`"
CAPTURED_BEFORE: Final = "this graph was captured before: call reset(), or use another CUDAGraph"
UNJOINED: Final = (
    "another stream joined the capture, and what it was given is not waited for: write "
    "current_stream().wait_stream(other) before its end"
)
UNJOINED_STATUS: Final = 904
NOT_CAPTURING: Final = "capture_end() without capture_begin() on this stream"
CUPY_REFUSES: Final = "the current stream is capturing"
"""How CuPy's own errors begin for copies to and from the host within a capture."""
CAPTURE_REFUSED: Final = (900, 901, 905, 906, 907)
"""What CUDA answers to what no capture may hold."""

PoolOf = allocator.Handle | MemPool | None


class CUDAGraph:
    """Work of a device that `replay` gives it again.

    Args:
        keep_graph: kept for programs that say it; the work can be printed with `debug_dump` either way.

    >>> import flambeau
    >>> x = flambeau.zeros(2, device="cuda")
    >>> captured = flambeau.cuda.CUDAGraph()
    >>> with flambeau.cuda.graph(captured):
    ...     y = x * 2 + 1
    >>> _ = x.fill_(3.0)
    >>> captured.replay()
    >>> y.tolist()
    [7.0, 7.0]
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._graph: Any = None
        self._capture: capturing.Capture | None = None
        self._kept: list[Any] = []
        """What the work needs: the code of kernels."""
        self._handle: allocator.Handle | None = None
        self._device = 0
        self._streams: set[int] = set()
        """Streams that the work was given to."""

    def capture_begin(self, pool: PoolOf = None, capture_error_mode: str = "relaxed") -> None:
        """Capture what the stream in use is given from now on.

        Args:
            pool: memory that graphs share, of `graph_pool_handle()`, of another graph's `pool()` or a `MemPool`. Graphs
                that share are replayed in the order of their captures, and do not need each other's results later.
            capture_error_mode: `"relaxed"`; `"global"` and `"thread_local"` refuse new memory of the device meanwhile.

        Raises RuntimeError on the default stream and for a graph that was captured before, ValueError for another mode.
        """
        if capture_error_mode not in MODES:
            raise ValueError(f"expected a mode among {', '.join(MODES)}, got {capture_error_mode!r}")
        if self._graph is not None or self._capture is not None:
            raise RuntimeError(CAPTURED_BEFORE)
        chosen = current_stream()
        if not chosen.cuda_stream:
            raise RuntimeError(DEFAULT_STREAM)
        self._device = chosen.device_index
        self._handle = pool.id if isinstance(pool, MemPool) else pool or allocator.new_handle()
        memory = allocator.of_device(self._device).private_pool(self._handle)
        self._capture = capturing.Capture(self._device, chosen.cuda_stream, memory)
        capturing.underway.append(self._capture)
        try:
            chosen._stream.begin_capture(MODES[capture_error_mode])
        except BaseException:
            self._ended()
            self._released()
            raise

    def capture_end(self) -> None:
        """End the capture. Raises RuntimeError if none is underway on the stream in use, or if it failed."""
        chosen = current_stream()
        if self._capture is None or self._capture.stream != chosen.cuda_stream:
            raise RuntimeError(NOT_CAPTURING)
        try:
            self._graph = chosen._stream.end_capture()
        except BaseException as error:
            self._released()
            if getattr(error, "status", None) == UNJOINED_STATUS:
                raise RuntimeError(UNJOINED) from error
            raise
        finally:
            self._ended()

    def _ended(self) -> None:
        if self._capture is not None:
            capturing.underway.remove(self._capture)
            self._kept, self._capture = self._capture.kept, None

    def _released(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            allocator.of_device(self._device).release_pool(handle, self._streams)
            self._streams = set()

    def replay(self) -> None:
        """Give the stream in use of the graph's device all the work again. Raises RuntimeError if there is none."""
        if self._graph is None:
            raise RuntimeError(NOT_CAPTURED)
        cuda = library.cupy().cuda
        if cuda.runtime.getDevice() != self._device:
            with using(self._device):
                self.replay()
            return
        chosen = cuda.get_current_stream()
        self._streams.add(chosen.ptr)
        self._graph.launch(chosen)

    def reset(self) -> None:
        """Forget the work; its memory is everybody's, when no tensor has it."""
        self._graph = None
        self._kept = []
        if self._capture is None:
            self._released()

    def pool(self) -> allocator.Handle:
        """What names the memory of this graph, for others that share it. Raises RuntimeError before a capture."""
        if self._handle is None:
            raise RuntimeError(NOT_CAPTURED)
        return self._handle

    def debug_dump(self, debug_path: str) -> None:
        """Write the work as a graph in DOT's language. Raises RuntimeError if there is none."""
        if self._graph is None:
            raise RuntimeError(NOT_CAPTURED)
        with open(debug_path, "w", encoding="utf-8") as file:
            file.write(self._graph.debug_dot_str())

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.reset()


def graph_pool_handle() -> allocator.Handle:
    """A name for memory that several graphs share: `with flambeau.cuda.graph(g, pool=handle):`.

    >>> import flambeau
    >>> handle = flambeau.cuda.graph_pool_handle()
    >>> captured, x = flambeau.cuda.CUDAGraph(), flambeau.zeros(2, device="cuda")
    >>> with flambeau.cuda.graph(captured, pool=handle):
    ...     y = x + 1
    >>> captured.pool() == handle
    True
    """
    return allocator.new_handle()


def is_current_stream_capturing() -> bool:
    """Whether what the stream in use is given is captured in place of being done; False without a device.

    >>> is_current_stream_capturing()
    False
    """
    if not capturing.underway:
        return False
    return bool(library.cupy().cuda.get_current_stream().is_capturing())


_streams: dict[tuple[int, int], Stream] = {}
"""Streams that captures use, by library and device."""


class graph(AbstractContextManager[None]):  # noqa: N801  (as PyTorch calls it)
    """Within the block, work is captured into a graph, on a stream of its own.

    Args:
        cuda_graph: the graph.
        pool: memory that it shares with other graphs.
        stream: the stream to use; one for captures if None.
        capture_error_mode: as `CUDAGraph.capture_begin` takes it.

    Raises RuntimeError that names the line for what waits for the device within the block.

    >>> import flambeau
    >>> captured, x = flambeau.cuda.CUDAGraph(), flambeau.zeros(2, device="cuda")
    >>> with flambeau.cuda.graph(captured):
    ...     y = x - 1
    >>> captured.replay()
    >>> y.tolist()
    [-1.0, -1.0]
    """

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: PoolOf = None,
        stream: Stream | None = None,
        capture_error_mode: str = "relaxed",
    ) -> None:
        self._graph, self._pool, self._mode = cuda_graph, pool, capture_error_mode
        self._chosen = stream
        self._block: Any = None

    def __enter__(self) -> None:
        synchronize()
        gc.collect()
        empty_cache()
        chosen = self._chosen
        if chosen is None:
            key = (id(library.cupy()), index_of(None))
            chosen = _streams[key] = _streams.get(key) or Stream()
        self._block = stream(chosen)
        self._block.__enter__()
        try:
            self._graph.capture_begin(self._pool, self._mode)
        except BaseException:
            self._block.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._graph.capture_end()
        except Exception:
            if error is None:
                raise
        finally:
            self._block.__exit__(None, None, None)
        if error is not None:
            self._graph.reset()
            if getattr(error, "status", None) in CAPTURE_REFUSED or CUPY_REFUSES in str(error):
                raise capturing.refusal(traceback) from error


def make_graphed_callables(
    callables: Callable[..., Any] | tuple[Callable[..., Any], ...],
    sample_args: tuple[Any, ...],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: PoolOf = None,
) -> Any:
    """Functions or modules whose work, there and back, is two graphs that are replayed in each call.

    Args:
        callables: a function or module of tensors, or several, in the order in which they are called.
        sample_args: arguments of the shapes, dtypes and need of gradients that calls will have; a tuple for each.
        num_warmup_iters: how often each runs before it is captured.
        allow_unused_input: whether arguments may be without a gradient.
        pool: memory that the graphs share with others.

    Results are written over by the next call. Raises RuntimeError for what cannot be captured.

    >>> import flambeau
    >>> def twice(x):
    ...     return x * 2
    >>> graphed = flambeau.cuda.make_graphed_callables(twice, (flambeau.ones(2, device="cuda"),))
    >>> graphed(flambeau.full((2,), 4.0, device="cuda")).tolist()
    [8.0, 8.0]
    """
    return GRAPHED_CALLABLES.implementation(callables, sample_args, num_warmup_iters, allow_unused_input, pool)
