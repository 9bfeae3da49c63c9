"""Launches for other sizes than those seen: the making of one is recorded, and native code does it again.

What did not change from call to call, such as how weights lie, is a constant of the program, and must be so in calls
that it serves; numbers that did change are its inputs.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from flambeau.codegen import threads
from flambeau.codegen.call_geometry import Output
from flambeau.codegen.launches import RELEASE_FROM, Launch
from flambeau.codegen.layouts import LAUNCH, OUTPUT, RELEASE_GIL
from flambeau.codegen.llvm.recorded_launches import HEAD, MOST_REGISTERS, STRIDES
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory, RecordedMemory
from flambeau.codegen.routines.numbers import NotRecordedError, Recording, chosen
from flambeau.util.record import dataclass

Look = Sequence[Lying]
"""How the inputs of a call lie."""
MOST_RECORDINGS: Final = 24
"""How often making a launch is recorded for a group."""
MOST_INSTRUCTIONS: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class Recordable:
    """What makes the launches of a routine, so that it can be recorded: it looks at how arrays lie, and puts what the
    launch points to into a memory.
    """

    make: Callable[[Look, Memory], Launch]

    def __call__(self, arrays: Sequence[Any]) -> Launch:
        """The launch for arrays that lie as these. Raises `KernelError`."""
        return self.make([Lying.of(a) for a in arrays], Memory())


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Makes launches for calls of other sizes."""

    words: array[int]
    records: array[int]
    """Of inputs, as launches have them."""
    kept: Any
    """What its words point to."""


class SizesSeen:
    """The calls of a group that Python was asked about: which numbers of their inputs are not the same in all."""

    def __init__(self) -> None:
        self._first: Look | None = None
        self.is_hopeless = False
        """Whether what was recorded would serve no other call."""
        self._changes: frozenset[tuple[int, int]] = frozenset()
        self._recordings = 0

    def changes_with(self, look: Look) -> frozenset[tuple[int, int]]:
        """Which input's number, and which, differs in one more call; none for the first, and where recording does not
        help.
        """
        if self._first is None:
            self._first = look
        pairs = zip(_numbers(self._first), _numbers(look), strict=True)
        changes = {row[:2] for row, other in pairs if row[2] != other[2]}
        if not changes or self.is_hopeless or self._recordings == MOST_RECORDINGS:
            return frozenset()
        self._recordings += 1
        self._changes |= changes
        return self._changes


def _numbers(look: Look) -> list[tuple[int, int, int]]:
    """Of each number of the inputs which input's, which, and what it is."""
    rows: list[tuple[int, int, int]] = []
    for index, lying in enumerate(look):
        rows += [(index, dim, n) for dim, n in enumerate(lying.shape)]
        rows += [(index, STRIDES + dim, n) for dim, n in enumerate(lying.strides)]
    return rows


def recorded(
    make: Callable[[Look, Memory], Launch], look: Look, changes: frozenset[tuple[int, int]], wanted_threads: int
) -> Program | None:
    """The program that makes launches for calls whose numbers differ from those of a call in what `changes`; None where
    it would serve no other call, or takes too many steps. Raises `KernelError` as making the launch does.
    """
    recording = Recording()
    memory = RecordedMemory(recording)
    memory.words([0] * LAUNCH.words)
    lying = [_recorded(recording, index, one, changes) for index, one in enumerate(look)]
    records = _records_of(look)
    try:
        launch = make(lying, memory)
        _finish(memory, launch, len(look), records.buffer_info()[0], wanted_threads)
    except (NotRecordedError, TypeError):  # what takes ints alone
        return None
    return _assembled(recording, memory, look, changes, records, launch)


def _records_of(look: Look) -> array[int]:
    """What inputs must look like: arrays of such dtypes and ranks."""
    return array("q", [word for one in look for word in (id(one.dtype), one.ndim, 0, one.itemsize)])


def _recorded(recording: Recording, index: int, one: Lying, changes: frozenset[tuple[int, int]]) -> Lying:
    def number(at: int, value: int) -> Any:
        return recording.input(index, at, value) if (index, at) in changes else value

    shape = tuple([number(dim, n) for dim, n in enumerate(one.shape)])
    return Lying(one.dtype, shape, tuple([number(STRIDES + dim, n) for dim, n in enumerate(one.strides)]))


def _finish(
    memory: RecordedMemory, launch: Launch, n_in: int, records: int, wanted_threads: int
) -> None:
    """Put the launch itself into the memory, and the instructions that make it behind all others."""
    runs = launch.runs
    if runs is None:
        raise NotRecordedError("there is nothing to compute")
    outputs = [word for output in launch.outputs for word in _output_words(memory, output)]
    pool = 0 if _is_zero(launch.step) else threads.run_address(wanted_threads)
    fields = {
        "kernel": runs.address, "high": launch.high, "step": launch.step, "pieces": launch.pieces,
        "words": len(launch.words), "template": memory.words(launch.words), "n_in": n_in, "inputs": records,
        "n_out": len(launch.outputs), "outputs": memory.words(outputs), "pool": pool,
        "flags": chosen(launch.nanoseconds >= RELEASE_FROM, RELEASE_GIL, 0),
    }  # fmt: skip
    for name, value in fields.items():
        memory.put(LAUNCH.word(name), value)
    memory.finish()


def _is_zero(number: Any) -> bool:
    return type(number) is int and number == 0


def _output_words(memory: RecordedMemory, output: Output) -> list[Any]:
    """The record of an output."""
    strides: Any = 0
    if output.permutation is not None:
        steps = Lying.dense(output.dtype, output.memory_shape).strides
        strides = memory.words([steps[k] for k in output.permutation])
    words: list[Any] = [0] * OUTPUT.words
    fields = {
        "descr": id(output.dtype), "rank": len(output.shape), "dims": memory.words(output.shape), "strides": strides,
        "bytes": prod(output.shape) * output.dtype.itemsize, "large": output.large,
    }  # fmt: skip
    for name, value in fields.items():
        words[OUTPUT.word(name)] = value
    return words


def _assembled(
    recording: Recording, memory: RecordedMemory, look: Look, changes: frozenset[tuple[int, int]],
    records: array[int], launch: Launch,
) -> Program | None:  # fmt: skip
    registers = recording.registers + len(recording.constants)
    if recording.serves_one_size or registers > MOST_REGISTERS or len(recording.instructions) > MOST_INSTRUCTIONS:
        return None
    equal = [row for row in _numbers(look) if row[:2] not in changes]
    head = {
        "registers": registers, "equal": len(equal), "inputs": len(recording.inputs),
        "constants": len(recording.constants), "image": len(memory.image),
    }  # fmt: skip
    words = [head[name] for name in HEAD.fields]
    words += [n for row in equal for n in row]
    words += [n for pair in recording.inputs for n in pair]
    words += recording.constants
    words += memory.image
    words += recording.words()
    kept = launch.routine, memory.kept, [one.dtype for one in look], [o.dtype for o in launch.outputs]
    return Program(array("q", words), records, kept)
