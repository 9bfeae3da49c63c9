"""Folds over a whole array: pieces of fixed size folded independently, their states put together in order.

A kernel whose outermost loops run along one axis, with a carried state, becomes several functions: one per loop,
which runs it over [low, high) and leaves the state in a table, and one that folds the table, does the rest and
stores. Later loops begin by folding the tables of the earlier ones. The number and size of pieces depend on the
axis's size alone, so the result does not depend on how many threads there are; short pieces also keep float sums
accurate.
"""

from __future__ import annotations

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Accumulate, Carry, Kernel, Loop, Running, Statement, Store, walk
from flambeau.codegen.llvm import reduce
from flambeau.codegen.llvm.abi import block_layout
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Target, Value, int_constant
from flambeau.codegen.llvm.native_text import ATTRIBUTES, NativeText
from flambeau.codegen.llvm.nest import NestEmitter
from flambeau.codegen.llvm.pool import APART
from flambeau.codegen.schedule import Schedule


def most_pieces(target: Target) -> int:
    """Pieces at most: more with fewer lanes, so that as many numbers are added one after another on each processor."""
    return 128 * 512 // target.vector_bits


MIN_STEP = 8192
"""Iterations in a piece, at least."""


def is_staged(kernel: Kernel, schedule: Schedule) -> bool:
    """Whether the kernel folds whole arrays along its vector axis and nothing else."""
    loops = [s for s in kernel.body if isinstance(s, Loop)]
    return (
        schedule.vector_axis is not None
        and not kernel.scratch
        and not any(isinstance(s, Running) for s in walk(kernel.body))
        and any(loop.carries for loop in loops)
        and all(loop.axes == (schedule.vector_axis,) for loop in loops)
        and not any(isinstance(s, Loop) for loop in loops for s in loop.body)
    )


def emit_staged(kernel: Kernel, schedule: Schedule, target: Target, symbol: str) -> NativeText:
    """LLVM text for such a kernel (hoisted)."""
    loops = [s for s in kernel.body if isinstance(s, Loop)]
    declarations: dict[str, None] = {}
    libm: dict[str, None] = {}
    functions = []
    for number in range(len(loops) + 1):
        stage = _Stage(kernel, schedule, target)
        functions.append(stage.emit(loops[number] if number < len(loops) else None, f"{symbol}_{number}"))
        declarations.update(stage.e.declarations)
        libm.update(stage.e.libm)
    functions.append(_driver(kernel, schedule, symbol, len(loops), most_pieces(target)))
    text = "\n".join(declarations) + "\n" + "\n".join(functions) + ATTRIBUTES
    return NativeText(symbol, text, tuple(libm), False, False)


class _Stage(NestEmitter):
    def emit(self, mine: Loop | None, symbol: str) -> str:
        """The function for one loop, or the last one."""
        self.splits, self.main = True, mine
        layout = block_layout(self.kernel)
        scope = self.prologue()
        self.table = self.word(layout.partials, "ptr")
        self.step = self.word(layout.step, "i64")
        rows = self.places()
        for statement in self.kernel.body:
            if statement is mine:
                self.loop(mine, scope)
                for carry in mine.carries:
                    self.save(carry, rows[carry.name])
                break
            self.pass_by(statement, scope, rows, is_last=mine is None)
        return self.function(symbol)

    def places(self) -> dict[str, int]:
        """Where each carried state's table begins, in table rows; a positional state takes two."""
        words: dict[str, int] = {}
        row = 0
        for loop in self.kernel.body:
            if isinstance(loop, Loop):
                for carry in loop.carries:
                    self.carry[carry.name] = carry
                    words[carry.name] = row
                    row += 2 if reduce.is_positional(carry.reducer) else 1
        return words

    def pass_by(self, s: Statement, scope: Scope, rows: dict[str, int], *, is_last: bool) -> None:
        if isinstance(s, Loop):
            for carry in s.carries:
                self.finish(carry, self.gather(carry, rows[carry.name]), scope)
        elif is_last or not isinstance(s, Store | Accumulate):
            self.body((s,), scope)

    def entry_of(self, row: int, piece: Value) -> Value:
        index = self.e.binary("add", piece, int_constant(row * most_pieces(self.e.target), "i64", 1))
        return self.e.define(f"getelementptr i64, ptr {self.table}, i64 {index}", "ptr", 1)

    def save(self, carry: Carry, row: int) -> None:
        piece = self.e.binary("udiv", Value("%low", "i64", 1), self.step)
        for k, value in enumerate(self.states[carry.name]):
            wide = self.e.convert("zext", value, "i8") if value.type == "i1" else value
            self.e.raw(f"store {wide.type} {wide}, ptr {self.entry_of(row + k, piece)}")

    def gather(self, carry: Carry, row: int) -> reduce.State:
        """Fold a table in the order of its pieces."""
        e, t = self.e, element_type(carry.dtype)
        assert self.schedule.vector_axis is not None
        size = self.sizes[self.schedule.vector_axis]
        start = self.no_value(carry, 1)
        head, iteration, after, before = e.label("fold"), e.label("piece"), e.label("folded"), e.block
        piece, at = Value(e.name("p"), "i64", 1), Value(e.name("at"), "i64", 1)
        state = [Value(e.name("s"), v.type, 1) for v in start]
        e.branch(head)
        e.start(head)
        mark = len(e.lines)
        e.branch_if(e.icmp("slt", at, size), iteration, after)
        e.start(iteration)
        loaded = []
        for k, v in enumerate(start):
            memory = "i8" if v.type == "i1" else v.type
            raw = e.define(f"load {memory}, ptr {self.entry_of(row + k, piece)}", memory, 1)
            loaded.append(e.convert("trunc", raw, "i1") if v.type == "i1" else raw)
        new = reduce.combine(e, carry.reducer, t, state, loaded)
        next_piece, next_at = e.binary("add", piece, int_constant(1, "i64", 1)), e.binary("add", at, self.step)
        latch = e.block
        e.branch(head)
        starts = [int_constant(0, "i64", 1)] * 2 + start
        pairs = zip([piece, at, *state], starts, [next_piece, next_at, *new], strict=True)
        e.lines[mark:mark] = [f"  {v} = phi {v.type} [{s}, %{before}], [{n}, %{latch}]" for v, s, n in pairs]
        e.start(after)
        return state


def _driver(kernel: Kernel, schedule: Schedule, symbol: str, stages: int, pieces: int) -> str:
    """The kernel's function: chooses the pieces, runs each stage over them in the pool or here, then the last."""
    layout = block_layout(kernel)
    rows = sum(
        2 if reduce.is_positional(c.reducer) else 1 for s in kernel.body if isinstance(s, Loop) for c in s.carries
    )
    assert schedule.vector_axis is not None
    lanes = schedule.lanes
    lines = [
        f"define void @{symbol}(ptr %block, i64 %low, i64 %high) #0 {{",
        "entry:",
        f"  %table = alloca [{rows * pieces} x i64], align 64",
        f"  %size.p = getelementptr i64, ptr %block, i64 {layout.sizes[schedule.vector_axis]}",
        "  %size = load i64, ptr %size.p",
        f"  %up = add i64 %size, {pieces - 1}",
        f"  %share = udiv i64 %up, {pieces}",
        f"  %up2 = add i64 %share, {lanes - 1}",
        f"  %whole = and i64 %up2, {-lanes}",
        f"  %small = icmp slt i64 %whole, {max(MIN_STEP, lanes)}",
        f"  %step = select i1 %small, i64 {max(MIN_STEP, lanes)}, i64 %whole",
        f"  %step.p = getelementptr i64, ptr %block, i64 {layout.step}",
        "  store i64 %step, ptr %step.p",
        f"  %table.p = getelementptr i64, ptr %block, i64 {layout.partials}",
        "  store ptr %table, ptr %table.p",
        f"  %pool.p = getelementptr i64, ptr %block, i64 {layout.pool}",
        "  %pool = load ptr, ptr %pool.p",
        "  %up3 = add i64 %size, %step",
        "  %up4 = sub i64 %up3, 1",
        "  %pieces64 = udiv i64 %up4, %step",
        "  %pieces32 = trunc i64 %pieces64 to i32",
        f"  %pieces = or i32 %pieces32, {APART}",
        "  %has_pool = icmp ne ptr %pool, null",
        "  br label %stage0",
    ]
    for k in range(stages):
        lines += _run_stage(f"@{symbol}_{k}", k)
    lines += [f"stage{stages}:", f"  call void @{symbol}_{stages}(ptr %block, i64 0, i64 %size)", "  ret void", "}"]
    return "\n".join(lines)


def _run_stage(function: str, k: int) -> list[str]:
    return [
        f"stage{k}:",
        f"  br i1 %has_pool, label %many{k}, label %one{k}",
        f"many{k}:",
        f"  call void %pool(ptr {function}, ptr %block, i64 %size, i64 %step, i32 %pieces)",
        f"  br label %stage{k + 1}",
        f"one{k}:",
        f"  %at{k} = phi i64 [0, %stage{k}], [%next{k}, %iteration{k}]",
        f"  %more{k} = icmp slt i64 %at{k}, %size",
        f"  br i1 %more{k}, label %iteration{k}, label %stage{k + 1}",
        f"iteration{k}:",
        f"  %next{k} = add i64 %at{k}, %step",
        f"  %over{k} = icmp sgt i64 %next{k}, %size",
        f"  %end{k} = select i1 %over{k}, i64 %size, i64 %next{k}",
        f"  call void {function}(ptr %block, i64 %at{k}, i64 %end{k})",
        f"  br label %one{k}",
    ]
