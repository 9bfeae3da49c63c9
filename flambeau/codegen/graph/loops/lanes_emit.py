"""Several iterations of a loop at a time: branches as masks, inner loops until all lanes are done, writes at the end.

Nothing that a chunk of iterations does is seen before all of it has been computed: if a lane fails, or might, the loop
goes on one iteration at a time from the chunk's first, and the error comes at its iteration with
memory as it should be.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lifetimes import SAME_VALUE
from flambeau.codegen.graph.loops.control import poll, rounds
from flambeau.codegen.graph.loops.lanes import LaneSchedule, ends_in_raise
from flambeau.codegen.graph.loops.lanes_emitter import LaneEmitter
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar
from flambeau.codegen.graph.overlap import overlaps
from flambeau.codegen.graph.representation import Int, llvm_words
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.emitter import vector_type
from flambeau.ir.graph import Block, Node

FEWEST_BITS = 256
"""Vectors narrower than that hold too few lanes to pay for masks."""
VECTORS = 4
"""Vectors of each value: instructions of one need not wait for those of the other."""
FEWEST_CHUNKS = 2
"""Iterations that are left from which it pays to run them as lanes."""
FOREVER = (1 << 63) - 1
_STARTS = {"add": 0, "or": 0, "xor": 0, "mul": 1, "and": -1}


def width(fn: EmittedFunction) -> int:
    """Lanes of numbers of 64 bits; 1 where vectors are too short."""
    bits = fn.e.target.vector_bits
    return VECTORS * bits // 64 if bits >= FEWEST_BITS else 1


def emit(
    fn: EmittedFunction, body: Block, schedule: LaneSchedule, slots: Sequence[Sequence[Register]], trip: Register
) -> Register | None:
    """Iterations from 0 on as lanes, as far as whole chunks go and none fails; the first iteration that is left.

    ``slots`` holds the carried values, and is brought up to date. None, and nothing emitted, if there is no such form.
    """
    e = fn.e
    before, declared = len(e.lines), e.block
    try:
        return _Lanes(fn, body, schedule, slots, trip).emit()
    except CannotCompileError:
        del e.lines[before:]
        e.block = declared
        return None
    finally:
        e.lanes, e.mask, e.is_some, e.bail, e.depth = 1, None, True, "", 0
        e.writes.clear()


def _wide(e: LaneEmitter, a: Register) -> Register:
    return e.splat(a, e.lanes)


class _Lanes:
    """The emission of one loop."""

    def __init__(
        self, fn: EmittedFunction, body: Block, schedule: LaneSchedule, slots: Sequence[Sequence[Register]],
        trip: Register,
    ) -> None:  # fmt: skip
        self.fn, self.body, self.schedule, self.trip = fn, body, schedule, trip
        self.carried = [s[0] if len(s) == 1 else Register("", "", 1) for s in slots]
        self.width = width(fn)

    def emit(self) -> Register:
        """The loop; gives the first iteration that is left."""

        fn, e = self.fn, self.fn.e
        if self.width == 1 or fn.scope.iterations is not None:
            raise CannotCompileError("no lanes")
        counter = e.slot("i64", 8)
        e.raw(f"store i64 0, ptr {counter}")
        parts = self._start()
        head, chunk, done = e.label("lanes"), e.label("chunk"), e.label("done")
        e.branch(head)
        e.start(head)
        start = e.define(f"load i64, ptr {counter}", "i64", 1)
        left = e.binary("sub", self.trip, start)
        room = e.icmp("sge", left, number(FEWEST_CHUNKS))
        apart = self._apart()
        e.branch_if(room if apart is None else e.binary("and", room, apart), chunk, done)
        e.start(chunk)
        iterations = e.intrinsic("smin", left, number(self.width))
        poll(fn, iterations)
        e.lanes, e.bail = self.width, done
        steps = Register(f"<{', '.join(f'i64 {k}' for k in range(self.width))}>", "i64", self.width)
        e.mask = e.icmp("slt", steps, left)
        self._iteration(e.binary("add", start, steps), parts)
        e.lanes, e.mask = 1, None
        e.raw(f"store i64 {e.binary('add', start, iterations)}, ptr {counter}")
        e.branch(head)
        e.start(done)
        self._finish(parts)
        return e.define(f"load i64, ptr {counter}", "i64", 1)

    def _start(self) -> list[Register | None]:
        """Slots of what each lane folds, filled with what changes nothing."""
        e, kind = self.fn.e, vector_type("i64", self.width)
        parts: list[Register | None] = []
        for fold, slot in zip(self.schedule.folds, self.carried, strict=True):
            if fold is None:
                parts.append(None)
                continue
            part = e.slot(kind)
            initial = e.define(f"load i64, ptr {slot}", "i64", 1)
            first = number(_STARTS[fold]) if fold in _STARTS else initial
            e.raw(f"store {kind} {e.splat(first, self.width)}, ptr {part}")
            parts.append(part)
        return parts

    def _finish(self, parts: Sequence[Register | None]) -> None:
        """Put together what the lanes have folded."""
        e, kind = self.fn.e, vector_type("i64", self.width)
        for fold, slot, part in zip(self.schedule.folds, self.carried, parts, strict=True):
            if fold is None or part is None:
                continue
            name = f"@llvm.vector.reduce.{fold}.v{self.width}i64"
            e.declare(f"declare i64 {name}({kind})")
            lanes = e.define(f"load {kind}, ptr {part}", "i64", self.width)
            folded = e.define(f"call i64 {name}({kind} {lanes})", "i64", 1)
            initial = e.define(f"load i64, ptr {slot}", "i64", 1)
            combine = e.intrinsic if fold in ("smin", "smax") else e.binary
            e.raw(f"store i64 {combine(fold, initial, folded)}, ptr {slot}")

    def _iteration(self, index: Register, parts: Sequence[Register | None]) -> None:
        """One iteration of every lane."""
        fn, e = self.fn, self.fn.e
        fn.values.set(self.body.parameters[0], Scalar(Int(), index))
        kind = vector_type("i64", self.width)
        for parameter, slot, part in zip(self.body.parameters[1:], self.carried, parts, strict=True):
            source, lanes = (slot, 1) if part is None else (part, self.width)
            state = e.define(f"load {kind if lanes > 1 else 'i64'}, ptr {source}", "i64", lanes)
            fn.values.set(parameter, Scalar(Int(), state))
        self.block(self.body)
        following = [fn.values.index(v) for v in self.body.returns[1:]]
        writes = list(e.writes)
        if len(writes) == 1:
            e.put(writes[0])
        elif writes:
            e.put_in_iteration(writes)
        for parameter, value, part in zip(self.body.parameters[1:], following, parts, strict=True):
            if part is not None and e.mask is not None:
                e.raw(f"store {kind} {e.select(e.mask, value, fn.values.index(parameter))}, ptr {part}")

    def _apart(self) -> Register | None:
        """Whether what is read lies apart from what is written; None where that is plain."""

        fn, e = self.fn, self.fn.e
        read = [x for x in map(fn.values.get, self.schedule.read) if isinstance(x, ArrayValue)]
        answer: Register | None = None
        for written in map(fn.values.get, self.schedule.written):
            if not isinstance(written, ArrayValue):
                raise CannotCompileError("what is written to is no tensor in memory")
            if read:
                meets = overlaps(fn, written, read)
                answer = meets if answer is None else e.binary("or", answer, meets)
        return None if answer is None else e.binary("xor", answer, Register("true", "i1", 1))

    # -- blocks -------------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """The nodes of a block."""

        for node in block:
            if node.op in ("prim::Constant", "prim::Uninitialized"):
                continue
            if node.op == "prim::If":
                self._branch(node)
            elif node.op == "prim::Loop":
                self._loop(node)
            elif node.op in SAME_VALUE:
                self.fn.values.set(node.result(), self.fn.values.get(node.operand(0)))
            else:
                self.fn.lower(node)

    def _branch(self, node: Node) -> None:
        """Emit both arms of a branch, each for the lanes that take it."""
        fn, e = self.fn, self.fn.e
        condition = fn.values.truth(node.operand(0))
        known = {"true": 0, "false": 1}.get(condition.text)
        otherwise = e.binary("xor", condition, Register("true", "i1", 1))
        for arm, fails in ((0, condition), (1, otherwise)):
            if ends_in_raise(node.nested_blocks[arm]) and known in (None, arm):
                e.bail_if(fails)
                known = 1 - arm
        if known is not None:
            if ends_in_raise(node.nested_blocks[known]):
                raise CannotCompileError("both ways of a branch raise")
            self.block(node.nested_blocks[known])
            for value, returned in zip(node.results, node.nested_blocks[known].returns, strict=True):
                fn.values.set(value, fn.values.get(returned))
            return
        mask, is_some = e.mask, e.is_some
        results: list[list[Native]] = []
        for block, own in zip(node.nested_blocks, (condition, otherwise), strict=True):
            e.mask, e.is_some = e.both(mask, own), False
            self.block(block)
            results.append([fn.values.get(v) for v in block.returns])
        e.mask, e.is_some = mask, is_some
        for value, a, b in zip(node.results, *results, strict=True):
            fn.values.set(value, _merged(e, condition, a, b))

    def _loop(self, node: Node) -> None:
        """Iterations until no lane wants more; the values of a lane stay as they are from then on."""

        fn, e, body = self.fn, self.fn.e, node.nested_blocks[0]
        slots = self._loop_slots(node)
        trip, condition = fn.values.index(node.operand(0)), fn.values.truth(node.operand(1))
        is_endless = memory.literal(trip) == FOREVER
        active = e.slot(vector_type("i1", self.width))
        counter = e.slot("i64", 8)
        first = e.both(e.mask, condition)
        if not is_endless:
            first = e.both(first, e.icmp("sgt", trip, number(0)))
        e.raw(f"store <{self.width} x i1> {_wide(e, first or Register('true', 'i1', 1))}, ptr {active}")
        e.raw(f"store i64 0, ptr {counter}")
        again = rounds(fn)
        head, iteration, after = e.label("loop"), e.label("iteration"), e.label("after")
        e.branch(head)
        e.start(head)
        running = e.define(f"load <{self.width} x i1>, ptr {active}", "i1", self.width)
        e.branch_if(e.any_lane(running), iteration, after)
        e.start(iteration)
        poll(fn, number(1), again)
        outer, e.mask, e.is_some = (e.mask, e.is_some), running, True
        e.depth += 1
        index = e.define(f"load i64, ptr {counter}", "i64", 1)
        fn.values.set(body.parameters[0], Scalar(Int(), index))
        before = [_load(e, slot, rep) for slot, rep in slots]
        for parameter, state in zip(body.parameters[1:], before, strict=True):
            fn.values.set(parameter, state)
        self.block(body)
        for (slot, _), state, returned, out in zip(slots, before, body.returns[1:], node.results, strict=True):
            word = _number(fn.values.get(returned), state).register
            if out.uses():
                word = e.select(running, word, state.register)
            e.raw(f"store {vector_type(word.type, self.width)} {_wide(e, word)}, ptr {slot}")
        following = e.binary("add", index, number(1))
        more = e.both(running, fn.values.truth(body.returns[0]))
        if not is_endless:
            more = e.both(more, e.icmp("slt", following, trip))
        assert more is not None
        e.raw(f"store <{self.width} x i1> {_wide(e, more)}, ptr {active}")
        e.raw(f"store i64 {following}, ptr {counter}")
        e.depth -= 1
        e.mask, e.is_some = outer
        e.branch(head)
        e.start(after)
        for value, (slot, rep) in zip(node.results, slots, strict=True):
            fn.values.set(value, _load(e, slot, rep))

    def _loop_slots(self, node: Node) -> list[tuple[Register, Scalar]]:
        """Vectors in memory for what a loop carries, filled with what it starts from."""
        e, slots = self.fn.e, []
        for initial in node.operands[2:]:
            native = self.fn.values.get(initial)
            if not isinstance(native, Scalar):
                raise CannotCompileError("lanes carry something else than numbers")
            kind = vector_type(native.register.type, self.width)
            slot = e.slot(kind)
            e.raw(f"store {kind} {_wide(e, native.register)}, ptr {slot}")
            slots.append((slot, native))
        return slots


def _load(e: LaneEmitter, slot: Register, like: Scalar) -> Scalar:
    (kind,) = llvm_words(like.rep)
    return Scalar(like.rep, e.define(f"load {vector_type(kind, e.lanes)}, ptr {slot}", kind, e.lanes))


def _number(native: Native, like: Scalar) -> Scalar:
    if not isinstance(native, Scalar) or native.rep != like.rep:
        raise CannotCompileError("a value that lanes carry changes its type")
    return native


def _merged(e: LaneEmitter, condition: Register, a: Native, b: Native) -> Native:
    """What two arms give."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, FixedValue):
            if isinstance(y, FixedValue) and x.rep == y.rep:
                return x
            if native_values.is_nothing(x):
                return y
    if not isinstance(a, Scalar):
        raise CannotCompileError(f"lanes have {native_values.describe(a.rep)} on one way")
    b = _number(b, a)
    return a if a.register == b.register else Scalar(a.rep, e.select(condition, a.register, b.register))
