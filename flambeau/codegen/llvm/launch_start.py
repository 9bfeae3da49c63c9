"""Runs a launch, whoever calls: fills the block of words that its kernel reads, and starts the kernel."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.layouts import LAUNCH
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.launch_inputs import input_of

KERNEL = "void (ptr, i64, i64)"
"""A kernel: of a block of words, and the bounds of its outermost axis."""
POOL = "void (ptr, ptr, i64, i64, i32)"
"""The pool: of a kernel, a block, the end of the outermost axis, the iterations of a piece, the number of pieces."""


class LaunchBlock:
    """The block of a launch, while it is filled."""

    def __init__(self, f: FunctionBuilder, launch: Value, count: Value, error: Value) -> None:
        """A copy of the launch's block. ``count`` is the call's number of elements, -1 if the launch says it; the
        kernel leaves what went wrong in ``error``.
        """
        self._f, self._launch = f, launch
        self.n_in, self.n_out = f.get(launch, LAUNCH, "n_in"), f.get(launch, LAUNCH, "n_out")
        words = f.get(launch, LAUNCH, "words")
        self.address = f.array("i64", words, 16)
        f.copy(self.address, f.get(launch, LAUNCH, "template"), f.op("mul", words, 8), 8)
        f.set_word(self.address, f.get(launch, LAUNCH, "size_at"), count)
        f.store(error, 0, "i32")
        f.store(self.address, error)

    def put_inputs(self, inputs: Value, data_of: Callable[[Value, Value, Value], Value]) -> None:
        """Put in the address of each input: ``data_of(input, record, number)``."""
        f = self._f
        records = f.get(self._launch, LAUNCH, "inputs")
        with f.loop(self.n_in) as k:
            data = data_of(*input_of(f, inputs, records, k), k)
            f.set_word(self.address, f.op("add", k, 1), data)

    def put_output(self, number: Value, data: Value) -> None:
        """Put in the address of an output."""
        f = self._f
        f.set_word(self.address, f.op("add", self.n_in, f.op("add", number, 1)), data)


def add_start(m: ModuleBuilder) -> None:
    """Add ``start(launch, block, count)``: the kernel on this thread, or in pieces on the pool's; nothing where the
    launch has none, since its outputs have no elements.
    """
    f = m.function("void start", "ptr launch", "ptr block", "i64 count")
    launch, block, count = f.parameters
    kernel, step = f.get(launch, LAUNCH, "kernel"), f.get(launch, LAUNCH, "step")
    with f.when(f.is_null(kernel)):
        f.ret()
    is_exact = f.compare("slt", count, 0)
    high = f.pick(is_exact, f.get(launch, LAUNCH, "high"), count)
    with f.when(f.compare("eq", step, 0)):
        f.call_address(kernel, KERNEL, block, 0, high)
        f.ret()
    cut = f.op("udiv", f.op("sub", f.op("add", high, step), 1), step)
    pieces = f.convert("trunc", f.pick(is_exact, f.get(launch, LAUNCH, "pieces"), cut), "i32")
    f.call_address(f.get(launch, LAUNCH, "pool"), POOL, kernel, block, high, step, pieces)
    f.ret()
