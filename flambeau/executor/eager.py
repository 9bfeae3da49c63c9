"""Operators by themselves, outside of compiled functions: calls that repeat go from Python straight into native code.

What runs there are the very loops that NumPy would run, so that it makes no difference from which call on: results are
the same to the last bit, and this is checked with the call that a program is made from. One piece of code serves all
operators. It is loaded when enough calls were made to pay for that: soon if the cache on disk has it, else when LLVM's
work is small beside what was spent already. A pattern is an operator with dtypes, ranks and kinds of numbers; sizes
are part of the call. Arrays that do not lie row-major, broadcast, empty or large ones, and what else has no program
run as before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.codegen import available, native_call
from flambeau.codegen.llvm.engine import NativeCode
from flambeau.codegen.llvm.loops import PROGRAM, WORDS
from flambeau.codegen.native_plans import Chain, LoopsPlan
from flambeau.codegen.recorded_loops import Program, record
from flambeau.codegen.ufunc_loops import has_loops
from flambeau.ops.families.entry_kernel import EntryKernel, Served
from flambeau.tensor.tensor import Tensor
from flambeau.util.native_type import direct, tell

FROM_CACHE, FROM_LLVM = 256, 1 << 14
"""Calls in Python after which native code is loaded, and after which it is compiled if it is nowhere."""
MAX_PATTERNS = 64
"""Patterns of one operator that are looked at, and of these programs that are made."""
MOST_ELEMENTS = 8192
"""Elements from which on the way into NumPy takes little beside its loops."""
_SCRATCH_BYTES = 1 << 18


class _Machine:
    """The native code of all operators, and whether it is time to load it."""

    def __init__(self) -> None:
        self.calls = 0
        self.next = FROM_CACHE
        self.loops: NativeCode | None = None
        self.entry = 0
        """The address that calls of kernels go to."""

    def is_ready(self) -> bool:
        """Whether there is native code, after one more call in Python."""
        self.calls += 1
        if self.calls < self.next:
            return self.loops is not None
        if not available() or not has_loops():
            self.next = 1 << 62
        elif self.calls >= FROM_LLVM or native_call.has_cached_loops():
            self.load()
        else:
            self.next = FROM_LLVM
        return self.loops is not None

    def load(self) -> bool:
        """Make the code or take it from the cache; whether there is any."""
        self.next = 1 << 62
        found = native_call.loops_code()
        if found is not None:
            self.loops, self.entry = found
        return self.loops is not None


machine = _Machine()


class EagerEntry:
    """The native side of one kernel."""

    def __init__(self, kernel: EntryKernel) -> None:
        self.chain = Chain()
        self._tried: set[Any] = set()
        self._slow = kernel.__call__
        tell(kernel, ctypes.addressof(self.chain.cell), self._slow)

    @property
    def served(self) -> int:
        """Calls that ran natively."""
        return self.chain.served

    def learn(self, kernel: EntryKernel, arguments: Sequence[Any], result: Tensor) -> None:
        """Make a program for calls like one that ran in Python, if there may be one."""
        pattern = tuple([_look(a) for a in arguments])
        if pattern in self._tried or len(self._tried) >= MAX_PATTERNS or not _is_usual(arguments, result):
            return
        self._tried.add(pattern)
        program = record(kernel.meaning, arguments)
        assert machine.loops is not None
        if program is None:
            return
        given = [a._array if isinstance(a, Tensor) else a for a in arguments]
        plan = _plan_of(program, machine.loops)
        if _run(plan, given, result._array):
            self.chain.add_loops(plan, given, [np.asarray(g) for g in given])


def _look(argument: Any) -> Any:
    if isinstance(argument, Tensor):
        return argument._array.dtype, argument._array.ndim
    return type(argument)


def _is_usual(arguments: Sequence[Any], result: Tensor) -> bool:
    """Whether native code takes such a call apart: see ``entry_sizes``."""
    shape = result._array.shape
    for a in arguments:
        if type(a) is Tensor:
            array = a._array
            is_plain = not a.requires_grad and not a.is_wrapped_number
            if not is_plain or (array.ndim and (array.shape != shape or not array.flags.c_contiguous)):
                return False
        elif isinstance(a, Tensor) or (type(a) is int and not -(1 << 63) <= a < 1 << 63):
            return False
    return 0 < result._array.size <= MOST_ELEMENTS


def _plan_of(program: Program, code: NativeCode) -> LoopsPlan:
    words = program.words(code.addresses)
    memory = (ctypes.c_int64 * len(words))(*words)
    block = [0] * WORDS
    block[PROGRAM] = ctypes.addressof(memory)
    most = min(MOST_ELEMENTS, _SCRATCH_BYTES // (8 * max(program.rows, 1)))
    return LoopsPlan(code.addresses["loops"], block, program.result, most, (memory, program, code))


def _run(plan: LoopsPlan, given: Sequence[Any], expected: np.ndarray[Any, Any]) -> bool:
    """Whether a program gives the bits that NumPy gave."""
    if expected.size > plan.most:
        return False
    kept = [g if isinstance(g, np.ndarray) else np.array(g) for g in given]
    result = np.empty(expected.shape, plan.result)
    block = (ctypes.c_int64 * WORDS)(*plan.block)
    flag = ctypes.c_int32(0)
    block[0] = ctypes.addressof(flag)
    for place, array in enumerate((*kept, result), 1):
        block[place] = array.ctypes.data
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(plan.kernel)(block, 0, result.size)
    return not flag.value and result.tobytes() == expected.tobytes()


def _note(kernel: EntryKernel, arguments: Sequence[Any], result: Tensor) -> None:
    if machine.loops is None and not machine.is_ready():
        return
    if kernel.entry is None:
        kernel.entry = EagerEntry(kernel)
        direct(kernel, machine.entry)
    kernel.entry.learn(kernel, arguments, result)


Served.by = _note
