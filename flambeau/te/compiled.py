"""What `LoopNest.codegen` gives: nests to call with arrays, tensors and numbers, which show their code."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.codegen import threads
from flambeau.codegen.choices import FASTMATH
from flambeau.codegen.llvm.abi import NO_MEMORY, ZERO_DIVISOR
from flambeau.codegen.llvm.engine import available, c_imports, engine, memory_imports
from flambeau.te.arguments import Argument, Arguments, Bound, HostMemory, Memory
from flambeau.te.copies import copied
from flambeau.te.errors import ScheduleError
from flambeau.te.interpret import outside_text, run
from flambeau.te.native.emission import SYMBOL, emit_nest
from flambeau.te.native.values import FIRST_OUTSIDE
from flambeau.te.nest import Nest
from flambeau.te.statements import BLOCK, THREAD, loops_of
from flambeau.util import thread_count
from flambeau.util.record import replace

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_WORDS: dict[str, Any] = {
    "int64": ctypes.c_int64, "int32": ctypes.c_int32, "int16": ctypes.c_int16, "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8, "bool": ctypes.c_bool, "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip


class Compiled(ABC):
    """A nest as it was when `codegen` was called, to be called itself.

    A call takes the arguments that `codegen` says, arrays of NumPy or tensors, and gives the results: arrays, or
    tensors where it was given one. What is read and does not lie row by row is copied first. Raises TypeError for a
    wrong number of arguments and for wrong dtypes, ValueError for shapes that do not fit and for results that share
    memory with something else, IndexError and ZeroDivisionError as Python does, and MemoryError.
    """

    memory: Memory = HostMemory()
    """Where the arrays of calls lie."""

    def __init__(self, nest: Nest, args: Sequence[Argument] | None) -> None:
        self.arguments = Arguments(nest, args)
        self.text = str(nest)
        """The nest's text."""
        self._body = copied(nest.body, lambda name: name)

    @property
    def args(self) -> list[Argument]:
        """What calls take, in order."""
        return self.arguments.args

    def __call__(self, *arguments: Any) -> Any:
        return self._called(arguments, self.memory, self._run)

    def _called(self, arguments: tuple[Any, ...], memory: Memory, run: Callable[[Bound], None]) -> Any:
        bound = self.arguments.bind(arguments, memory)
        run(bound)
        results = tuple([memory.result(array, arguments) for array in bound.results])
        return results[0] if len(results) == 1 else results

    @abstractmethod
    def _run(self, bound: Bound) -> None:
        """Run the nest on the arrays and numbers of a call."""

    def __str__(self) -> str:
        return self.text


class Interpreted(Compiled):
    """A nest that runs in plain Python.

    >>> import numpy as np
    >>> from flambeau import te
    >>> x = te.placeholder('x', (3,))
    >>> nest = te.LoopNest(te.compute('y', 3, lambda i: x[i] * 2.0))
    >>> nest.codegen('interp')(np.arange(3, dtype=np.float32))
    array([0., 2., 4.], dtype=float32)
    """

    def _run(self, bound: Bound) -> None:
        run(self._body, bound)


class NativeCode(Compiled):
    """A nest as machine code.

    Args:
        fastmath: let floats be regrouped; nan and infinities keep their meaning.
        num_threads: threads that parallel loops use; None for as many as `flambeau.set_num_threads` says.

    Raises RuntimeError where LLVM is not installed.

    >>> import numpy as np
    >>> from flambeau import te
    >>> x = te.placeholder('x', (3,))
    >>> nest = te.LoopNest(te.compute('y', 3, lambda i: x[i] * 2.0))
    >>> native = nest.codegen('llvm')
    >>> native(np.arange(3, dtype=np.float32))
    array([0., 2., 4.], dtype=float32)
    """

    def __init__(
        self, nest: Nest, args: Sequence[Argument] | None = None, *, fastmath: bool = False,
        num_threads: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(nest, args)
        if not available():
            raise RuntimeError("native code needs llvmlite, which is not installed: pip install llvmlite")
        for loop in loops_of(self._body):
            if loop.kind in (BLOCK, THREAD):
                raise ScheduleError(
                    f"{loop.name} is bound to {loop.kind}s of a device: codegen('cuda') runs that, or parallel"
                )
        self._tensors = [*nest.inputs, *nest.outputs]
        jit = engine()
        target = replace(jit.target, user_flags=FASTMATH) if fastmath else jit.target
        self._native = emit_nest(self._body, [t.buffer for t in self._tensors], self.arguments.sizes, target)
        imports = c_imports(self._native.libm)
        if self._native.needs_memory:
            imports.update(memory_imports())
        self._code = jit.link(self._native.text, (SYMBOL,), imports, optimise=True)
        self._entry = _ENTRY(self._code.addresses[SYMBOL])
        self._block = ctypes.c_int64 * (2 + len(self._tensors) + len(self.arguments.sizes))
        self._threads = thread_count.ANY if num_threads is None else num_threads

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR, before LLVM's passes."""
        return self._native.text

    @property
    def optimised_ir(self) -> str:
        """The LLVM IR after LLVM's passes."""
        return engine().optimised_ir(self._native.text)

    @property
    def asm(self) -> str:
        """The machine instructions."""
        return engine().assembly(self._native.text, optimise=True)

    def _run(self, bound: Bound) -> None:
        error = ctypes.c_int32(0)
        shares = threads.run_address(self._threads if threads.is_supported() else 1)
        addresses = [ctypes.addressof(error), shares, *[bound.arrays[t].ctypes.data for t in self._tensors]]
        numbers = self.arguments.sizes
        block = self._block(*addresses)
        start = ctypes.addressof(block) + 8 * len(addresses)
        for k, v in enumerate(numbers):
            number = bound.numbers[v]
            _WORDS[v.dtype].from_address(start + 8 * k).value = number.item() if hasattr(number, "item") else number
        self._entry(ctypes.addressof(block), 0, 0)
        if error.value == NO_MEMORY:
            raise MemoryError("there is not enough memory for the temporaries of the nest")
        if error.value == ZERO_DIVISOR:
            raise ZeroDivisionError("ZeroDivisionError")
        if error.value >= FIRST_OUTSIDE:
            raise IndexError(outside_text(self._native.looked_at[error.value - FIRST_OUTSIDE]))

