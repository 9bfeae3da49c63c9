"""`profile`: how long each operator of a block took, or of steps that a `schedule` chooses, as a table and as a trace
for Chrome.

Within the block scripted functions run an operator at a time, so that each is seen; nothing is fused. How long native
code takes as a whole says `fn.profile(*args)`.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ContextDecorator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any, ClassVar, Final, Self

from flambeau.autograd.profiler_schedule import ProfilerAction, always, ends_trace, is_recorded, never, schedule
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor
from flambeau.util.absent_names import refuse as _refuse
from flambeau.util.record import dataclass

if not _TYPE_CHECKING:  # for checkers of types, there is what there is
    __getattr__ = _refuse(__name__)

__all__ = [
    "Average", "Averages", "Event", "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
NOT_OVER: Final = (
    "the block that is profiled is not over: ask behind it, or in on_trace_ready, which is called when a trace is "
    "complete"
)
OTHER_ACTIVITIES: Final = (
    "a profile times calls on the host, not {others}: write activities=[ProfilerActivity.CPU]. What a whole function "
    "takes, on a device too, says fn.profile(*args)"
)
NOT_KEPT: Final = (
    "profile: {names} asks for what is not kept here, where a profile has the names, times and, with record_shapes, "
    "the sizes of operators"
)
_NOT_KEPT: Final = (
    "profile_memory", "with_stack", "with_flops", "with_modules", "use_cuda", "use_device", "experimental_config",
    "execution_trace_observer",
)  # fmt: skip
_MEANING_NOTHING: Final = ("use_cpu", "use_kineto", "acc_events", "custom_trace_id_callback")
"""Options of how PyTorch records."""
ENTERED: Final = "a profile is of one block: make another one"
SORT_KEYS: Final = ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count")
WRONG_KEY: Final = "a table is sorted by one of {keys}, got {key!r}"


class ProfilerActivity(Enum):
    """What a profile may time.

    >>> ProfilerActivity.CPU.name
    'CPU'
    """

    CPU = 0
    CUDA = 1


@dataclass(frozen=True, slots=True)
class Event:
    """One call of an operator. Times are microseconds since the block began.

    >>> Event("aten::add", 0.0, 1.5, 1, ((2,), (2,))).duration
    1.5
    """

    name: str
    start: float
    duration: float
    thread: int
    sizes: tuple[tuple[int, ...], ...]
    """Of its tensors."""
    within: float | None = None
    """Of a named block, what the operators in it took; None of an operator."""
    count: ClassVar[int] = 1

    @property
    def key(self) -> str:
        """The name, as averages have it."""
        return self.name

    @property
    def input_shapes(self) -> list[list[int]]:
        """The sizes of its tensors, as lists."""
        return [list(sizes) for sizes in self.sizes]

    @property
    def cpu_time_total(self) -> float:
        """The duration."""
        return self.duration

    @property
    def self_cpu_time_total(self) -> float:
        """The duration, of a named block without its operators."""
        return self.duration - (self.within or 0.0)


@dataclass(frozen=True, slots=True)
class Average:
    """All calls of one operator.

    >>> Average("aten::add", 4, 6.0).count
    4
    """

    key: str
    count: int
    cpu_time_total: float
    """Microseconds of all calls, with what they called themselves."""
    input_shapes: tuple[tuple[int, ...], ...] = ()
    """The sizes of the tensors, where calls are apart by them."""
    within: float | None = None
    """Of named blocks, what the operators in them took; None of operators."""

    @property
    def self_cpu_time_total(self) -> float:
        """The same, as what an operator calls is no call of the block's; of named blocks without their operators."""
        return self.cpu_time_total - (self.within or 0.0)

    @property
    def cpu_time(self) -> float:
        """Microseconds of a call, on average."""
        return self.cpu_time_total / self.count


class Averages(Sequence[Average]):
    """The operators of a block, the longest first.

    >>> [average.key for average in Averages([Average("aten::add", 4, 6.0), Average("aten::mm", 1, 20.0)])]
    ['aten::mm', 'aten::add']
    """

    def __init__(self, averages: Sequence[Average]) -> None:
        self._averages = sorted(averages, key=lambda a: -a.cpu_time_total)

    def __len__(self) -> int:
        return len(self._averages)

    def __getitem__(self, index: Any) -> Any:
        return self._averages[index]

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """The operators as lines. Raises ValueError for something that operators are not sorted by."""
        if sort_by is not None and sort_by not in SORT_KEYS:
            raise ValueError(WRONG_KEY.format(keys=", ".join(SORT_KEYS), key=sort_by))
        rows = self._averages if sort_by is None else sorted(self._averages, key=lambda a: -getattr(a, sort_by))
        whole = sum(a.self_cpu_time_total for a in rows) or 1.0
        width = max([len("Name"), *(len(a.key) for a in rows)])
        lines = [f"{'Name':<{width}}  {'CPU total':>12}  {'CPU %':>8}  {'CPU time avg':>12}  {'# of Calls':>10}"]
        for a in rows[:row_limit]:
            times = f"{a.cpu_time_total:>10.3f}us  {100 * a.cpu_time_total / whole:>7.2f}%  {a.cpu_time:>10.3f}us"
            lines.append(f"{a.key:<{width}}  {times}  {a.count:>10}")
        return "\n".join([*lines, f"CPU time total: {whole:.3f}us"])


def _check_options(options: Mapping[str, Any]) -> None:
    """Warn of what is asked for and is not kept. Raises TypeError for an option that no profile has."""
    for name in options:
        if name not in (*_NOT_KEPT, *_MEANING_NOTHING):
            raise TypeError(f"profile.__init__() got an unexpected keyword argument '{name}'")
    if asked := [name for name in _NOT_KEPT if options.get(name)]:
        warnings.warn(NOT_KEPT.format(names=", ".join(asked)), UserWarning, stacklevel=3)


class profile:  # noqa: N801  (as programs write it)
    """A block of this thread whose operators are timed, those that operators call with them.

    Args:
        activities: what is timed, which are calls on the host alone: `[ProfilerActivity.CPU]`, as without it.
        schedule: says what is done in each step, which calls of `step` end; without it all is one trace.
        on_trace_ready: is called with the profile when a trace is complete: at the end of the last step that the
            schedule records for it, or of the block.
        record_shapes: keep the sizes of tensors too.
        enabled: whether anything is recorded.
        options: what PyTorch's profile keeps besides, `with_stack`, `profile_memory` and others: is not kept, and
            warned of where it is asked for.

    Raises ValueError for other activities, TypeError for other options.

    >>> import flambeau
    >>> with flambeau.profiler.profile() as recorded:
    ...     y = flambeau.ones(3) * 2
    >>> sorted(average.key for average in recorded.key_averages())
    ['aten::mul', 'aten::ones']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        activities: Sequence[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        **options: Any,
    ) -> None:
        _check_options(options)
        if others := [one.name for one in activities or () if one is not ProfilerActivity.CPU]:
            raise ValueError(OTHER_ACTIVITIES.format(others=", ".join(others)))
        self._record_shapes = record_shapes
        self._has_steps = schedule is not None
        self._schedule = (schedule or always) if enabled else never
        self._on_trace_ready = on_trace_ready
        self.step_num = 0
        """How often `step` was called."""
        self._action = ProfilerAction.NONE
        self._step_block: record_function | None = None
        self._events: list[Event] = []
        self._block: AbstractContextManager[None] | None = None
        self._begin = 0.0
        self._is_over = False

    def __enter__(self) -> Self:
        if self._block is not None:
            raise RuntimeError(ENTERED)
        self._begin = time.perf_counter()
        self._block = dispatch.intercepting(self._timed)
        self._block.__enter__()
        self._begin_step(ProfilerAction.NONE)
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._block is not None
        before = self._end_step()
        self._block.__exit__(*error)
        self._is_over = True
        if is_recorded(before) and self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def start(self) -> None:
        """Begin the block, where it is no `with`. Raises RuntimeError the second time."""
        self.__enter__()

    def stop(self) -> None:
        """End the block that `start` began."""
        self.__exit__(None, None, None)

    def step(self) -> None:
        """Say that a step of the loop is over: what the schedule says of the next one is done with it."""
        before = self._end_step()
        self.step_num += 1
        if ends_trace(before):
            self._is_over = True
            if self._on_trace_ready is not None:
                self._on_trace_ready(self)
        self._begin_step(before)

    def _begin_step(self, before: ProfilerAction) -> None:
        self._action = self._schedule(self.step_num)
        if self._action is ProfilerAction.NONE:
            return
        self._is_over = False
        if not is_recorded(before) or ends_trace(before):
            self._events = []  # of the trace before, or of a step that is thrown away
        _profiles().append(self)
        if self._has_steps:
            self._step_block = record_function(f"ProfilerStep#{self.step_num}")
            self._step_block.__enter__()

    def _end_step(self) -> ProfilerAction:
        if self._step_block is not None:
            self._step_block.__exit__()
            self._step_block = None
        if self._action is not ProfilerAction.NONE:
            _profiles().remove(self)
        before, self._action = self._action, ProfilerAction.NONE
        return before

    def _timed(self, definition: OpDef, arguments: Sequence[Any], proceed: dispatch.Proceed) -> Any:
        if self._action is ProfilerAction.NONE:
            return proceed(arguments)
        start = time.perf_counter()
        try:
            return proceed(arguments)
        finally:
            duration = (time.perf_counter() - start) * 1e6
            sizes = tuple(_sizes(arguments)) if self._record_shapes else ()
            began = (start - self._begin) * 1e6
            self._events.append(Event(definition.name, began, duration, threading.get_ident(), sizes))

    def events(self) -> list[Event]:
        """All calls, in the order in which they began. Raises RuntimeError within the block."""
        if not self._is_over:
            raise RuntimeError(NOT_OVER)
        return sorted(self._events, key=lambda event: event.start)

    @property
    def function_events(self) -> list[Event]:
        """The events, as `events()` gives them."""
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all operators together, blocks apart."""
        return sum(event.duration for event in self.events() if event.within is None)

    def total_average(self) -> Average:
        """All operators as one, blocks apart.

        >>> import flambeau
        >>> with flambeau.profiler.profile() as recorded:
        ...     y = flambeau.ones(3) * 2
        >>> total = recorded.total_average()
        >>> total.key, total.count
        ('Total', 2)
        """
        operators = [event for event in self.events() if event.within is None]
        return Average("Total", len(operators), sum(event.duration for event in operators), ())

    def __str__(self) -> str:
        return self.key_averages().table() if self._is_over else repr(self)

    def key_averages(self, group_by_input_shape: bool = False) -> Averages:
        """Calls of one operator together; apart by the sizes of their tensors, if wanted."""
        groups: dict[Any, list[Event]] = {}
        for event in self.events():
            is_block, sizes = event.within is not None, event.sizes if group_by_input_shape else ()
            groups.setdefault((event.name, sizes, is_block), []).append(event)
        averages = []
        for (name, sizes, is_block), of in groups.items():
            within = sum(e.within or 0.0 for e in of) if is_block else None
            averages.append(Average(name, len(of), sum(e.duration for e in of), sizes, within))
        return Averages(averages)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the calls as JSON that `chrome://tracing` and Perfetto show."""
        traced = [
            {
                "name": e.name, "ph": "X", "cat": "cpu_op" if e.within is None else "user_annotation",
                "ts": e.start, "dur": e.duration, "pid": os.getpid(),
                "tid": e.thread, "args": {"Input Dims": [list(sizes) for sizes in e.sizes]},
            }
            for e in self.events()
        ]  # fmt: skip
        Path(path).write_text(json.dumps({"traceEvents": traced, "displayTimeUnit": "ms"}), encoding="utf-8")


class record_function(ContextDecorator):  # noqa: N801
    """A block with a name, or a function as a decorator, which profiles show among the operators.

    >>> import flambeau
    >>> with flambeau.profiler.profile() as recorded, record_function("forward"):
    ...     y = flambeau.ones(3) * 2
    >>> sorted(average.key for average in recorded.key_averages())
    ['aten::mul', 'aten::ones', 'forward']
    """

    language_form: Final = "record_function"  # how the compiler knows it

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._begun: list[tuple[float, list[tuple[profile, int]]]] = []

    def __enter__(self) -> Self:
        seen = [(one, len(one._events)) for one in _profiles()]
        self._begun.append((time.perf_counter(), seen))
        return self

    def __exit__(self, *error: Any) -> None:
        start, seen = self._begun.pop()
        duration = (time.perf_counter() - start) * 1e6
        for one, before in seen:
            if not one._is_over:
                within = sum(e.duration for e in one._events[before:] if e.within is None)
                began = (start - one._begin) * 1e6
                one._events.append(Event(self.name, began, duration, threading.get_ident(), (), within))


def supported_activities() -> set[ProfilerActivity]:
    """What a profile times.

    >>> supported_activities() == {ProfilerActivity.CPU}
    True
    """
    return {ProfilerActivity.CPU}


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """Something for `on_trace_ready` that writes each trace to a file of its own, `WORKER.TIME.pt.trace.json`.

    Args:
        dir_name: the folder, which is made if it is not there.
        worker_name: how the files of this process begin; the machine and the number of the process otherwise.
        use_gzip: compress the files, which end with `.gz` then.

    >>> import flambeau, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with flambeau.profiler.profile(on_trace_ready=tensorboard_trace_handler(folder, "me")):
    ...         y = flambeau.ones(3) * 2
    ...     os.listdir(folder)[0][:3]
    'me.'
    """
    folder, worker = Path(dir_name), worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(recorded: profile) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{worker}.{time.time_ns()}.pt.trace.json"
        recorded.export_chrome_trace(path)
        if use_gzip:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()

    return write


_local: Final = threading.local()


def _profiles() -> list[profile]:
    """The profiles of this thread that record."""
    profiles: list[profile] = _local.__dict__.setdefault("profiles", [])
    return profiles


def _sizes(values: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    for value in values:
        if isinstance(value, Tensor):
            yield tuple(value._array.shape)
        elif type(value) in (list, tuple):
            yield from _sizes(value)
