"""Launches laid out for the native call entry, chained so that the newest is tried first."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from flambeau.codegen import threads
from flambeau.codegen.call_geometry import Output
from flambeau.codegen.choose_schedule import PARALLEL_FROM
from flambeau.codegen.launches import RELEASE_FROM, Launch
from flambeau.codegen.layouts import (
    CELL,
    IDENTITY,
    INPUT,
    LAUNCH,
    LOOK,
    NUMBER_COMPLEX,
    NUMBER_FLOAT,
    NUMBER_INT,
    OUTPUT,
    RELEASE_GIL,
    STATIC,
    WORD,
)
from flambeau.codegen.llvm.entry_geometry import FILLED, FOLDED, WRITTEN
from flambeau.codegen.llvm.entry_patterns import BUCKETS
from flambeau.codegen.llvm.entry_ready import READY, READY_UP_TO
from flambeau.codegen.llvm.recorded_launches import PROGRAM
from flambeau.codegen.patterns import program
from flambeau.codegen.size_classes import are_short_ends_alone, bucket_of
from flambeau.codegen.sized_launches import SizedLaunch, is_row_major
from flambeau.tensor.storage import Storage
from flambeau.util.locks import Lock
from flambeau.util.record import dataclass

_NUMBERS = {
    (float, "float64"): NUMBER_FLOAT, (int, "int64"): NUMBER_INT, (bool, "bool"): NUMBER_INT,
    (complex, "complex128"): NUMBER_COMPLEX,
}  # fmt: skip
"""Python numbers that the entry reads by itself, and how it calls them."""
MAX_CHAIN = 8
"""Calls of exactly these sizes and strides that the native entry knows; others go by launches of patterns."""
MAX_SIZED = 16
"""Launches for any size beside them."""
MAX_PATTERNS = 2048
"""Launches of patterns."""
LookOf = tuple[type, "np.dtype[Any]", tuple[int, ...], tuple[int, ...]]
"""Of an input: its class, and of its array the dtype, sizes and strides."""


@dataclass(frozen=True, slots=True)
class Published:
    """A launch, and the calls that it is for."""

    launch: Launch
    looks: tuple[LookOf, ...]
    static: tuple[tuple[int, ...], ...]


class MakesLaunches(Protocol):
    """A program that makes launches for calls of many sizes."""

    @property
    def words(self) -> array[int]:
        """As ``llvm.recorded_launches`` reads them."""

    @property
    def records(self) -> array[int]:
        """The words of the records of its inputs."""


@dataclass(slots=True)
class _Look:
    """What inputs of patterns may be: their records, and the patterns by bucket."""

    inputs: int
    count: int
    buckets: Any
    record: Any


class RecordMemory(Protocol):
    """Where the records of launches lie."""

    def numbers(self, values: Any) -> int:
        """Put words there; their address."""

    def object(self, value: Any) -> int:
        """The address of an object, which is kept."""


def exact_words(
    memory: RecordMemory, looks: Sequence[LookOf], static: Sequence[Sequence[int]], outputs: Sequence[Output],
    rows: Callable[[Output], int] = lambda output: 0,
) -> dict[str, int]:  # fmt: skip
    """The words of a launch that say which calls it is for and what they give; all others are 0. `rows` gives storages
    that are ready for a result."""
    inputs: list[int] = []
    for kind, dtype, shape, steps in looks:
        if kind is np.ndarray:
            inputs += [memory.object(dtype), len(shape), memory.numbers(shape), memory.numbers(steps)]
        else:
            inputs += [0, _NUMBERS[kind, dtype.name], memory.object(kind), 0]
    for numbers in static:
        inputs += [0, STATIC, memory.numbers(numbers), len(numbers)]
    records: list[int] = []
    for o in outputs:
        strides = 0
        if o.permutation is not None:
            strides = memory.numbers(_strides_of(o.shape, o.permutation, o.dtype.itemsize))
        size = prod(o.shape) * o.dtype.itemsize
        records += [memory.object(o.dtype), len(o.shape), memory.numbers(o.shape), strides, size, int(o.large), rows(o)]
    return dict.fromkeys(LAUNCH.fields, 0) | {
        "n_in": len(looks), "n_out": len(outputs), "inputs": memory.numbers(inputs), "outputs": memory.numbers(records),
    }  # fmt: skip


def _pool(launch: Launch) -> int:
    """The address of what runs a launch's pieces; 0 where one thread takes all of them."""
    return threads.run_address(launch.threads) if threads.threads_for(launch.threads or None) > 1 else 0


def _program(launch: Launch, shapes: Sequence[tuple[int, ...]]) -> list[int] | None:
    if launch.pattern is not None:
        return launch.pattern.program(_pool(launch), RELEASE_FROM)
    if launch.call is None:
        return None
    assert launch.split is not None
    return program(
        launch.call, shapes, launch.split, launch.typical_nanoseconds, _pool(launch), is_staged=launch.is_staged,
        release_from=RELEASE_FROM, parallel_from=PARALLEL_FROM,
    )  # fmt: skip


@dataclass(slots=True, eq=False)
class LoopProgram:
    """A program of loops, for calls of an operator by itself."""

    kernel: int
    """The address of `loops` or `rows`."""
    block: list[int]
    """Its words, with 0 where addresses of arrays go."""
    result: np.dtype[Any]
    most: int
    """Elements that it serves."""
    kept: Any
    """What its words point to."""
    geometry: int
    """How it goes over its arrays, and four words of it: see ``llvm.entry_geometry``."""
    axes: int
    target: int
    least: int
    objects: Sequence[int]
    """Numbers of inputs that must be the very objects that they are."""


class InlineCache:
    """The launches of one kernel. Memory once published stays until the inline cache goes: another thread may be
    reading it.
    """

    def __init__(self, most: int = MAX_CHAIN, *, has_entry: bool = True) -> None:
        """`most`: how many calls of exactly some sizes and strides it knows; `has_entry`: whether Python calls by it,
        not only compiled graphs.
        """
        self.most = most
        self._has_entry = has_entry
        self._without_storages: list[tuple[int, Output]] = []
        """Records of outputs that get storages once there is an entry, and how these are allocated."""
        self.cell = CELL.pack()
        """What the entry reads, and where it counts the calls that it served."""
        self._keep: list[Any] = []
        self._known: set[Any] = set()
        self.published: list[Published] = []
        """Launches for calls of exactly some sizes and strides, the oldest first."""
        self._lock = Lock()
        self._count = 0
        self._sized_count = 0
        self._shapes: dict[Any, tuple[int, ...]] = {}
        """By dtypes and ranks: the shape of the first row-major arrays."""
        self._last: Any = None
        """The launch that is tried last."""
        self._calls = 0
        """How often a launch was given to it: from the second time on there are launches of patterns."""
        self._patterns = 0
        self._programs: dict[Any, tuple[int, int, int]] = {}
        """Words that launches of one pattern share, by what they say: a program's, a block's, those of outputs."""
        self._looks: dict[Any, _Look] = {}

    @classmethod
    def of_memory(cls, cell: Any, last: Any, owner: Any, count: int, most: int) -> InlineCache:
        """One for compiled graphs that has launches already: a number of them, in the memory of an owner, where the
        cell and the launch lie that is tried last."""
        cache = cls(most, has_entry=False)
        cache.cell, cache._last, cache._count = cell, last, count
        cache._keep.append(owner)
        return cache

    @property
    def is_empty(self) -> bool:
        """Whether there is no launch for calls of exactly some sizes."""
        return self._count == 0

    def note_entry(self) -> None:
        """Have storages ready for results from now on: Python calls by it."""
        with self._lock:
            self._has_entry = True
            for address, output in self._without_storages:
                OUTPUT.write(address, "ready", self._row(output))
            self._without_storages.clear()

    def add(
        self, launch: Launch, values: Sequence[Any], arrays: Sequence[npt.NDArray[Any]],
        static: Sequence[Sequence[int]] = (),
    ) -> bool:  # fmt: skip
        """Publish ``launch`` for inputs that look exactly like ``values``; ``arrays`` is what they became as arrays.
        Calls must have the same ``static`` operands: the words of further inputs, which the kernel does not see.

        True where only sizes change from call to call, so that launches for any size would serve: see ``add_sized``.
        """
        if not all(
            type(x) is np.ndarray or (type(x), a.dtype.name) in _NUMBERS for x, a in zip(values, arrays, strict=True)
        ):
            return False
        looks = tuple([(type(x), a.dtype, a.shape, a.strides) for x, a in zip(values, arrays, strict=True)])
        with self._lock:
            self._add(Published(launch, looks, tuple(map(tuple, static))))
            return self._changes(values, arrays)

    def add_sized(
        self, launches: Sequence[SizedLaunch], values: Sequence[Any], arrays: Sequence[npt.NDArray[Any]],
        fixed: Sequence[Any] = (), *, is_written: bool = False,
    ) -> None:  # fmt: skip
        """Publish launches for inputs like ``values``, whatever their sizes, with just the objects ``fixed`` behind
        them. They are tried after all others. `is_written`: the result goes into the first input."""
        with self._lock:
            for sized in launches:
                if self._sized_count < MAX_SIZED:
                    self._sized_count += 1
                    words = self._sized(sized, values, arrays, fixed)
                    self._publish_last(words | {"geometry": FILLED, "n_out": 0} if is_written else words)

    def add_loops(self, loops: LoopProgram, values: Sequence[Any]) -> None:
        """Publish a program of loops for inputs like ``values``: of any sizes, or of no axes at all."""
        with self._lock:
            inputs: list[int] = []
            ranks = [0]
            for k, x in enumerate(values):
                if type(x) is np.ndarray:
                    ranks.append(x.ndim)
                    sizes = 0 if x.ndim or loops.geometry else self.numbers(())
                    inputs += [self.object(x.dtype), x.ndim, sizes, x.itemsize if sizes == 0 else sizes]
                elif type(x) in (int, float) and loops.geometry <= WRITTEN and k not in loops.objects:
                    inputs += self._number(type(x), np.asarray(x).dtype)
                else:  # numbers of axes too: CPython has one object for each small int
                    inputs += [0, IDENTITY, self.object(x), 0]
            self._keep.append(loops)
            rank, size = max(ranks), loops.result.itemsize
            if loops.geometry == FOLDED:
                rank -= loops.axes
            outputs = [self.object(loops.result), rank, 0, 0, size, 0, 0]
            n_out = 0 if loops.geometry == WRITTEN else 1
            words = self._words(loops.kernel, loops.block, n_out, inputs, outputs)
            if loops.geometry:
                words |= {name: getattr(loops, name) for name in ("geometry", "target", "most")}
                words |= {"rank": loops.axes, "least": loops.least}
            elif rank:
                words |= {"size_at": len(loops.block) - 1, "least": 1, "most": loops.most}
            else:
                words |= {"high": 1}
            self._publish_last(words)

    def forget(self) -> None:
        """Serve no calls by programs of loops any more, until there are new ones."""
        with self._lock:
            self.cell[0] = 0
            self._last = None

    def add_pattern(self, launch: Launch, values: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Publish what all calls of a launch's pattern have in common, for inputs of these types."""
        kinds = [type(x) if type(x) is not np.ndarray else None for x in values]
        is_known = all(k is None or (k, a.dtype.name) in _NUMBERS for k, a in zip(kinds, arrays, strict=True))
        with self._lock:
            self._calls += 1
            if not is_known or self._calls < 2 or self._patterns >= MAX_PATTERNS:
                return
            words = _program(launch, [a.shape for a in arrays])
            if words is None:
                return
            self._patterns += 1
            look = self._look(values, arrays)
            chain, at = look.record, LOOK.word("of_any_size")
            if launch.call is not None:
                call, chain = launch.call, look.buckets
                exactly = are_short_ends_alone(call.kernel, call.sizes, call.classes)
                known = [None if k is not None else a for k, a in zip(kinds, arrays, strict=True)]
                at = bucket_of(known, exactly=exactly)
            launch_record = self._record(self._pattern(launch, words, look) | {"next": chain[at]})
            chain[at] = ctypes.addressof(launch_record)

    def add_program(self, program: MakesLaunches) -> None:
        """Publish what makes launches for calls of other sizes; it is tried before those that were published before."""
        with self._lock:
            at = CELL.word("programs")
            if program in self._known:
                return
            self._known.add(program)
            self._keep.append(program)
            row = PROGRAM.pack(
                next=self.cell[at], words=program.words.buffer_info()[0], records=program.records.buffer_info()[0],
                n=len(program.records) // INPUT.words,
            )  # fmt: skip
            self._keep.append(row)
            self.cell[at] = ctypes.addressof(row)

    def _look(self, values: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> _Look:
        """The patterns of inputs of these types."""
        key = tuple([(type(x), a.dtype, a.ndim) for x, a in zip(values, arrays, strict=True)])
        look = self._looks.get(key)
        if look is None:
            inputs: list[int] = []
            for x, a in zip(values, arrays, strict=True):
                is_array = type(x) is np.ndarray
                inputs += [self.object(a.dtype), a.ndim, 0, a.itemsize] if is_array else self._number(type(x), a.dtype)
            buckets = (ctypes.c_int64 * BUCKETS)()
            index = CELL.word("looks")
            words = {"next": self.cell[index], "inputs": self.numbers(inputs), "n": len(arrays)}
            words["buckets"] = ctypes.addressof(buckets)
            record = LOOK.pack(**words)
            look = self._looks[key] = _Look(words["inputs"], len(arrays), buckets, record)
            self.cell[index] = ctypes.addressof(record)
        return look

    def _pattern(self, launch: Launch, words: list[int], look: _Look) -> dict[str, int]:
        """The words of a launch of a pattern."""
        outputs: list[int] = []
        for o in launch.outputs:
            outputs += [self.object(o.dtype), len(o.shape), 0, 0, 0, 0, 0]
        blanks = [0] * len(launch.words) if launch.pattern is None else launch.words
        key = (self._kernel(launch), *words, *blanks)
        if key not in self._programs:
            blank = self.numbers(blanks)
            self._programs[key] = (self.numbers(words), blank, self.numbers(outputs))
        listed, blank, records = self._programs[key]
        return dict.fromkeys(LAUNCH.fields, 0) | {
            "kernel": key[0], "words": len(launch.words), "template": blank, "n_in": look.count, "inputs": look.inputs,
            "n_out": len(launch.outputs), "outputs": records, "program": listed,
            "pool": _pool(launch),
        }  # fmt: skip

    def _changes(self, values: Sequence[Any], arrays: Sequence[npt.NDArray[Any]]) -> bool:
        """Whether this is the second size of a pattern."""
        if not is_row_major(arrays):
            return False
        look = tuple([(type(x), a.dtype, a.ndim) for x, a in zip(values, arrays, strict=True)])
        shape = next(a.shape for a in arrays if a.ndim)
        first = self._shapes.setdefault(look, shape) if len(self._shapes) < MAX_SIZED else self._shapes.get(look)
        if first is None or first == shape or look in self._known:
            return False
        self._known.add(look)
        return True

    def _add(self, known: Published) -> None:
        launch, look = known.launch, (*known.looks, *known.static)
        if self._count >= self.most or look in self._known:
            return
        self._known.add(look)
        self.published.append(known)
        self._count += 1
        rows = self._row if self._has_entry else lambda output: 0
        block = launch.words or [0] * (1 + len(known.looks) + len(launch.outputs))
        words = exact_words(self, known.looks, known.static, launch.outputs, rows) | {
            "kernel": self._kernel(launch), "words": len(block), "template": self.numbers(block),
            "next": self.cell[0], "high": launch.high, "step": launch.step, "pieces": launch.pieces,
            "flags": RELEASE_GIL if launch.nanoseconds >= RELEASE_FROM else 0,
            "pool": threads.run_address(launch.threads) if launch.step else 0,
        }  # fmt: skip
        if not self._has_entry:
            at = words["outputs"]
            self._without_storages += [(at + k * OUTPUT.words * WORD, o) for k, o in enumerate(launch.outputs)]
        launch_record = self._record(words)
        self._last = self._last or launch_record
        self.cell[0] = ctypes.addressof(launch_record)

    def _sized(
        self, sized: SizedLaunch, values: Sequence[Any], arrays: Sequence[npt.NDArray[Any]], fixed: Sequence[Any]
    ) -> dict[str, int]:
        """The words of a launch for any size."""
        inputs: list[int] = []
        for x, a in zip(values, arrays, strict=True):
            is_array = type(x) is np.ndarray
            inputs += [self.object(a.dtype), a.ndim, 0, a.itemsize] if is_array else self._number(type(x), a.dtype)
        outputs: list[int] = []
        for o in sized.launch.outputs:
            outputs += [self.object(o.dtype), len(o.shape), 0, 0, o.dtype.itemsize, 0, 0]
        launch = sized.launch
        words = self._words(self._kernel(launch), launch.words, len(launch.outputs), inputs, outputs)
        if fixed:
            objects = [word for one in fixed for word in (0, IDENTITY, self.object(one), 0)]
            words |= {"inputs": self.numbers([*inputs, *objects]), "fixed": len(fixed)}
        return words | {
            "size_at": sized.size_at, "least": sized.least, "most": sized.most, "step": sized.step,
            "flags": RELEASE_GIL if sized.releases else 0,
            "pool": threads.run_address(sized.threads) if sized.step else 0,
        }  # fmt: skip

    def _kernel(self, launch: Launch) -> int:
        """The address of a launch's kernel; 0 where there is nothing to compute."""
        runs = launch.runs
        if runs is None:
            return 0
        self._keep.append(runs)
        return runs.address

    def _words(
        self, kernel: int, block: Sequence[int], n_out: int, inputs: list[int], outputs: list[int]
    ) -> dict[str, int]:
        """What all launches have."""
        return dict.fromkeys(LAUNCH.fields, 0) | {
            "kernel": kernel, "words": len(block), "template": self.numbers(block),
            "n_in": len(inputs) // INPUT.words, "n_out": n_out, "inputs": self.numbers(inputs),
            "outputs": self.numbers(outputs),
        }  # fmt: skip

    def _record(self, words: dict[str, int]) -> Any:
        launch_record = LAUNCH.pack(**words)
        self._keep.append(launch_record)
        return launch_record

    def _publish_last(self, words: dict[str, int]) -> None:
        launch_record = self._record(words)
        if self._last is None:
            self.cell[0] = ctypes.addressof(launch_record)
        else:
            self._last[LAUNCH.word("next")] = ctypes.addressof(launch_record)
        self._last = launch_record

    def _number(self, kind: type, dtype: np.dtype[Any]) -> list[int]:
        """The record of a Python number."""
        return [0, _NUMBERS[kind, dtype.name], self.object(kind), 0]

    def _row(self, output: Output) -> int:
        """Storages for small results; 0 for large ones."""
        if prod(output.shape) * output.dtype.itemsize > READY_UP_TO:
            return 0
        storages = [Storage(output.allocate()) for _ in range(READY)]
        self._keep.append(storages)
        return self.numbers([*map(id, storages), 0])

    @property
    def served(self) -> int:
        """Calls that found their launch here."""
        return int(self.cell[CELL.word("served")])

    def numbers(self, values: Any) -> int:
        """Keep words; their address."""
        try:
            memory = array("q", values or (0,))
        except OverflowError:  # words of which all 64 bits count
            memory = array("q", array("Q", [value % (1 << 64) for value in values]).tobytes())
        self._keep.append(memory)
        return memory.buffer_info()[0]

    def object(self, value: Any) -> int:
        """Keep an object; its address."""
        self._keep.append(value)
        return id(value)


def _strides_of(shape: tuple[int, ...], permutation: tuple[int, ...], itemsize: int) -> list[int]:
    """Byte strides of a result whose axes are those of a row-major allocation, permuted."""
    sizes = [0] * len(shape)
    for axis, dim in enumerate(permutation):
        sizes[dim] = shape[axis]
    steps, step = [0] * len(shape), itemsize
    for dim in reversed(range(len(shape))):
        steps[dim] = step
        step *= max(sizes[dim], 1)
    return [steps[dim] for dim in permutation]
