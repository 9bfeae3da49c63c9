"""Statements as LLVM functions: the nest itself, and one for each parallel loop, whose pieces threads share."""

from __future__ import annotations

import math
from collections.abc import Callable

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.llvm import reduce
from flambeau.codegen.llvm.emitter import Emitter, Target, Value, int_constant
from flambeau.codegen.llvm.memory import allocate_aligned, free, leave_without_memory
from flambeau.codegen.llvm.native_text import ATTRIBUTES
from flambeau.te.expressions import Buffer, Load, Op, Var
from flambeau.te.linear import constant_of
from flambeau.te.native import accesses
from flambeau.te.native.frame import Frame, Scope
from flambeau.te.native.storage import itemsize, memory_type
from flambeau.te.native.values import Values
from flambeau.te.proofs import Known
from flambeau.te.statements import PARALLEL, UNROLL, VECTOR, Allocate, Body, Loop, Statement, Store, When
from flambeau.util.record import dataclass

ON_STACK = 1 << 15
"""Bytes of local memory of fixed size up to which it is on the stack, where the passes make registers of it."""
MOST_BYTES = 1 << 62
PIECES = 64
"""Pieces that a parallel loop is cut into at most."""
SYMBOL = "flambeau_nest"


@dataclass(frozen=True, slots=True)
class NestText:
    """The LLVM text of a nest and what it needs to be linked."""

    text: str
    libm: tuple[str, ...]
    needs_memory: bool
    looked_at: tuple[Load, ...]
    """Accesses whose indices are looked at, by their numbers in the error flag."""


def emit_nest(body: Body, buffers: list[Buffer], numbers: list[Var], target: Target) -> NestText:
    """The text of a nest that gets these buffers and numbers by a block of words: see `Emission.function`."""
    emission = Emission(target)
    emission.function(SYMBOL, buffers, numbers, lambda: emission.body(body, Scope(Known({}))), is_exported=True)
    text = "\n".join([*emission.declarations, *emission.functions, ATTRIBUTES])
    return NestText(text, tuple(emission.libm), emission.needs_memory, tuple(emission.looked_at))


class Emission(Values):
    """Writes functions one inside another."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.target = target
        self.functions: list[str] = []
        self.declarations: dict[str, None] = {}
        self.libm: dict[str, None] = {}
        self.needs_memory = False

    # --- functions

    def function(
        self, name: str, buffers: list[Buffer], numbers: list[Var], write: Callable[[], None], *, is_exported: bool
    ) -> None:
        """A function of a block of words: error flag, what shares out pieces, buffers, numbers; and of a range.

        What it does is in a second function, whose parameters say that the buffers lie apart.
        """
        outside = self.frame
        e = Emitter(self.target)
        kinds = [element_type(v.dtype).llvm for v in numbers]
        self.frame = Frame(
            e,
            {b: Value(f"%b{k}", "ptr", 1) for k, b in enumerate(buffers)},
            {v: Value(f"%n{k}", kind, 1) for k, (v, kind) in enumerate(zip(numbers, kinds, strict=True))},
            Value("%error", "ptr", 1), Value("%run", "ptr", 1),
        )  # fmt: skip
        write()
        declared = [f"ptr noalias %b{k}" for k in range(len(buffers))] + [f"{t} %n{k}" for k, t in enumerate(kinds)]
        listed = ", ".join(["ptr %error", "ptr %run", *declared, "i64 %low", "i64 %high"])
        head = f"define internal void @{name}_body({listed}) #0 {{"
        self.functions.append("\n".join([head, "entry:", *e.entry, *e.lines, "  ret void", "}"]))
        self.functions.append(_opened(name, len(buffers), kinds, is_exported=is_exported))
        self.declarations.update(e.declarations)
        self.libm.update(e.libm)
        self.frame = outside

    # --- statements

    def body(self, body: Body, scope: Scope) -> None:
        """Statements; local memory is given back behind them."""
        freed: list[Value] = []
        for s in body:
            if isinstance(s, Allocate):
                freed += self.allocate(s.buffer, scope)
            else:
                self.statement(s, scope)
        for raw in reversed(freed):
            free(self.e, raw)
            self.frame.allocated.remove(raw)
        for s in body:
            if isinstance(s, Allocate):
                del self.frame.pointers[s.buffer]

    def statement(self, s: Statement, scope: Scope) -> None:
        """A statement that is no local memory."""
        if isinstance(s, Loop):
            self.loop(s, scope)
        elif isinstance(s, When):
            self.when(s, scope)
        else:
            assert isinstance(s, Store)
            self.store(s, scope)

    def allocate(self, buffer: Buffer, scope: Scope) -> list[Value]:
        """Local memory; what has to be given back of it."""
        known = [n for n in map(constant_of, buffer.shape) if n is not None]
        count = math.prod(known)
        if len(known) == len(buffer.shape) and count * itemsize(buffer) <= ON_STACK:
            self.frame.pointers[buffer] = self.e.slot(f"[{max(count, 1)} x {memory_type(buffer)}]")
            return []
        self.needs_memory = True
        raw, self.frame.pointers[buffer] = allocate_aligned(self.e, self.bytes_of(buffer, scope))
        leave_without_memory(self.e, [raw], self.frame.error, self.frame.allocated)
        self.frame.allocated.append(raw)
        return [raw]

    def bytes_of(self, buffer: Buffer, scope: Scope) -> Value:
        """How much memory a buffer takes; more than there can be where that does not fit 64 bits."""
        e = self.e
        total = int_constant(itemsize(buffer), "i128", 1)
        for size in buffer.shape:
            here = e.intrinsic("smax", self.scalar(size, scope), int_constant(0, "i64", 1))
            total = e.binary("mul", total, e.convert("zext", here, "i128"))
        is_too_large = e.icmp("ugt", total, int_constant(MOST_BYTES, "i128", 1))
        return e.select(is_too_large, int_constant(MOST_BYTES, "i64", 1), e.convert("trunc", total, "i64"))

    def when(self, s: When, scope: Scope) -> None:
        """A condition: a branch where it is one for all lanes, else fewer lanes count."""
        e, asked = self.e, self.value(s.condition, scope)
        if asked.lanes > 1:
            self.body(s.body, scope.under(s.condition).masked(e, asked))
            return
        inside, after = e.label("then"), e.label("end")
        e.branch_if(asked, inside, after)
        e.start(inside)
        self.body(s.body, scope.under_all(s.condition))
        e.branch(after)
        e.start(after)

    # --- loops

    def loop(self, s: Loop, scope: Scope) -> None:
        """A loop, as it is marked."""
        start, stop = self.scalar(s.start, scope), self.scalar(s.stop, scope)
        count = constant_of(s.extent)
        if s.kind == VECTOR and (count or 0) > 1:
            assert count is not None
            self.frame.numbers[s.var] = start
            self.body(s.body, scope.across(s.var, s.start, s.stop, count))
        elif s.kind == UNROLL or (s.kind == VECTOR and count is not None):
            assert count is not None
            for k in range(count):
                self.frame.numbers[s.var] = self.e.binary("add", start, int_constant(k, "i64", 1))
                self.body(s.body, scope.inside(s.var, s.start, s.stop))
        elif s.kind == PARALLEL:
            self.parallel(s, start, stop, scope)
        else:
            self.counted(s, start, stop, scope)
        self.frame.numbers.pop(s.var, None)  # what comes behind is not where it is known

    def counted(self, s: Loop, start: Value, stop: Value, scope: Scope) -> None:
        """One iteration after another."""
        e = self.e
        head, iteration, after, before = e.label("for"), e.label("iteration"), e.label("end"), e.block
        index = Value(e.name("i"), "i64", 1)
        e.branch(head)
        e.start(head)
        at = len(e.lines)
        e.branch_if(e.icmp("slt", index, stop), iteration, after)
        e.start(iteration)
        self.frame.numbers[s.var] = index
        self.body(s.body, scope.inside(s.var, s.start, s.stop))
        following = e.binary("add nsw", index, int_constant(1, "i64", 1))
        e.lines.insert(at, f"  {index} = phi i64 [{start}, %{before}], [{following}, %{e.block}]")
        e.branch(head)
        e.start(after)

    def parallel(self, s: Loop, start: Value, stop: Value, scope: Scope) -> None:
        """Iterations in pieces: a function of its own, which gets what is known here by a block of words."""
        buffers, numbers, outside = list(self.frame.pointers), list(self.frame.numbers), self.frame
        first = Var(f"{s.name}_start")
        name = f"{SYMBOL}_{s.name}_{len(self.functions)}"
        kinds = [element_type(v.dtype).llvm for v in numbers]

        def write() -> None:
            low, high = (self.e.binary("add", self.frame.numbers[first], Value(t, "i64", 1)) for t in ("%low", "%high"))
            self.counted(s, low, high, scope)

        self.function(name, buffers, [*numbers, first], write, is_exported=False)
        e = self.e
        words = [("ptr", outside.error), ("ptr", outside.run)]
        words += [("ptr", outside.pointers[b]) for b in buffers]
        words += [(kind, outside.numbers[v]) for kind, v in zip(kinds, numbers, strict=True)] + [("i64", start)]
        block = e.slot(f"[{len(words)} x i64]")
        for k, (kind, word) in enumerate(words):
            e.raw(f"store {kind} {word}, ptr {e.offset(block, k, 'i64')}, align 8")
        count = e.intrinsic("smax", e.binary("sub", stop, start), int_constant(0, "i64", 1))
        pieces = e.intrinsic("smin", count, int_constant(PIECES, "i64", 1))
        size = e.intrinsic("smax", pieces, int_constant(1, "i64", 1))
        step = e.binary("udiv", e.binary("add", count, e.binary("sub", size, int_constant(1, "i64", 1))), size)
        step = e.intrinsic("smax", step, int_constant(1, "i64", 1))
        shared = e.binary("udiv", e.binary("add", count, e.binary("sub", step, int_constant(1, "i64", 1))), step)
        inside, after = e.label("pieces"), e.label("end")
        e.branch_if(e.icmp("sgt", count, int_constant(0, "i64", 1)), inside, after)
        e.start(inside)
        number = e.convert("trunc", shared, "i32")
        e.raw(f"call void {outside.run}(ptr @{name}, ptr {block}, i64 {count}, i64 {step}, i32 {number})")
        e.branch(after)
        e.start(after)

    # --- stores

    def store(self, s: Store, scope: Scope) -> None:
        """A store, or what is there and the value put together."""
        e, at = self.e, list(s.indices)
        way = accesses.way_of(at, s.indices, scope)
        if not s.reducer:
            accesses.store(self, s.buffer, at, way, self.value(s.value, scope), scope)  # type: ignore[arg-type]
            return
        t = element_type(s.buffer.computed)
        is_across = way == accesses.ALL_ONE and scope.vector is not None
        alone = scope.first_lane() if is_across else scope
        old = accesses.load(self, s.buffer, at, way, alone)  # type: ignore[arg-type]
        if not is_across and s.reducer == "sum" and _is_product(s) and e.target.has_fma:
            assert isinstance(s.value, Op)
            a, b, c = self.same_lanes([*(self.value(x, scope) for x in s.value.args), old])
            new = e.fma(a, b, c)
        else:
            value = self.value(s.value, scope)
            if is_across:
                value = self.across_lanes(s.reducer, t.name, value, scope)
            new = reduce.combine(e, s.reducer, t, *([v] for v in self.same_lanes([old, value])))[0]
        accesses.store(self, s.buffer, at, way, new, alone)  # type: ignore[arg-type]

    def across_lanes(self, reducer: str, dtype: str, value: Value, scope: Scope) -> Value:
        """The lanes that count put together."""
        e, t = self.e, element_type(dtype)
        value = e.splat(value, scope.lanes)
        if scope.mask is not None:
            value = e.select(scope.mask, value, reduce.identity(reducer, t, scope.lanes)[0])
        return reduce.across_lanes(e, reducer, t, [value])[0]


def _is_product(s: Store) -> bool:
    """Whether what is added is a product of floats, which may go into the sum unrounded."""
    return isinstance(s.value, Op) and s.value.op == "mul" and element_type(s.value.dtype).is_float


def _opened(name: str, buffers: int, kinds: list[str], *, is_exported: bool) -> str:
    """A function that reads a block's words and calls the one that has them as parameters."""
    types = ["ptr"] * (2 + buffers) + kinds
    linkage = "" if is_exported else "internal "
    lines = [f"define {linkage}void @{name}(ptr %block, i64 %low, i64 %high) #0 {{", "entry:"]
    for k, kind in enumerate(types):
        lines += [f"  %p{k} = getelementptr i64, ptr %block, i64 {k}", f"  %w{k} = load {kind}, ptr %p{k}, align 8"]
    declared = ", ".join(f"{kind} %w{k}" for k, kind in enumerate(types))
    return "\n".join([*lines, f"  call void @{name}_body({declared}, i64 %low, i64 %high)", "  ret void", "}"])
