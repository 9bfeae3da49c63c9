"""A specialised loop nest to one LLVM function.

The vector axis becomes a loop over ``lanes`` iterations at a time and a masked iteration for the rest; the other axes
become plain loops. A carried state that the vector axis runs inside of is a vector folded across lanes when its loop
ends; one carried by loops inside the vector axis has a lane per iteration. Values that do not vary along the vector
axis stay scalars.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import (
    Accumulate,
    Buffer,
    Carry,
    Kernel,
    Let,
    Load,
    Loop,
    Running,
    Seldom,
    Statement,
    Store,
    main_loops,
    walk,
)
from flambeau.codegen.kernel.opset import TRAPPING, reduced_dtype
from flambeau.codegen.llvm import fold_pieces, memory, pack, pass_order, reduce, rests, running, scatter, seldom
from flambeau.codegen.llvm.definitions import Scope, ValueEmitter
from flambeau.codegen.llvm.emitter import Target, Value, int_constant
from flambeau.codegen.llvm.first_lanes import First
from flambeau.codegen.llvm.native_text import ATTRIBUTES, FunctionParts, NativeText
from flambeau.codegen.schedule import Schedule
from flambeau.util.record import replace


def emit_kernel(kernel: Kernel, schedule: Schedule, target: Target, symbol: str) -> NativeText:
    """LLVM text for ``kernel`` (hoisted, one axis a loop) under ``schedule``.

    >>> from flambeau.codegen.kernel import KernelBuilder
    >>> b = KernelBuilder("double", ("i",))
    >>> x, y = b.input("x", "float32", ("i",)), b.output("y", "float32", ("i",))
    >>> with b.loop("i"):
    ...     value = b.load(x)
    ...     b.store(y, b.apply("add", value, value))
    >>> schedule = Schedule(vector_axis="i", lanes=8, unit=frozenset({"x", "y"}))
    >>> native = emit_kernel(b.kernel(), schedule, Target(vector_bits=256), "double")
    >>> "<8 x float>" in native.text, native.splits, native.needs_memory
    (True, True, False)
    """
    return NestEmitter(kernel, schedule, target).run(symbol)


def emit_function(kernel: Kernel, schedule: Schedule, target: Target) -> FunctionParts:
    """A kernel like `emit_kernel`, without scratch rows, as a function that is put beside others.

    >>> from flambeau.codegen.kernel import KernelBuilder
    >>> b = KernelBuilder("double", ("i",))
    >>> x, y = b.input("x", "float32", ("i",)), b.output("y", "float32", ("i",))
    >>> with b.loop("i"):
    ...     value = b.load(x)
    ...     b.store(y, b.apply("add", value, value))
    >>> schedule = Schedule(vector_axis="i", lanes=8, unit=frozenset({"x", "y"}))
    >>> parts = emit_function(b.kernel(), schedule, Target(vector_bits=256))
    >>> parts.text("double").splitlines()[0], parts.may_fail
    ('define internal void @double(ptr %block, i64 %low, i64 %high) #0 {', False)
    """
    emitter = NestEmitter(kernel, schedule, target)
    emitter.whole()
    body = emitter.instructions()
    assert not kernel.scratch, "such a kernel has no memory of its own"
    assert not emitter.packed, "nor copies of inputs"
    may_fail = any(isinstance(s, Let) and s.op in TRAPPING for s in walk(kernel.body))
    return FunctionParts(body, tuple(emitter.e.declarations), tuple(emitter.e.libm), may_fail)


CHEAP = frozenset({"add", "sub", "mul", "neg", "abs", "minimum", "maximum", "select", "complex"})
"""Operations that are not worth putting numbers into a vector."""

class NestEmitter(ValueEmitter):
    """Emits one function; ``stages`` uses it for several functions of one kernel.

    >>> from flambeau.codegen.kernel import KernelBuilder
    >>> b = KernelBuilder("double", ("i",))
    >>> x, y = b.input("x", "float32", ("i",)), b.output("y", "float32", ("i",))
    >>> with b.loop("i"):
    ...     value = b.load(x)
    ...     b.store(y, b.apply("add", value, value))
    >>> schedule = Schedule(vector_axis="i", lanes=8, unit=frozenset({"x", "y"}))
    >>> NestEmitter(b.kernel(), schedule, Target(vector_bits=256)).run("double").symbol
    'double'
    """

    def __init__(self, kernel: Kernel, schedule: Schedule, target: Target) -> None:
        super().__init__(kernel, schedule, target)
        self.carry: dict[str, Carry] = {}
        loops = main_loops(kernel)
        self.main = loops[0] if len(loops) == 1 else None
        inner = [s for s in self.main.body if isinstance(s, Loop)] if self.main is not None else []
        self.last_pass = inner[-1] if inner and schedule.next_row else None
        self.backward = pass_order.returning(inner) if schedule.prefetch else ()
        """Passes over rows that begin where the one before them ended: what it read last is still in the cache."""
        others = [s for s in kernel.body if isinstance(s, Store | Accumulate)]
        self.splits = len(loops) == 1 and not others and not loops[0].carries and bool(loops[0].axes)
        self.plain_places = reduce.plain_places(kernel.body)
        """Carried states of argmax and argmin whose places count the iterations of their loops."""
        self.read_running = {s.carry for s in walk(kernel.body) if isinstance(s, Running)}
        self.prefixed: set[str] = set()
        """Of these, the ones that the vector axis runs inside of."""
        self.fixed = dict(schedule.fixed)
        self.definitions = {s.name: s for s in walk(kernel.body) if isinstance(s, Let)}
        self.packed: dict[str, pack.Packed] = {}
        self.scratch_sizes: dict[str, Value] = {}
        self.states: dict[str, reduce.State] = {}
        """Final states of the loops emitted so far, by carry."""

    def run(self, symbol: str) -> NativeText:
        """The text of a module with the whole kernel."""
        self.whole()
        e = self.e
        text = "\n".join(e.declarations) + "\n" + self.function(symbol) + ATTRIBUTES
        return NativeText(symbol, text, tuple(e.libm), bool(self.kernel.scratch or self.packed), self.splits)

    def whole(self) -> None:
        """The instructions of the whole kernel."""
        e = self.e
        scope = self.prologue()
        self.scratch_sizes = memory.allocate_scratch(
            e, self.kernel, self.schedule, self.sizes, self.strides, scope.pointers
        )
        self.packed = pack.allocate(e, self.kernel, self.schedule, self.sizes, self.strides)
        wanted = [*memory.scratch_of(self.kernel, scope.pointers), *(p.raw for p in self.packed.values())]
        memory.leave_without_memory(e, wanted, self.error)
        for p in self.packed.values():
            if p.pack.whole:
                assert self.schedule.vector_axis is not None
                size = self.sizes[self.schedule.vector_axis]
                pack.copy_whole(e, p, scope.pointers[p.pack.buffer], self.sizes[p.pack.along], size)
                scope.pointers[p.pack.buffer] = p.base
        self.body(self.kernel.body, scope)
        for raw in wanted:
            memory.free(e, raw)

    def function(self, symbol: str) -> str:
        """The text of the function whose instructions have been emitted."""
        return f"define void @{symbol}(ptr %block, i64 %low, i64 %high) #0 {{\n{self.instructions()}"

    def instructions(self) -> str:
        """What follows the head of the function."""
        self.e.raw("ret void")
        return "\n".join(["entry:", *self.e.entry, *self.e.lines, "}"])

    # --- statements

    def body(self, body: tuple[Statement, ...], scope: Scope) -> None:
        for statement in body:
            self.statement(statement, scope)

    def statement(self, s: Statement, scope: Scope) -> None:
        if isinstance(s, Loop):
            self.loop(s, scope)
        elif isinstance(s, Seldom):
            seldom.emit(self, s, [scope])
        elif isinstance(s, Store) and s.at:
            scatter.change(self, s, scope)
        elif isinstance(s, Store):
            memory.store(self.e, self.schedule, scope, self.buffers[s.buffer], scope.values[s.value])
        elif isinstance(s, Accumulate):
            self.accumulate(s, scope)
        else:
            self.dtypes[s.name] = getattr(s, "dtype", "int64")
            scope.values[s.name] = self.define(s, scope)

    # --- carried states

    def accumulate(self, s: Accumulate, scope: Scope) -> None:
        e, carry = self.e, self.carry[s.carry]
        t, old = element_type(carry.dtype), scope.carries[s.carry]
        lanes = old[0].lanes
        if lanes > 1 and not scope.in_vector:
            raise KernelError(f"{s.carry} <- {s.value} stands outside the vector axis of its loop")
        value = [e.splat(scope.values[s.value], lanes)]
        if s.carry in self.prefixed:
            self.prefixes[s.carry] = running.scan(e, carry, value[0], scope)
            return
        if s.position is not None:
            position = scope.values[s.position]
            is_wide = self.schedule.narrow and position.type == "i64"
            value.append(e.splat(e.convert("trunc", position, "i32") if is_wide else position, lanes))
            is_plain = carry.name in self.plain_places
            if is_plain and scope.mask is None and reduce.is_wide(e, old):
                new = reduce.fold_seldom(e, carry.reducer, t, old, value)
            else:
                new = reduce.fold_positional(e, carry.reducer, t, old, value, starts_at_first=is_plain)
        else:
            product = scope.products.get(s.value) if carry.reducer == "sum" else None
            new = reduce.combine(e, carry.reducer, t, old, value) if product is None else [self.added(product, old[0])]
        if scope.mask is not None:
            new = [e.select(scope.mask, n, o) for n, o in zip(new, old, strict=True)]
        scope.carries[s.carry] = new

    def added(self, product: tuple[Value, Value], total: Value) -> Value:
        """A sum with one more product of floats, which is not rounded before."""
        return self.e.intrinsic("fma", *[self.e.splat(x, total.lanes) for x in product], total)

    def loop(self, loop: Loop, scope: Scope) -> None:
        across = not scope.in_vector and self.has_vector_loop(loop)
        lanes = self.schedule.lanes if scope.in_vector or across else 1
        inside = replace(scope, carries=dict(scope.carries))
        for carry in loop.carries:
            self.carry[carry.name] = carry
            if across and carry.name in self.read_running:
                self.prefixed.add(carry.name)
            inside.carries[carry.name] = self.start_of(carry, loop, lanes if across else 1, lanes)
        if not loop.axes:
            self.body(loop.body, inside)
        elif loop.axes[0] == self.schedule.vector_axis:
            self.vector_loop(loop, inside)
        else:
            self.plain_loop(loop, inside)
        for carry in loop.carries:
            self.finish(carry, self.end_of(carry, inside.carries.pop(carry.name), across), scope)
        scope.carries = inside.carries

    def has_vector_loop(self, loop: Loop) -> bool:
        """Whether a loop, or one inside it, runs over the vector axis."""
        vector = self.schedule.vector_axis
        return any(vector in s.axes for s in walk((loop,)) if isinstance(s, Loop))

    def end_of(self, carry: Carry, state: reduce.State, across: bool) -> reduce.State:
        """The state at the end of a loop, whose lanes are folded together where iterations lay across them."""
        if carry.name in self.prefixed:
            return [self.e.define(f"extractelement {v.full_type} {v}, i64 0", v.type, 1) for v in state]
        return reduce.across_lanes(self.e, carry.reducer, element_type(carry.dtype), state) if across else state

    def is_narrow(self, carry: Carry) -> bool:
        """Whether its state remembers a place in 32 bits."""
        return self.schedule.narrow and reduce.is_positional(carry.reducer)

    def no_value(self, carry: Carry, lanes: int) -> reduce.State:
        """The state that has met no value."""
        index_type = "i32" if self.schedule.narrow else "i64"
        return reduce.identity(carry.reducer, element_type(carry.dtype), lanes, index_type)

    def start_of(self, carry: Carry, loop: Loop, across: int, lanes: int) -> reduce.State:
        """The state at the start of a loop. That of argmax has the first place already, or that of its first lane:
        where nothing is better than the worst value there is, the first place is the answer.
        """
        state = self.no_value(carry, lanes)
        if carry.name in self.plain_places:
            element = state[1].type
            low = self.bounds(loop)[0] if loop.axes else int_constant(0, "i64", 1)
            first = self.e.splat(self.as_place(low, element), lanes)
            state[1] = self.e.binary("add", first, memory.iota(lanes, element)) if across > 1 else first
        return state

    def finish(self, carry: Carry, state: reduce.State, scope: Scope) -> None:
        """Make a carried state readable."""
        self.states[carry.name] = state
        scope.values[carry.name] = self.e.convert("sext", state[-1], "i64") if self.is_narrow(carry) else state[-1]
        self.dtypes[carry.name] = reduced_dtype(carry.reducer, carry.dtype)

    # --- loops

    def plain_loop(self, loop: Loop, scope: Scope) -> None:
        """A loop over an axis that is not the vector axis."""
        axis = loop.axes[0]
        packs = [p for p in self.packed.values() if p.pack.along == axis and not p.pack.whole]
        size = self.fixed.get(axis)
        if size is not None:
            for iteration in range(size):
                child = scope.child()
                self.enter(loop, int_constant(iteration, "i64", 1), child)
                self.body(loop.body, child)
                scope.carries.update({n: child.carries[n] for n in scope.carries})
            return
        low, high = self.bounds(loop)
        if packs:
            self.blocks(loop, low, high, packs, scope)
        elif self.schedule.jam > 1 and all(self.is_short(s) for s in loop.body):
            self.jammed(loop, low, high, scope)
        elif sums := [c for c in fold_pieces.sums_of(loop) if c.name not in self.prefixed]:
            fold_pieces.fold(self.e, axis, sums, low, high, scope, partial(self.counted_or_own, loop))
        else:
            self.counted(loop, low, high, 1, scope, lambda child: self.body(loop.body, child))

    def is_short(self, s: Statement) -> bool:
        """Whether a statement is no loop, or one that is unrolled and holds no other."""
        return not isinstance(s, Loop) or (
            s.axes[0] in self.fixed and not any(isinstance(inner, Loop) for inner in s.body)
        )

    def jammed(self, loop: Loop, low: Value, high: Value, scope: Scope) -> None:
        """Several iterations at a time, statement by statement, then those that are left."""
        e, jam = self.e, self.schedule.jam
        whole = e.binary("and", e.binary("sub", high, low), int_constant(-jam, "i64", 1))
        middle = e.binary("add", low, whole)

        def together(first: Scope) -> None:
            iterations = [first.child() for _ in range(jam)]
            for k, iteration in enumerate(iterations):
                self.enter(loop, e.binary("add", first.index[loop.axes[0]], int_constant(k, "i64", 1)), iteration)
                for name, size in self.scratch_sizes.items():
                    base, offset = iteration.pointers[name], e.binary("mul", size, int_constant(k, "i64", 1))
                    iteration.pointers[name] = e.define(f"getelementptr i8, ptr {base}, i64 {offset}", "ptr", 1)
            for statement in loop.body:
                if isinstance(statement, Let) and self.is_joined(statement, iterations):
                    self.joined(statement, iterations)
                    continue
                if isinstance(statement, Seldom):
                    seldom.emit(self, statement, iterations)
                    continue
                for iteration in iterations:
                    self.statement(statement, iteration)

        self.counted(loop, low, middle, jam, scope, together, enters=False)
        self.counted(loop, middle, high, 1, scope, lambda child: self.body(loop.body, child))

    def is_joined(self, s: Let, iterations: list[Scope]) -> bool:
        """Whether a function of one number in each iteration is better computed as one vector."""
        is_float = s.op != "cast" and all(element_type(self.dtypes[a]).is_float for a in s.args)
        return is_float and s.op not in CHEAP and all(t.values[a].lanes == 1 for a in s.args for t in iterations)

    def joined(self, s: Let, iterations: list[Scope]) -> None:
        """One vector with a lane for each iteration."""
        e = self.e
        together = Scope({a: e.gathered([t.values[a] for t in iterations]) for a in s.args}, {}, {}, {})
        vector = self.define(s, together)
        self.dtypes[s.name] = s.dtype
        for k, iteration in enumerate(iterations):
            element = e.define(f"extractelement {vector.full_type} {vector}, i64 {k}", vector.type, 1)
            iteration.values[s.name] = element

    def blocks(self, loop: Loop, low: Value, high: Value, packs: list[pack.Packed], scope: Scope) -> None:
        """The iterations in blocks, for each of which inputs are copied first."""
        e, axis, vector = self.e, loop.axes[0], self.schedule.vector_axis
        assert vector is not None
        block = min(pack.block_size(p.element) * p.pack.tiles for p in packs)

        def body(child: Scope) -> None:
            start = child.index[axis]
            left = e.binary("sub", high, start)
            wanted = int_constant(block, "i64", 1)
            count = e.select(e.icmp("slt", left, wanted), left, wanted)
            for p in packs:
                name, memory_type = p.pack.buffer, p.element.memory
                source = e.define(f"getelementptr {memory_type}, ptr {child.pointers[name]}, i64 {start}", "ptr", 1)
                pack.copy_rows(e, p, source, count, p.base, self.sizes[vector])
                back = e.binary("sub", int_constant(0, "i64", 1), e.binary("mul", start, p.row))
                child.pointers[name] = e.define(f"getelementptr i8, ptr {p.base}, i64 {back}", "ptr", 1)
            end = e.binary("add", start, count)
            self.counted(loop, start, end, 1, child, lambda inner: self.body(loop.body, inner))

        self.counted(loop, low, high, block, scope, body, enters=False)

    def bounds(self, loop: Loop) -> tuple[Value, Value]:
        if self.splits and loop is self.main:
            return Value("%low", "i64", 1), Value("%high", "i64", 1)
        return int_constant(0, "i64", 1), self.sizes[loop.axes[0]]

    def counted(
        self, loop: Loop, low: Value, high: Value, step: int, scope: Scope, inner: Callable[[Scope], None],
        *, enters: bool = True,
    ) -> None:  # fmt: skip
        """``for axis = low; axis < high; axis += step``; leaves the carried states in ``scope``."""
        e = self.e
        head, iteration, after, before = e.label("for"), e.label("iteration"), e.label("end"), e.block
        index = Value(e.name("i"), "i64", 1)
        phis = {n: [Value(e.name("c"), v.type, v.lanes) for v in state] for n, state in scope.carries.items()}
        e.branch(head)
        e.start(head)
        at = len(e.lines)
        e.branch_if(e.icmp("slt", index, high), iteration, after)
        e.start(iteration)
        child = scope.child()
        child.carries = dict(phis)
        if enters:
            self.enter(loop, index, child)
        else:
            child.index[loop.axes[0]] = index
        inner(child)
        following = e.binary("add nsw", index, int_constant(step, "i64", 1))
        latch = e.block
        e.branch(head)
        lines = [f"  {index} = phi i64 [{low}, %{before}], [{following}, %{latch}]"]
        for name, state in phis.items():
            for phi, start, end in zip(state, scope.carries[name], child.carries[name], strict=True):
                lines.append(f"  {phi} = phi {phi.full_type} [{start}, %{before}], [{end}, %{latch}]")
        e.lines[at:at] = lines
        e.start(after)
        scope.carries.update(phis)

    def counted_or_own(
        self, loop: Loop, low: Value, high: Value, step: int, scope: Scope, inner: Callable[[Scope], None] | None
    ) -> None:
        """`counted` with a body, or with that of the loop itself."""
        body = inner or (lambda child: self.body(loop.body, child))
        self.counted(loop, low, high, step, scope, body, enters=inner is None)

    def vector_loop(self, loop: Loop, scope: Scope) -> None:
        size = self.fixed.get(loop.axes[0])
        if size is not None:
            self.unrolled_vector_loop(loop, size, scope)
            return
        low, high = self.bounds(loop)

        def body(child: Scope) -> None:
            child.in_vector = True
            self.body(loop.body, child)

        self.vector_loop_from(loop, low, high, scope, body)

    def vector_loop_from(
        self, loop: Loop, low: Value, high: Value, scope: Scope, body: Callable[[Scope], None]
    ) -> None:
        """The vector axis from one index to another: whole vectors, narrower ones of the schedule, a rest."""
        e, lanes = self.e, self.schedule.lanes
        whole = e.binary("and", e.binary("sub", high, low), int_constant(-lanes, "i64", 1))
        middle = e.binary("add", low, whole)
        self.counted(loop, low, middle, lanes, scope, body)
        wide = self.schedule
        if wide.rest_lanes:
            self.schedule = replace(wide, lanes=wide.rest_lanes, rest_lanes=0)
        if wide.rest_lanes and not scope.carries:
            self.vector_loop_from(loop, middle, high, scope, body)
        elif wide.rest_lanes and self.prefixed.isdisjoint(scope.carries) and len(scope.carries) == len(loop.carries):

            def iterations(start: Value, end: Value, step: int) -> None:
                self.counted(loop, start, end, step, scope, body if step > 1 else partial(self.body, loop.body))

            rests.narrowing(e, loop.carries, wide.rest_lanes, middle, high, scope, iterations)
        else:
            self.schedule = wide

            def masked(child: Scope) -> None:
                self.enter(loop, middle, child)
                body(child)

            rests.masked(e, lanes, middle, high, scope, masked)
        self.schedule = wide

    def unrolled_vector_loop(self, loop: Loop, size: int, scope: Scope) -> None:
        """The vector axis without a loop."""
        lanes = self.schedule.lanes
        for start in range(0, size, lanes):
            child = scope.child()
            child.in_vector = True
            if size - start < lanes:
                child.first = First(int_constant(size - start, "i64", 1))
                marks = ", ".join(f"i1 {int(k < size - start)}" for k in range(lanes))
                child.mask = Value(f"<{marks}>", "i1", lanes)
            self.enter(loop, int_constant(start, "i64", 1), child)
            self.body(loop.body, child)
            scope.carries.update({n: child.carries[n] for n in scope.carries})

    def is_read_in_rows(self, buffer: Buffer) -> bool:
        """Whether it is an input, read where it lies, whose elements lie side by side."""
        return buffer.role == "in" and buffer.name in self.schedule.unit and buffer.name not in self.packed

    def enter(self, loop: Loop, index: Value, scope: Scope) -> None:
        """Move the pointers of the buffers used inside to this iteration."""
        e, axis = self.e, loop.axes[0]
        ahead = self.schedule.prefetch
        if any(loop is p for p in self.backward):
            last = e.binary("sub nsw", self.sizes[axis], int_constant(1, "i64", 1))
            index, ahead = e.binary("sub nsw", last, index), -ahead
        scope.index[axis] = index
        used = {s.buffer for s in walk(loop.body) if isinstance(s, Load | Store)}
        for name in self.buffers:
            buffer = self.buffers[name]
            if name not in used or axis not in buffer.axes:
                continue
            base = scope.pointers[name]
            if loop is self.last_pass and axis == self.schedule.vector_axis and self.is_read_in_rows(buffer):
                pass_order.ask_for_next_row(self, buffer, base, index)
            if axis == self.schedule.vector_axis and name in self.schedule.unit:
                element = element_type(buffer.dtype).memory
                scope.pointers[name] = e.define(f"getelementptr inbounds {element}, ptr {base}, i64 {index}", "ptr", 1)
                continue
            stride = self.strides[name, axis]
            offset = e.binary("mul nsw", index, stride)
            scope.pointers[name] = e.define(f"getelementptr i8, ptr {base}, i64 {offset}", "ptr", 1)
            pass_order.ask_ahead(self, loop, buffer, ahead, scope)
            if axis == self.schedule.vector_axis:
                steps = e.splat(stride, self.schedule.lanes)
                scope.offsets[name] = e.binary("mul", memory.iota(self.schedule.lanes), steps)
