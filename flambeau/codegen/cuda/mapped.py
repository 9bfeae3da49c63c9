"""Thread-mapped loop nests: what each thread of each block does, with shared memory, barriers and shuffles explicit.

    mapped row_sum_0 threads 64 {
      size #a0, #a1
      global in x0: float32[#a0, #a1]
      global out y0: float32[#a0]
      global flag error: int32[1]
      shared part0: float32[2]
      %0 = thread
      %1 = block
      ...
      for %5 = %1 to #a0 step %2 {
        var %6: float32 = %7
        for %8 = %0 to #a1 step 64 {
          %9: float32 = load x0[%5, %8]
          ...
          barrier

Every thread of a grid runs the body. ``thread``, ``block`` and ``blocks`` are its places and the number of blocks.
Values belong to a thread; ``var`` is one that ``<-`` may change. A ``shuffle`` reads another thread's value of the
same warp, all 32 of which must take part; all threads of a block must meet at a ``barrier``. Index arithmetic is in
int64 and never negative. The address of ``x0[i, j]`` in global memory follows from strides given at run time, or is
row-major for memory of the kernel's own; ``simulator`` says what all of it means, and finds what must not happen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Const, Let
from flambeau.util.record import dataclass

Operand: TypeAlias = "str | int"
"""A value's name, a size (``#a0``), or a literal in index arithmetic."""
WARP = 32
"""Threads that run in step and can exchange values."""


@dataclass(frozen=True, slots=True)
class Memory:
    """An array that threads share."""

    name: str
    dtype: str
    space: str
    """``global``, seen by all threads, or ``shared``, of which each block has its own."""
    role: str
    """``in`` and ``out``: the caller's, with strides; ``work``: row-major, of the kernel's own; ``flag``: errors."""
    sizes: tuple[Operand, ...]

    @property
    def is_strided(self) -> bool:
        """Whether strides are given at run time."""
        return self.role in ("in", "out")


@dataclass(frozen=True, slots=True)
class Special:
    """``name = thread``; also ``block`` and ``blocks``."""

    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Index:
    """``name = op a, b`` on indices: add, sub, mul, div, rem, min; lt and eq give a bool."""

    name: str
    op: str
    args: tuple[Operand, Operand]


@dataclass(frozen=True, slots=True)
class Read:
    """``name: dtype = load memory[at]``."""

    name: str
    dtype: str
    memory: str
    at: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """``store memory[at], value``."""

    memory: str
    at: tuple[Operand, ...]
    value: str


@dataclass(frozen=True, slots=True)
class AtomicAdd:
    """``add memory[at], value``: no other addition to that place comes between its load and its store; which of them
    comes first, nothing says."""

    memory: str
    at: tuple[Operand, ...]
    value: str


@dataclass(frozen=True, slots=True)
class ReadVector:
    """``a, b: dtype = load memory[at]``: neighbours along one dimension, where elements lie side by side, in one access
    whose address is a multiple of its size."""

    names: tuple[str, ...]
    dtype: str
    memory: str
    at: tuple[Operand, ...]
    """Where the first one is."""
    dimension: int
    """Along which they are neighbours."""


@dataclass(frozen=True, slots=True)
class WriteVector:
    """``store memory[at], a, b``: the same for stores."""

    memory: str
    at: tuple[Operand, ...]
    values: tuple[str, ...]
    dimension: int


@dataclass(frozen=True, slots=True)
class Var:
    """``var name: dtype = initial``."""

    name: str
    dtype: str
    initial: Operand


@dataclass(frozen=True, slots=True)
class Assign:
    """``name <- value``."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Shuffle:
    """``name: dtype = shuffle how value, lane``: ``down`` reads the lane that many places on, ``up`` that many back
    (its own where there is none), ``from`` the lane of that number."""

    name: str
    dtype: str
    how: str
    value: str
    lane: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """``barrier``: all threads of the block wait here, and see what the others wrote before."""


@dataclass(frozen=True, slots=True)
class For:
    """``for index = start to stop step step { ... }``; stop is not reached."""

    index: str
    start: Operand
    stop: Operand
    step: Operand
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If:
    """``if condition { ... }``."""

    condition: str
    body: tuple[Statement, ...]


Access: TypeAlias = Read | Write | AtomicAdd | ReadVector | WriteVector
Statement: TypeAlias = Const | Let | Special | Index | Access | Var | Assign | Shuffle | Barrier | For | If


@dataclass(frozen=True, slots=True)
class Grid:
    """How many blocks run: as many as have something to do for the iterations over these axes, up to a limit."""

    axes: tuple[str, ...]
    per_block: int
    """Iterations that one block takes at a time."""
    limit: int
    factor: int = 1
    """Threads that share an iteration; those of one have other places in what it changes."""
    pieces: int = 1
    """Blocks that share one block's iterations."""

    def blocks(self, sizes: dict[str, int]) -> int:
        """The number of blocks for axes of these sizes; it depends on nothing else, so that folds keep their order."""
        iterations = self.factor
        for axis in self.axes:
            iterations *= sizes[axis]
        return max(1, min(self.limit, -(-iterations // self.per_block) * self.pieces))


@dataclass(frozen=True, slots=True)
class MappedKernel:
    """One launch."""

    name: str
    threads: int
    """Threads of a block, a multiple of 32."""
    grid: Grid
    sizes: tuple[str, ...]
    """Axes, and other sizes, given at run time."""
    memories: tuple[Memory, ...]
    body: tuple[Statement, ...]
    narrow: bool = False
    """Whether every index is known to fit 31 bits, so that divisions of indices may be done in 32."""
    contract: bool = False
    """Allow a product and a sum of the user's to fuse into one rounding."""

    def memory(self, name: str) -> Memory:
        """The memory called ``name``."""
        return next(m for m in self.memories if m.name == name)


@dataclass(frozen=True, slots=True)
class Program:
    """Kernels launched one after another, which together do what one loop nest means."""

    kernels: tuple[MappedKernel, ...]
    extra_sizes: tuple[tuple[str, int, int], ...] = ()
    """(name, number of a kernel, factor): sizes that are that many times the blocks of a kernel."""

    def all_sizes(self, sizes: dict[str, int]) -> dict[str, int]:
        """Sizes of the axes and those that follow from the grids."""
        sizes_of_all = dict(sizes)
        for name, kernel, factor in self.extra_sizes:
            sizes_of_all[name] = self.kernels[kernel].grid.blocks(sizes) * factor
        return sizes_of_all

    @property
    def work(self) -> tuple[Memory, ...]:
        """Global memory that the kernels need for themselves."""
        by_name = {m.name: m for k in self.kernels for m in k.memories if m.space == "global" and m.role == "work"}
        return tuple(by_name.values())


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement, a loop before what it holds."""
    for statement in body:
        yield statement
        if isinstance(statement, For | If):
            yield from walk(statement.body)


def shared_bytes(kernel: MappedKernel, sizes: dict[str, int]) -> int:
    """Bytes of shared memory whose size is known at run time only."""
    return sum(-(-memory_bytes(m, sizes) // 8) * 8 for m in dynamic_shared(kernel))


def dynamic_shared(kernel: MappedKernel) -> tuple[Memory, ...]:
    """Shared memory whose size is known at run time only."""
    return tuple(m for m in kernel.memories if m.space == "shared" and not all(isinstance(s, int) for s in m.sizes))


def memory_shape(memory: Memory, sizes: dict[str, int]) -> tuple[int, ...]:
    """Its sizes as numbers."""
    return tuple(s if isinstance(s, int) else sizes[s[1:]] for s in memory.sizes)


def memory_bytes(memory: Memory, sizes: dict[str, int]) -> int:
    """Bytes of a row-major array of its sizes."""
    total = element_type(memory.dtype).itemsize
    for size in memory_shape(memory, sizes):
        total *= size
    return total
