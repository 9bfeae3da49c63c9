"""Operators by themselves, outside of compiled functions: calls that repeat go from Python straight into native code.

What runs there are the very loops that NumPy would run, so that it makes no difference from which call on: results are
the same to the last bit, and this is checked with the call that a program is made from. One piece of code serves all
operators. It is loaded when enough calls were made to pay for that: soon if the cache on disk has it, else when it was
made behind the calls, or, where nothing may be, when LLVM's work is small beside what was spent already. A pattern is
an operator with dtypes, ranks and kinds of numbers; sizes are part of the call. Arrays that all lie row-major in one
size have programs of their own; others are broadcast and gone over row by row, and so are folds along the first and
last axes and results that are written into an argument. Empty arrays, and what else has no program, run as before;
large ones as `large_calls` says.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flambeau.autograd.formula_kernels import PRODUCTS_OF_GRADIENTS
from flambeau.codegen import available, native_call
from flambeau.codegen.inline_cache import InlineCache, LoopProgram
from flambeau.codegen.llvm.engine import NativeCode
from flambeau.codegen.llvm.entry_geometry import ROW_WORDS
from flambeau.codegen.llvm.loop_words import PROGRAM, WORDS
from flambeau.codegen.llvm.tensor_entry import any_entry
from flambeau.codegen.recorded_loops import is_fixed, is_object, record, record_row, record_spread
from flambeau.codegen.recorded_program import Program
from flambeau.codegen.ufunc_loops import has_loops
from flambeau.executor import background
from flambeau.executor.large_calls import SizedCalls, first_large, large_call, large_entry, sized
from flambeau.executor.large_writes import is_large_write, sized_writes
from flambeau.ops.families.elementwise import Pointwise
from flambeau.ops.families.entry_kernel import EntryKernel, OwnEntry
from flambeau.ops.families.rows import EMPTY, RowsMeaning, axes_of
from flambeau.ops.large import NEVER, is_worthwhile
from flambeau.schema import registry
from flambeau.tensor.defaults import when_changed
from flambeau.tensor.subclasses import PLAIN
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import EAGER_CALL, LARGE_ENTRY, LARGE_KERNEL, LARGE_WRITING_KERNEL
from flambeau.util.made_objects import make_natively
from flambeau.util.native_type import direct, tell
from flambeau.util.record import replace

FROM_CACHE, BEHIND, FROM_LLVM = 256, 512, 1 << 14
"""Calls in Python after which native code is loaded; and, if it is nowhere, after which it is compiled behind the
calls, and after which they wait for that."""
ASKED_AGAIN = 32
"""Calls after which it is asked again whether it is there."""
MAX_PATTERNS = 64
"""Patterns of one operator that are looked at, and of these programs that are made."""
ALL_LOOKED_AT, ONE_OF_MANY = 64, 16
"""Calls of one operator in Python of which each is looked at, and how many there are to one of later calls."""
MOST_ELEMENTS = 1 << 15
"""Elements from which on the way into NumPy takes little beside its folds."""
MOST_OF_ONE_LOOP = 1 << 17
"""The same beside one loop that needs no memory between: longer ones run where other threads may go on meanwhile."""
_SCRATCH_BYTES = 1 << 18


class _Machine:
    """The native code of all operators, and whether it is time to load it."""

    def __init__(self) -> None:
        self.calls = 0
        self.next = FROM_CACHE
        self.loops: NativeCode | None = None
        self.entry = 0
        """The address that calls of kernels go to."""
        self.any_entry = 0
        """The address for calls whose gradients somebody else looks at."""
        self.products: dict[str, int] | None = None
        """The addresses of products of matrices."""
        self.own: dict[str, int] = {}
        """The addresses of all entries of one kernel."""
        self.writing_entry = 0
        """The address for kernels that write an argument."""
        self._job: background.Job | None = None

    def is_ready(self) -> bool:
        """Whether there is native code, after one more call in Python."""
        self.calls += 1
        if self.calls < self.next:
            return self.loops is not None
        if not available() or not has_loops():
            self.next = 1 << 62
        elif self._is_at_hand():
            self.load()
        return self.loops is not None

    def _is_at_hand(self) -> bool:
        """Whether it is time to load the code: making it may begin here. Says when to ask again."""
        if self._job is None and self.calls >= BEHIND and background.is_wanted():
            self._job = background.start(_make_code)
        if self._job is not None and not self._job.is_lost:
            self.next = NEVER if self._job.error else self.calls + ASKED_AGAIN
            return self._job.is_over and self._job.error is None
        self.next = BEHIND if self.calls < BEHIND else FROM_LLVM
        return self.calls >= FROM_LLVM or native_call.has_cached_loops()

    def load(self) -> bool:
        """Make the code or take it from the cache; whether there is any."""
        self.next = 1 << 62
        code = native_call.loops_code()
        if code is not None:
            self.loops, (self.entry, self.any_entry, self.writing_entry) = code
            self.products = native_call.products_code()
            for name, product in PRODUCTS_OF_GRADIENTS.items():
                if self.products is not None:
                    direct(product, self.products[name])
            self.own = {**(self.products or {}), **(native_call.places_code() or {})}
            make_natively(native_call.make_code())
        return self.loops is not None


def _make_code() -> None:
    """Make, or take from the cache, all that `load` takes."""
    for make in (native_call.loops_code, native_call.products_code, native_call.places_code, native_call.make_code):
        make()


machine = _Machine()


_entries: list[EagerEntry] = []


class EagerEntry:
    """The native side of one kernel."""

    def __init__(self, kernel: EntryKernel) -> None:
        self.inline_cache = InlineCache()
        self._tried: set[Any] = set()
        self._in_python = 0
        self._slow = kernel.__call__
        self._entry = machine.entry if kernel.target is None else machine.writing_entry
        self.connect(kernel, self._slow)
        for beside in list(kernel.besides.values()):
            self.connect(beside, beside.slow)
        if kernel.unrecorded_ is not None:
            self.connect_any(kernel.unrecorded_, kernel.unrecorded_.slow)
        _entries.append(self)

    def connect(self, instance: Any, slow: Callable[..., Any]) -> None:
        """Calls of an instance of `NativeBase` go into native code from now on, and to `slow` from there."""
        tell(instance, ctypes.addressof(self.inline_cache.cell), slow)
        direct(instance, self._entry)

    def connect_any(self, instance: Any, slow: Callable[..., Any]) -> None:
        """The same for an instance that takes tensors that ask for gradients too."""
        tell(instance, ctypes.addressof(self.inline_cache.cell), slow)
        direct(instance, machine.any_entry)

    def forget(self) -> None:
        """What was learned does not hold any more."""
        self.inline_cache.forget()
        self._tried.clear()
        self._in_python = 0

    @property
    def served(self) -> int:
        """Calls that ran natively."""
        return self.inline_cache.served

    def learn(self, kernel: EntryKernel, arguments: Sequence[Any], result: Any) -> None:
        """Make a program for calls like one that ran in Python, if there may be one. Of many such calls only some are
        looked at: most are like those before."""
        if not self._is_looked_at() or not _is_plain(result):
            return
        is_row = isinstance(kernel.meaning, RowsMeaning)
        meant = [_unlisted(a) for a in arguments] if is_row else arguments
        most = max([a._array.size for a in arguments if isinstance(a, Tensor)], default=0)
        bound = MOST_ELEMENTS if is_row else MOST_OF_ONE_LOOP
        if not all(map(_is_usual, meant)) or not _are_few(bound, most, result._array.size):
            return
        in_one = not is_row and kernel.target is None and _lie_in_one(arguments, result._array.shape)
        if not self._is_new((in_one, *_looks(kernel.meaning, meant, is_row=is_row))):
            return
        program = self._program(kernel, meant, is_row, in_one)
        if program is not None:
            program.most = min(program.most, _most_of(kernel, arguments))
        if program is not None and most <= program.most:
            self._add(program, kernel, arguments, meant)

    def learn_large(self, kernel: EntryKernel, arguments: Sequence[Any]) -> None:
        """Have large calls like one that a kernel served from Python run natively, whatever their sizes."""
        if len(self._tried) >= MAX_PATTERNS or not all(map(_is_usual, arguments)):
            return
        if self._is_new((LARGE_KERNEL, *_looks(kernel.meaning, arguments))):
            self._add_sized(sized(kernel, arguments), first_large(kernel, arguments))

    def learn_write(self, kernel: EntryKernel, arguments: Sequence[Any]) -> None:
        """The same for large calls that write into their first argument."""
        if len(self._tried) >= MAX_PATTERNS or not all(map(_is_usual, arguments)):
            return
        if self._is_new((LARGE_WRITING_KERNEL, *_looks(kernel.meaning, arguments))):
            self._add_sized(sized_writes(kernel.meaning, arguments), first_large(kernel, arguments), is_written=True)

    def _add_sized(self, calls: SizedCalls | None, least: int, *, is_written: bool = False) -> None:
        if calls is None:
            return
        operands = [a._array if isinstance(a, Tensor) else a for a in calls.inputs]
        launches = [replace(s, least=max(s.least, least)) for s in calls.launches if s.most >= least]
        arrays = list(map(np.asarray, operands))
        self.inline_cache.add_sized(launches, operands, arrays, calls.fixed, is_written=is_written)

    def _is_looked_at(self) -> bool:
        self._in_python += 1
        is_one = self._in_python <= ALL_LOOKED_AT or not self._in_python % ONE_OF_MANY
        return is_one and len(self._tried) < MAX_PATTERNS

    def _add(self, program: Program, kernel: EntryKernel, arguments: Sequence[Any], meant: Sequence[Any]) -> None:
        """Have calls run a program from now on, if it gives what Python gives for these arguments."""
        assert machine.loops is not None
        loops = _loop_program(program, machine.loops)
        operands = [a._array if isinstance(a, Tensor) else a for a in meant]
        if _agrees(kernel, loops, arguments, operands):
            self.inline_cache.add_loops(loops, operands)

    def _is_new(self, pattern: tuple[Any, ...]) -> bool:
        """Whether calls of a pattern were never looked at before; from now on they were."""
        if pattern in self._tried:
            return False
        self._tried.add(pattern)
        return True

    def _program(self, kernel: EntryKernel, arguments: Sequence[Any], is_row: bool, in_one: bool) -> Program | None:
        if is_row:
            return record_row(kernel.meaning, arguments)
        if in_one:
            program = record(kernel.meaning, arguments)
            if program is not None:
                return program
        return record_spread(kernel.meaning, arguments, kernel.target)


class KernelsOwn:
    """The native side of a kernel of which there is an entry: see `OwnEntry`."""

    served: int = 0
    """Calls by programs of loops, of which it has none."""

    def __init__(self, kernel: EntryKernel, addresses: Mapping[str, int]) -> None:
        name = kernel.meaning.name
        self._entry, self._any_entry = addresses[name], addresses[any_entry(name)]
        self._slow = kernel.__call__
        self.connect(kernel, self._slow)
        for beside in list(kernel.besides.values()):
            self.connect(beside, beside.slow)
        if kernel.unrecorded_ is not None:
            self.connect_any(kernel.unrecorded_, kernel.unrecorded_.slow)

    def connect(self, instance: Any, slow: Callable[..., Any]) -> None:
        """Calls of an instance of `NativeBase` go into native code from now on, and to `slow` from there."""
        tell(instance, 0, slow)
        direct(instance, self._entry)

    def connect_any(self, instance: Any, slow: Callable[..., Any]) -> None:
        """The same for an instance that takes tensors that ask for gradients too."""
        tell(instance, 0, slow)
        direct(instance, self._any_entry)


def _are_few(bound: int, *counts: int) -> bool:
    """Whether there are elements, and not so many that a call from Python costs little beside them."""
    return all(0 < count <= bound for count in counts)


def _most_of(kernel: EntryKernel, arguments: Sequence[Any]) -> int:
    """Up to how many elements calls are NumPy's: any, where a kernel of one loop would be no quicker."""
    definition = registry.find(kernel.name) if kernel.target is None else None
    is_numpys = definition is not None and not is_worthwhile(definition, arguments)
    return NEVER if is_numpys else first_large(kernel, arguments) - 1


def _unlisted(argument: Any) -> Any:
    """As native code takes lists of axes: one is the number itself, none is the type of lists, several are `Axes`."""
    if type(argument) is not list:
        return argument
    if len(argument) < 2:
        return argument[0] if argument else EMPTY
    return axes_of(argument) or argument


def _looks(meaning: Any, arguments: Sequence[Any], *, is_row: bool = False) -> list[Any]:
    """What of arguments decides which program serves a call: numbers that a program is for, such as defaults, count
    by their values."""
    return [_look(meaning, k, a, is_row) for k, a in enumerate(arguments)]


def _look(meaning: Any, index: int, argument: Any, is_row: bool) -> Any:
    if isinstance(argument, Tensor):
        return argument._array.dtype, argument._array.ndim
    if is_row:
        return float if type(argument) is float else (type(argument), argument)
    is_any = type(argument) in (int, float) and not is_fixed(meaning, index, argument)
    return type(argument) if is_any else (type(argument), argument)


def _is_usual(argument: Any) -> bool:
    """Whether native code takes such an argument apart."""
    if isinstance(argument, Tensor):
        return _is_plain(argument) and not argument.is_wrapped_number
    if type(argument) is int:
        return -(1 << 63) <= argument < 1 << 63
    return type(argument) is float or is_object(argument)


def _is_plain(value: Any) -> bool:
    """Whether something is a tensor in the host's memory, or a parameter there."""
    return type(value) is Tensor or type(value) in PLAIN


def _lie_in_one(arguments: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Whether arrays all lie row-major in one size: see ``launch_sizes``."""
    arrays = [a._array for a in arguments if isinstance(a, Tensor)]
    return all(not a.ndim or (a.shape == shape and a.flags.c_contiguous and _has_plain_strides(a)) for a in arrays)


def _has_plain_strides(array: np.ndarray[Any, Any]) -> bool:
    """Whether axes of size one do not lie otherwise than in a fresh array."""
    step = array.itemsize
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if stride != step:
            return False
        step *= size
    return True


def _loop_program(program: Program, code: NativeCode) -> LoopProgram:
    words = program.words(code.addresses)
    memory = (ctypes.c_int64 * len(words))(*words)
    block = [0] * (ROW_WORDS if program.geometry else WORDS)
    block[PROGRAM] = ctypes.addressof(memory)
    is_one_loop = not program.rows and not program.axes
    most = min(program.most, MOST_OF_ONE_LOOP if is_one_loop else MOST_ELEMENTS)
    if program.rows:
        most = min(most, _SCRATCH_BYTES // (8 * program.rows))
    kernel = code.addresses["rows" if program.geometry else "loops"]
    least = program.longest or program.beyond
    ways = (program.geometry, program.axes, program.target, least, program.objects)
    return LoopProgram(kernel, block, program.result, most, (memory, program, code), *ways)


class _MissedError(Exception):
    """Loops did not serve the call that they were made from."""


def _missed(*arguments: Any) -> Any:
    raise _MissedError


def _agrees(kernel: EntryKernel, loops: LoopProgram, arguments: Sequence[Any], operands: Sequence[Any]) -> bool:
    """Whether loops give the bits that NumPy gives."""
    inline_cache = InlineCache()
    inline_cache.add_loops(loops, operands)
    alone = EntryKernel(kernel.name, kernel.meaning, kernel.run, kernel.target)
    tell(alone, ctypes.addressof(inline_cache.cell), _missed)
    direct(alone, machine.any_entry)
    try:
        native = alone(*_apart(arguments, kernel.target))
    except _MissedError:
        return False
    expected = kernel.run(*_apart(arguments, kernel.target))
    return bool(_bits(native) == _bits(expected))


def _bits(result: Tensor) -> Any:
    return result._array.dtype, result._array.shape, result._array.strides, result._array.tobytes()


def _apart(arguments: Sequence[Any], target: int | None) -> list[Any]:
    """The arguments, with a copy in place of what is written to."""
    if target is None:
        return list(arguments)
    written = arguments[target]
    copy = wrap(written._array.copy(order="K"))
    return [copy if a is written else a for a in arguments]


@EAGER_CALL.provide
def _note(kernel: EntryKernel, arguments: Sequence[Any], result: Any) -> None:
    if kernel.meaning is None or (machine.loops is None and not machine.is_ready()):
        return
    if isinstance(kernel.meaning, OwnEntry):
        _connect(kernel, kernel.meaning)
        return
    if kernel.entry is None:
        kernel.entry = EagerEntry(kernel)
    if kernel.target == 0 and isinstance(kernel.meaning, Pointwise) and is_large_write(kernel.meaning, arguments[0]):
        kernel.entry.learn_write(kernel, arguments)
    kernel.entry.learn(kernel, arguments, result)


def _connect(kernel: EntryKernel, meaning: OwnEntry) -> None:
    """Have calls of a kernel go to the entry that it has."""
    if kernel.entry is None and meaning.name in machine.own:
        kernel.entry = KernelsOwn(kernel, machine.own)


@LARGE_KERNEL.provide
def _large(kernel: EntryKernel, arguments: Sequence[Any]) -> Any:
    result = large_call(kernel, arguments)
    is_ready = result is not None and (machine.loops is not None or machine.is_ready())
    if is_ready and isinstance(kernel.meaning, OwnEntry):
        _connect(kernel, kernel.meaning)
    elif is_ready and isinstance(kernel.meaning, Pointwise):
        if kernel.entry is None:
            kernel.entry = EagerEntry(kernel)
        kernel.entry.learn_large(kernel, arguments)
    return result


@LARGE_ENTRY.provide
def _large_entry(kernel: EntryKernel, arguments: Sequence[Any]) -> Any:
    return large_entry(kernel, arguments)


def _forget_all() -> None:
    """Results of integers beside fractions are of the default dtype."""
    for entry in list(_entries):
        entry.forget()


when_changed(_forget_all)
