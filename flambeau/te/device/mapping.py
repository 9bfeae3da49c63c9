"""Statements as kernels: each outermost statement is one launch, in which a loop is bound to blocks or to threads.

What stands in a block outside its loops over threads is done by the first thread; all wait for each other behind each
such statement. A statement whose loops all go along a reduction is done by one thread. Local memory of a block is
shared memory, that of a thread is registers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from flambeau.codegen.cuda.mapped import WARP, Grid, Index, MappedKernel, Memory, Operand, Program
from flambeau.codegen.cuda.threads import ERROR
from flambeau.te.device.values import ThreadValues, zero_of
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import STORED, Buffer, Expr, Load, Var, integer
from flambeau.te.linear import constant_of, simplify
from flambeau.te.nest import Nest
from flambeau.te.proofs import Known
from flambeau.te.statements import (
    BLOCK,
    PARALLEL,
    THREAD,
    UNROLL,
    Allocate,
    Body,
    Loop,
    Statement,
    Store,
    When,
    loops_of,
)
from flambeau.util.record import dataclass, field

MOST_BLOCKS = 2**31 - 1


@dataclass(slots=True, eq=False)
class DeviceProgram:
    """Kernels with what their launches need to know."""

    program: Program
    sizes: dict[str, Expr]
    """Sizes that kernels are given, by name."""
    scalars: dict[Var, str]
    """Numbers that are no sizes: the memory of one element that holds each."""
    names: dict[Buffer, str]
    """What memory is called that launches are given."""


@dataclass(slots=True, eq=False)
class _Names:
    sizes: dict[str, Expr] = field(default_factory=dict)
    memories: dict[Buffer, Memory] = field(default_factory=dict)
    scalars: dict[Var, Memory] = field(default_factory=dict)

    def size(self, e: Expr) -> Operand:
        """A size as kernels know it."""
        number = constant_of(e)
        if number is not None:
            return number
        if isinstance(e, Var):
            self.sizes[e.name] = e
            return f"#{e.name}"
        known = next((name for name, other in self.sizes.items() if str(other) == str(e)), None)
        name = known or f"size_{len(self.sizes)}"
        self.sizes[name] = e
        return f"#{name}"


def map_nest(nest: Nest, body: Body, numbers: list[Var], name: str = "nest") -> DeviceProgram:
    """The kernels of a nest. Raises ScheduleError for what has no form there."""
    names = _Names()
    for role, tensors in (("in", nest.inputs), ("out", nest.outputs)):
        for t in tensors:
            if t.dtype in STORED:
                raise ScheduleError(f"{t.name} has dtype {t.dtype}, which kernels do not store: give it float32")
            names.memories[t.buffer] = _memory(names, t.buffer, role)
    for v in numbers:
        if v.dtype != "int64":
            names.scalars[v] = Memory(f"number.{v.name}", v.dtype, "global", "in", (1,))
        else:
            names.size(v)
    kernels: list[tuple[Statement, str]] = []
    for s in body:
        if isinstance(s, Allocate):
            names.memories[s.buffer] = _memory(names, s.buffer, "work")
        else:
            kernels.append((s, f"{name}_{len(kernels)}"))
    mapped = tuple(_Kernel(s, label, names).run() for s, label in kernels)
    memories = {b: m.name for b, m in names.memories.items()}
    return DeviceProgram(Program(mapped), dict(names.sizes), {v: m.name for v, m in names.scalars.items()}, memories)


def _memory(names: _Names, b: Buffer, role: str) -> Memory:
    return Memory(b.name, b.dtype, "global", role, tuple(names.size(e) for e in b.shape))


class _Kernel:
    def __init__(self, s: Statement, name: str, names: _Names) -> None:
        self.s, self.name, self.names = s, name, names
        self.blocks, self.threads = self._bound()
        self.v = ThreadValues({b: m.name for b, m in names.memories.items()})
        self.shared: list[Memory] = []
        self.thread = ""

    def _bound(self) -> tuple[Loop | None, int]:
        """The loop that is bound to blocks, and how many threads a block has."""
        loops = loops_of([self.s])
        blocks = [loop for loop in loops if loop.kind == BLOCK]
        threads = [constant_of(loop.extent) or 1 for loop in loops if loop.kind == THREAD]
        first = loops[0].name if loops else "a statement"
        if not blocks and not threads and not all(loop.reduces for loop in loops):
            raise ScheduleError(
                f"nothing in {first} is bound to blocks or threads of a device: write nest.bind(loop, 'block') and "
                f"nest.bind(loop, 'thread')"
            )
        if len(blocks) > 1:
            raise ScheduleError(f"{blocks[0].name} and {blocks[1].name} in {first} are both bound to blocks: fuse them")
        parallel = next((loop for loop in loops if loop.kind == PARALLEL), None)
        if parallel is not None:
            raise ScheduleError(
                f"{parallel.name} is parallel, which is for threads of the processor: bind it to blocks"
            )
        if blocks and self.s is not blocks[0]:
            raise ScheduleError(
                f"{blocks[0].name} lies in {first}: reorder the loop that is bound to blocks outside it"
            )
        return (blocks[0] if blocks else None), max(WARP, -(-max(threads, default=1) // WARP) * WARP)

    def run(self) -> MappedKernel:
        b = self.v.b
        self.thread = b.special("thread")
        for v, memory in self.names.scalars.items():
            self.v.numbers[v] = b.read(memory.name, memory.dtype, 0)
        for v in [v for v in self.names.sizes.values() if isinstance(v, Var)]:
            self.v.numbers[v] = self._named(f"#{v.name}")
        known = Known({})
        grid = Grid((), 1, 1)
        if self.blocks is None:
            self.body([self.s], known)
        else:
            loop = self.blocks
            size = self.names.size(loop.extent)
            count = f"#{self._counted(loop.extent)}" if isinstance(size, int) else size
            grid = Grid((count[1:],), 1, MOST_BLOCKS)
            block = b.special("block")
            self.v.numbers[loop.var] = self._named(b.index("add", block, self.v.value(loop.start, known)))
            with b.when(b.test("lt", block, count)):
                self.body(loop.body, known.inside(loop.var, loop.start, loop.stop))
        memories = (*self.names.memories.values(), *self.names.scalars.values(), *self.shared)
        flag = (Memory(ERROR, "int32", "global", "flag", (1,)),) if self.v.may_fail else ()
        return MappedKernel(
            self.name, self.threads, grid, tuple(self.names.sizes), (*memories, *flag), b.body, contract=True
        )

    def _counted(self, e: Expr) -> str:
        name = f"blocks_{constant_of(e)}"
        self.names.sizes[name] = e
        return name

    def _named(self, operand: Operand) -> str:
        """An operand that is a value."""
        if isinstance(operand, int):
            return self.v.b.const(operand, "int64")
        if operand.startswith("#"):
            register = self.v.b.fresh()
            self.v.b.add(Index(register, "add", (operand, 0)))
            return register
        return operand

    # --- in a block

    def body(self, body: Body, known: Known) -> None:
        """Statements that all threads of a block come to together."""
        for s in body:
            self.block_statement(s, known)

    def block_statement(self, s: Statement, known: Known) -> None:
        b = self.v.b
        if isinstance(s, Allocate):
            self.share(s.buffer)
        elif isinstance(s, Loop) and s.kind == THREAD:
            with b.when(b.test("lt", self.thread, constant_of(s.extent) or 0)):
                index = b.index("add", self.thread, self.v.value(s.start, known))
                self.v.numbers[s.var] = self._named(index)
                self.thread_body(s.body, known.inside(s.var, s.start, s.stop))
            b.barrier()
        elif isinstance(s, Loop):
            self.loop(s, known, self.body)
        elif isinstance(s, When):
            with b.when(self.v.value(s.condition, known)):
                self.body(s.body, known.under(s.condition))
        else:
            with b.when(b.test("lt", self.thread, 1)):
                self.store(s, known)
            b.barrier()

    def share(self, buffer: Buffer) -> None:
        """Memory of a block."""
        sizes = tuple(constant_of(e) for e in buffer.shape)
        if any(n is None for n in sizes):
            raise ScheduleError(
                f"{buffer.name} has sizes {', '.join(map(str, buffer.shape))}, and memory of a block is of fixed "
                f"size: split the loops in which it is read"
            )
        name = f"{buffer.name}.shared"
        shape = tuple(n for n in sizes if n is not None)
        self.shared.append(Memory(name, buffer.dtype, "shared", "work", shape))
        self.v.memories[buffer] = name

    def loop(self, s: Loop, known: Known, inner: Callable[[Body, Known], None]) -> None:
        """A loop that each thread goes through by itself."""
        inside = known.inside(s.var, s.start, s.stop)
        count = constant_of(s.extent)
        if s.kind == UNROLL or (count == 1):
            for k in range(count or 0):
                self.v.fixed[s.var] = simplify(s.start + integer(k))
                inner(s.body, inside)
            del self.v.fixed[s.var]
            return
        start, stop = self.v.value(s.start, known), self.v.value(s.stop, known)
        with self.v.b.loop(start, stop, 1) as index:
            self.v.numbers[s.var] = index
            inner(s.body, inside)

    # --- in a thread

    def thread_body(self, body: Body, known: Known) -> None:
        """Statements of one thread."""
        for s in body:
            if isinstance(s, Allocate):
                self.keep(s.buffer)
            elif isinstance(s, Loop):
                self.loop(s, known, self.thread_body)
            elif isinstance(s, When):
                with self.v.b.when(self.v.value(s.condition, known)):
                    self.thread_body(s.body, known.under(s.condition))
            else:
                self.store(s, known)

    def keep(self, buffer: Buffer) -> None:
        """Memory of a thread: a variable for each element."""
        sizes = [constant_of(e) for e in buffer.shape]
        if any(n is None for n in sizes) or math.prod(n or 1 for n in sizes) > 256:
            raise ScheduleError(
                f"{buffer.name} has sizes {', '.join(map(str, buffer.shape))}, and memory of a thread is at most 256 "
                f"registers: split the loops in which it is read"
            )
        locations = itertools.product(*(range(n or 0) for n in sizes))
        b, dtype = self.v.b, buffer.computed
        start = b.const(zero_of(dtype), dtype)
        self.v.registers[buffer] = {location: b.var(start, dtype) for location in locations}

    def store(self, s: Store, known: Known) -> None:
        """A store of one thread."""
        value = self.v.value(s.value, known)
        if s.reducer:
            old = self.v.value(Load(s.buffer, s.indices), known)
            value = self.v.b.combine(s.reducer, [old], [value])[0]
        self.v.write(s.buffer, s.indices, value, known)

