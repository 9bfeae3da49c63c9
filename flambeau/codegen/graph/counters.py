"""Native functions that count: how often each block ran, and how many cycles went into loops, groups and Python.

A profiling build is the same code with a counter for every block of the graph and a look at the processor's cycle
counter around the two outermost levels of loops, around fused groups, around nodes that Python runs and around
allocations. The counters live in registers or on the stack, and are handed over when the function ends.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.compile import compile_function
from flambeau.codegen.graph.entry.foreign_code import ForeignCode
from flambeau.codegen.graph.function import FunctionEmitter, FunctionText
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native import ExitHandler, NativeFunction
from flambeau.codegen.graph.representation import Int
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Block, Node
from flambeau.util.record import dataclass

COUNTS = "flambeau_counts"
TIMED_DEPTH = 2
"""Levels of loops whose cycles are counted; inside of these, what an innermost loop costs would be mostly the count."""
CONTROL = 3.0
"""Weight of a branch, and of an iteration of a loop."""
_SLOW = re.compile(r"@(?:ask|run_group|new_block|new_block_of_\d+|make_list)\(| @foreign")
"""Calls that are timed one by one."""
_COSTS = (
    (re.compile(r"= [fsu](?:div|rem)|llvm\.sqrt|llvm\.masked"), 12.0),
    (re.compile(r"\bcall\b"), 20.0),
)
"""Instructions that take long, in terms of the others."""
_FREE = re.compile(r"^\w+:$|call void @llvm|llvm\.(?:fma|fabs|smin|smax|ctpop|minnum|maxnum)|bitcast|getelementptr")


@dataclass(slots=True)
class Counters:
    """What a profiling build counts, by the graph's own blocks and nodes. Numbers are indexes of counts."""

    entries: dict[Block, int]
    """How often a block was entered."""
    cycles: dict[Node, int]
    """Cycles that went into a node, with what is inside."""
    total: int
    """Cycles from the function's start to its end."""
    around: dict[Node, Node | None]
    """For each node the innermost loop around it whose cycles are counted."""
    weights: dict[Node, float]
    """How much a node is taken to cost, in terms of a simple instruction."""
    memory: Any
    """The counts, added up over all calls."""

    def count(self, index: int) -> int:
        """A count so far."""
        return int(self.memory[index])


class Counting:
    """Puts counters into what is emitted (a `function.Observer`)."""

    fn: FunctionEmitter
    counters: Counters

    def __init__(self) -> None:
        self.slots_of_counts: list[Register] = []
        self._around: Node | None = None
        self._in_lanes: set[Block] = set()

    def begin(self, fn: FunctionEmitter) -> None:
        """Count all cycles of a function."""
        self.fn = fn
        self.counters = Counters({}, {}, self._new_count(), {}, {}, None)
        fn.e.entry.append("  %entered = call i64 @llvm.readcyclecounter()")

    def _new_count(self) -> int:
        slot = self.fn.e.slot("i64", 8)
        self.fn.e.entry.append(f"  store i64 0, ptr {slot}")
        self.slots_of_counts.append(slot)
        return len(self.slots_of_counts) - 1

    def _add(self, index: int, more: Register) -> None:
        e, slot = self.fn.e, self.slots_of_counts[index]
        before = e.define(f"load i64, ptr {slot}", "i64", 1)
        after = e.define(f"add i64 {before}, {more}", "i64", 1)
        e.raw(f"store i64 {after}, ptr {slot}")

    def _cycle(self) -> Register:
        return self.fn.e.define("call i64 @llvm.readcyclecounter()", "i64", 1)

    def _entered(self, block: Block, more: Register) -> None:
        entries = self.counters.entries
        if block not in entries:
            entries[block] = self._new_count()
        self._add(entries[block], more)

    # -- what is counted ----------------------------------------------------------------------------------------------

    def enter(self, block: Block) -> None:
        """Count a block."""
        self._entered(block, number(1))

    def node(self, node: Node, emit: Callable[[Node], None]) -> None:
        """One node; if it is a loop of the outer levels, its cycles."""
        self._in_lanes.clear()
        self.counters.around[node] = outer = self._around
        if node.nested_blocks:
            self.counters.weights[node] = CONTROL
        if node.op != "prim::Loop" or self.fn.scope.loop_depth >= TIMED_DEPTH:
            emit(node)
            return
        start = self._cycle()
        self._around = node
        emit(node)
        self._around = outer
        self._spent(node, start)

    def lower(self, node: Node, emit: Callable[[Node], None]) -> None:
        """A node without blocks: what it may cost, and its cycles if it asks for memory, a kernel, or Python."""
        e = self.fn.e
        if e.lanes > 1:
            self._count_lanes(node.owner_block)
        before = len(e.lines)
        emit(node)
        emitted = e.lines[before:]
        self.counters.weights.setdefault(node, weight(emitted))
        self.counters.around.setdefault(node, self._around)
        if e.lanes == 1 and any(_SLOW.search(line) for line in emitted):
            start = e.name("start")
            e.lines.insert(before, f"  {start} = call i64 @llvm.readcyclecounter()")
            self._spent(node, Register(start, "i64", 1))

    def _spent(self, node: Node, start: Register) -> None:
        cycles = self.counters.cycles
        if node not in cycles:
            cycles[node] = self._new_count()
        self._add(cycles[node], self.fn.e.define(f"sub i64 {self._cycle()}, {start}", "i64", 1))

    def _count_lanes(self, block: Block) -> None:
        """A block whose iterations run as lanes: as often as lanes run it."""
        if block in self._in_lanes:
            return
        self._in_lanes.add(block)
        e = self.fn.e
        mask = e.mask
        if mask is None:
            self._entered(block, number(e.lanes))
            return
        mask = e.splat(mask, e.lanes)
        kind = f"i{e.lanes}"
        e.declare(f"declare {kind} @llvm.ctpop.{kind}({kind})")
        bits = e.define(f"bitcast {mask.full_type} {mask} to {kind}", kind, 1)
        ones = e.define(f"call {kind} @llvm.ctpop.{kind}({kind} {bits})", kind, 1)
        self._entered(block, e.define(f"zext {kind} {ones} to i64", "i64", 1) if e.lanes < 64 else ones)

    # -- the end ------------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Hand the counts over."""
        e = self.fn.e
        self._add(self.counters.total, e.define(f"sub i64 {self._cycle()}, %entered", "i64", 1))
        e.declare(f"@{COUNTS} = external global i8")
        self.counters.memory = (ctypes.c_int64 * len(self.slots_of_counts))()
        address = ctypes.addressof(self.counters.memory)
        self.fn.parts.foreign[COUNTS] = ForeignCode(address, COUNTS, (), Int(), "", self.counters.memory)
        counts = Register(f"@{COUNTS}", "ptr", 1)
        for index, slot in enumerate(self.slots_of_counts):
            count = e.define(f"load i64, ptr {slot}", "i64", 1)
            before = memory.load_word(e, counts, index, "i64")
            memory.store_word(e, counts, index, e.define(f"add i64 {before}, {count}", "i64", 1))


def weight(lines: Sequence[str]) -> float:
    """What instructions may cost, in terms of a simple one."""
    total = 0.0
    for line in lines:
        cost = next((cost for pattern, cost in _COSTS if pattern.search(line)), 1.0)
        total += 0.25 if _FREE.search(line) else cost
    return total


class CountingFunction(NativeFunction):
    """A profiling build of a native function. Raises `CannotCompileError` as that does."""

    def __init__(self, native: NativeFunction, run_exit_point: ExitHandler) -> None:
        inline_caches = iter(native.inline_caches)
        self.seconds = 0.0
        """Spent in calls so far."""
        super().__init__(
            native.graph,
            native.parameters,
            run_exit_point,
            lambda _: next(inline_caches),
            choices=native.choices,
            prepare=native.prepare,
        )

    def _compiled(self) -> FunctionText:
        attempts: list[Counting] = []

        def observe() -> Counting:
            attempts.append(Counting())
            return attempts[-1]

        text = compile_function(self.graph, self.parameters, self._target(), observe, self.prepare)
        self.counters = attempts[-1].counters
        return text

    def __call__(self, arguments: Sequence[Any], changed: Sequence[int] = ()) -> tuple[Any, ...]:
        """As that of a native function; also adds up the time."""
        start = time.perf_counter()
        try:
            return super().__call__(arguments, changed)
        finally:
            self.seconds += time.perf_counter() - start
