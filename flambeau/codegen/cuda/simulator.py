"""Runs thread-mapped kernels in Python: block after block, the threads of a block in step, every access checked.

It is the meaning of the thread-mapped form. It raises ``SimulationError`` for races, accesses out of range, reads of
memory that nobody wrote, barriers that some threads of a block do not reach and shuffles that some threads of a warp do
not take part in; the message says which thread of which block, and which statement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen import reference_scalar as scalar
from flambeau.codegen.cuda.bound_program import BoundProgram
from flambeau.codegen.cuda.mapped import (
    WARP,
    Assign,
    AtomicAdd,
    Barrier,
    For,
    If,
    Index,
    MappedKernel,
    Memory,
    Operand,
    Program,
    Read,
    ReadVector,
    Shuffle,
    Special,
    Statement,
    Var,
    Write,
    WriteVector,
    memory_shape,
)
from flambeau.codegen.cuda.printer import print_statement
from flambeau.codegen.cuda.races import SimulationError, Touched
from flambeau.codegen.cuda.threads import ERROR, raise_error
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Const, Let

Array = npt.NDArray[Any]

_INDEX = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.floor_divide, "rem": np.remainder,
    "min": np.minimum, "lt": np.less, "eq": np.equal,
}  # fmt: skip


def _largest(a: Array, b: Array) -> Array:
    return np.where(a != a, a, np.where((b != b) | ~(a >= b), b, a))


def _smallest(a: Array, b: Array) -> Array:
    return np.where(a != a, a, np.where((b != b) | ~(a <= b), b, a))


_VECTOR: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "maximum": _largest, "minimum": _smallest,
}  # fmt: skip
"""Operations that NumPy does for all threads at once as ``reference_scalar`` does for one, on numbers."""
_ON_BOOLS: dict[str, Callable[..., Any]] = {
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_not": np.logical_not,
}  # fmt: skip
"""Operations on bools."""


def _keeps_floats(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether a conversion is between float32 and float64."""
    return source.kind == "f" and target.kind == "f" and min(source.itemsize, target.itemsize) >= 4


def simulate(bound: BoundProgram, *inputs: Array) -> tuple[Array, ...]:
    """The outputs of a program on arrays of the layouts it was made for."""
    kernel, sizes, strides = bound.special.kernel, bound.sizes, bound.special.strides
    outputs = [np.zeros(o.memory_shape, o.dtype) for o in bound.outputs]
    if bound.program is not None:
        memory = {}
        for buffer, array in zip(kernel.inputs + kernel.outputs, [*inputs, *outputs], strict=True):
            shape = tuple(sizes[a] for a in buffer.axes)
            steps = tuple(strides[buffer.name, a] for a in buffer.axes)
            memory[buffer.name] = np.lib.stride_tricks.as_strided(array, shape, steps)
        run_program(bound.program, sizes, memory)
    return tuple(o.view(a) for o, a in zip(bound.outputs, outputs, strict=True))


def run_program(program: Program, sizes: dict[str, int], memory: dict[str, Array]) -> None:
    """Launch every kernel in order on arrays by name, which it reads and writes; adds the program's own memory.

    Raises ``SimulationError``, and ``ZeroDivisionError`` or ``IndexError`` where the error flag was set.
    """
    everything = program.all_sizes(sizes)
    known = {name: np.ones(a.size, bool) for name, a in memory.items()}
    for own in program.work:
        memory[own.name] = np.zeros(memory_shape(own, everything), own.dtype)
        known[own.name] = np.zeros(memory[own.name].size, bool)
    flag = memory.setdefault(ERROR, np.zeros(1, np.int32))
    for kernel in program.kernels:
        blocks = kernel.grid.blocks(sizes)
        known = _Launch(kernel, everything, memory, blocks, known).run()
    raise_error(int(flag[0]), "kernel")


class _Launch:
    def __init__(
        self, kernel: MappedKernel, sizes: dict[str, int], memory: dict[str, Array], blocks: int,
        known: dict[str, Array],
    ) -> None:  # fmt: skip
        self.kernel, self.sizes, self.blocks, self.known = kernel, sizes, blocks, known
        self.memory = dict(memory)
        self.threads = np.arange(kernel.threads)
        self.values: dict[str, Array] = {}
        self.touched: dict[str, Touched] = {}
        self.block = 0
        self.time = 0
        for m in kernel.memories:
            if m.space == "global":
                self.touched[m.name] = Touched(m.name, self.memory[m.name].size, is_initialised=True)
                self.touched[m.name].known = known.get(m.name, np.ones(self.memory[m.name].size, bool))

    def run(self) -> dict[str, Array]:
        for block in range(self.blocks):
            self.block = block
            self.time += 1
            self.values = {}
            for m in self.kernel.memories:
                if m.space == "shared":
                    self.memory[m.name] = np.zeros(memory_shape(m, self.sizes), m.dtype)
                    self.touched[m.name] = Touched(m.name, self.memory[m.name].size, is_initialised=False)
            self.body(self.kernel.body, np.ones(self.kernel.threads, bool))
        written = {m.name: self.touched[m.name].known for m in self.kernel.memories if m.space == "global"}
        return {**self.known, **written}

    def fail(self, s: Statement, message: str) -> SimulationError:
        return SimulationError(f"{self.kernel.name}: {message}, in '{print_statement(s)}'")

    # --- statements

    def body(self, body: tuple[Statement, ...], active: Array) -> None:
        for s in body:
            if isinstance(s, For):
                self.loop(s, active)
            elif isinstance(s, If):
                inside = active & self.values[s.condition]
                if inside.any():
                    self.body(s.body, inside)
            else:
                self.simple(s, active)

    def loop(self, s: For, active: Array) -> None:
        index, stop, step = self.operand(s.start).copy(), self.operand(s.stop), self.operand(s.step)
        inside = active & (index < stop)
        while inside.any():
            self.values[s.index] = index
            self.body(s.body, inside)
            index = index + step
            inside = inside & (index < stop)

    def simple(self, s: Statement, active: Array) -> None:
        if isinstance(s, Const):
            self.values[s.name] = np.full(len(active), scalar.make(s.value, s.dtype))
        elif isinstance(s, Special):
            number = {"thread": self.threads, "block": self.block, "blocks": self.blocks}[s.what]
            self.values[s.name] = np.broadcast_to(np.asarray(number, np.int64), active.shape)
        elif isinstance(s, Index):
            self.values[s.name] = self.arithmetic(s, active)
        elif isinstance(s, Let):
            self.values[s.name] = self.let(s, active)
        elif isinstance(s, Read):
            self.read(s, active)
        elif isinstance(s, Write):
            self.write(s, active)
        elif isinstance(s, AtomicAdd):
            self.atomic_add(s, active)
        elif isinstance(s, ReadVector | WriteVector):
            self.vector(s, active)
        elif isinstance(s, Var):
            self.values[s.name] = self.operand(s.initial).copy()
        elif isinstance(s, Assign):
            self.values[s.name] = np.where(active, self.values[s.value], self.values[s.name])
        elif isinstance(s, Shuffle):
            self.shuffle(s, active)
        else:
            assert isinstance(s, Barrier), s
            self.barrier(s, active)

    def operand(self, operand: Operand) -> Array:
        if isinstance(operand, str) and not operand.startswith("#"):
            return self.values[operand]
        number = operand if isinstance(operand, int) else self.sizes[operand[1:]]
        return np.broadcast_to(np.int64(number), len(self.threads))

    def arithmetic(self, s: Index, active: Array) -> Array:
        a, b = (self.operand(x) for x in s.args)
        if s.op in ("div", "rem"):
            if not b[active].all():
                raise self.fail(s, f"thread {self.threads[active & (b == 0)][0]} divides an index by zero")
            b = np.where(b == 0, 1, b)
        return np.asarray(_INDEX[s.op](a, b))

    def let(self, s: Let, active: Array) -> Array:
        args = [self.operand(a) for a in s.args]
        if s.op == "select":
            return np.where(args[0], args[1], args[2])
        vector = (_ON_BOOLS if args[0].dtype == bool else _VECTOR).get(s.op)
        if vector is not None:
            with np.errstate(all="ignore"):
                return np.asarray(vector(*args))
        if s.op == "cast" and _keeps_floats(args[0].dtype, element_type(s.dtype).numpy):
            with np.errstate(all="ignore"):
                return args[0].astype(element_type(s.dtype).numpy)
        result = np.zeros(len(active), element_type(s.dtype).numpy)
        for t in np.flatnonzero(active):
            one = tuple(a[t] for a in args)
            try:
                is_cast = s.op == "cast"
                result[t] = scalar.cast(one[0], s.dtype) if is_cast else scalar.evaluate(s.op, one, one[-1].dtype.name)
            except ZeroDivisionError:
                pass  # the kernel has set the flag
        return result

    # --- memory

    def places(self, s: Read | Write | AtomicAdd, active: Array) -> tuple[Array, ...]:
        """The index of each active thread along each dimension."""
        m: Memory = self.kernel.memory(s.memory)
        shape = memory_shape(m, self.sizes)
        indices = []
        for operand, size in zip(s.at, shape, strict=True):
            index = self.operand(operand)[active]
            bad = (index < 0) | (index >= size)
            if bad.any():
                k = np.flatnonzero(bad)[0]
                thread = self.threads[active][k]
                raise self.fail(s, f"thread {thread} of block {self.block} is out of range: index {index[k]} of {size}")
            indices.append(index)
        return tuple(indices)

    def flat(self, s: Read | Write | AtomicAdd, indices: tuple[Array, ...]) -> Array:
        if not indices:
            return np.zeros(1, np.int64)
        shape = memory_shape(self.kernel.memory(s.memory), self.sizes)
        return np.asarray(np.ravel_multi_index(indices, shape)) if 0 not in shape else indices[0]

    def read(self, s: Read, active: Array) -> None:
        indices = self.places(s, active)
        threads = self.threads[active]
        flat = np.broadcast_to(self.flat(s, indices), threads.shape)
        self.checked(s, lambda: self.touched[s.memory].read(flat, threads, self.block, self.time))
        old = np.zeros(len(active), element_type(s.dtype).numpy)
        old[active] = self.memory[s.memory][indices]
        self.values[s.name] = old

    def write(self, s: Write, active: Array) -> None:
        indices = self.places(s, active)
        threads = self.threads[active]
        flat = np.broadcast_to(self.flat(s, indices), threads.shape)
        if self.kernel.memory(s.memory).role != "flag":  # all who set it write the same
            self.checked(s, lambda: self.touched[s.memory].write(flat, threads, self.block, self.time))
        value = self.operand(s.value)[active]
        self.memory[s.memory][indices] = value if indices else value[0]

    def atomic_add(self, s: AtomicAdd, active: Array) -> None:
        """Additions to one place do not meet; with plain stores they do, as loads."""
        indices = self.places(s, active)
        threads = self.threads[active]
        flat = np.broadcast_to(self.flat(s, indices), threads.shape)
        self.checked(s, lambda: self.touched[s.memory].read(flat, threads, self.block, self.time))
        value = self.operand(s.value)[active]
        np.add.at(self.memory[s.memory], indices or (), value if indices else value.sum())

    def vector(self, s: ReadVector | WriteVector, active: Array) -> None:
        """One access after another, to places whose first lies at a multiple of their number."""
        names = s.names if isinstance(s, ReadVector) else s.values
        first = self.operand(s.at[s.dimension])
        if (first[active] % len(names)).any():
            raise self.fail(s, f"block {self.block} is not at a multiple of {len(names)}")
        for k, name in enumerate(names):
            self.values["%place"] = first + k
            at = (*s.at[: s.dimension], "%place", *s.at[s.dimension + 1 :])
            if isinstance(s, ReadVector):
                self.read(Read(name, s.dtype, s.memory, at), active)
            else:
                self.write(Write(s.memory, at, name), active)

    def checked(self, s: Statement, access: Any) -> None:
        try:
            access()
        except SimulationError as error:
            raise self.fail(s, str(error)) from None

    # --- threads together

    def barrier(self, s: Barrier, active: Array) -> None:
        if not active.all():
            raise self.fail(
                s,
                f"thread {self.threads[~active][0]} of block {self.block} does not reach the barrier "
                f"where thread {self.threads[active][0]} waits",
            )
        self.time += 1

    def shuffle(self, s: Shuffle, active: Array) -> None:
        warps = active.reshape(-1, WARP)
        partly = np.flatnonzero(warps.any(1) & ~warps.all(1))
        if partly.size:
            raise self.fail(s, f"some threads of warp {partly[0]} of block {self.block} do not take part in a shuffle")
        value = self.operand(s.value).reshape(-1, WARP)
        lanes = np.arange(WARP)
        moved = {"from": 0 * lanes + s.lane, "down": lanes + s.lane, "up": lanes - s.lane}[s.how]
        source = np.where((moved >= 0) & (moved < WARP), moved, lanes)
        self.values[s.name] = value[:, source].reshape(-1)
