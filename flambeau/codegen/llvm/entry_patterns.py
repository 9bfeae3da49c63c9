"""Plans for calls of a pattern, whatever their sizes: what native code does to find and complete one, as LLVM text.

A pattern is what code and schedule depend on: element types, ranks, which axes have size one or do not move, which lie
side by side or go on where another ends, and the class of each size (``size_classes``). A plan of a pattern has a
*program* of 64-bit words in place of exact sizes and strides, which says what must hold of a call, how its block of
words follows from it, how the outputs lie, and how the work is split:

    head        HEAD
    axes        n; of each: input, dimension, least and most size
    dimensions  n; of each: input, dimension, the axis whose size it has (-1: size 1)
    strides     n; of each: what must hold (EQUALS, MOVES, GOES_ON, FARTHER), input, dimension, two numbers
    outputs     n; of each: rank, size of an element, the axis of each dimension, the dimensions from the innermost out
    sizes       n; of each: the word of the block, how many axes, the axes
    in          n; of each: the word of the block, input, dimension
    out         n; of each: the word of the block, output, dimension

Plans of one hash of sizes are chained; a plan serves a call only if all that its program asks for holds.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.layouts import INPUT, LOOK, OUTPUT, PLAN, RELEASE_GIL
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.entry_sizes import ALIGNED_FROM
from flambeau.codegen.llvm.entry_words import Function

HEAD = (
    "scale", "grain", "most_pieces", "each", "high_at", "unit", "pool_at", "pool", "release_from", "parallel_from",
)  # fmt: skip
"""Nanoseconds of an iteration of all axes, times 1024; iterations that pieces are multiples of; pieces at most (0: one
thread); nanoseconds of a piece; the word whose number of iterations is shared (0: one iteration), and how many of these
are one; the word that tells the kernel of the pool (0: none), the pool; nanoseconds from which the GIL is given up, and
from which several threads pay."""
EQUALS, MOVES, GOES_ON, FARTHER = range(4)
"""The stride is the first number; is not 0; is that of the dimension of the second number times the size of the axis of
the first; is farther than that of the dimension of the second."""
MOST_AXES, MOST_RANK, MOST_OUTPUTS, MOST_WORDS = 8, 8, 4, 96
"""What there is room for; what is larger has exact plans only."""
OUTPUTS_AT = PLAN.words
LAYOUTS_AT = OUTPUTS_AT + MOST_OUTPUTS * OUTPUT.words
BLOCK_AT = LAYOUTS_AT + MOST_OUTPUTS * 2 * MOST_RANK
FRAME_WORDS = BLOCK_AT + MOST_WORDS
"""Of the room that a plan is completed in: the plan, its outputs' records, their sizes and strides, the block."""
BUCKETS = 256
LARGE, EXACT_UP_TO = 1 << 12, 64
"""Elements from which sizes up to the second number are classes of their own."""
FACTOR = 37


def patterns_text(*more: Callable[[dict[str, None]], Function]) -> str:
    """LLVM text of ``pattern_plan(looks, arguments, count, frame)``: the completed plan for a call, or null.

    It asks ``looks_like(argument, record)``, ``dims_of(argument)`` and ``strides_of(argument, rank)``, and leaves the
    declaration of ``memcpy`` to the module. ``more`` are functions beside them.
    """
    declared: dict[str, None] = {}
    functions = [part(declared).text() for part in (_Hash, _Fit, *more)]
    return "\n".join([*declared, *functions, _FIND])


class _Hash(Function):
    """``pattern_hash(records, arguments, n)``: the place among the buckets; `size_classes.bucket_of` is the same."""

    def text(self) -> str:
        e = self.e
        records, arguments, n = (Register(t, k, 1) for t, k in (("%records", "ptr"), ("%args", "ptr"), ("%n", "i64")))
        total = self.slot(0)
        with self.times(n) as k:
            record = self.at(records, self.op("mul", k, INPUT.words))
            is_array = e.icmp("ne", self.get(record, "ptr"), Register("null", "ptr", 1))
            array, done = e.label("array"), e.label("done")
            e.branch_if(is_array, array, done)
            e.start(array)
            argument = self.get(self.at(arguments, k), "ptr")
            rank = self.get(self.at(record, 1))
            dims = self.call(f"@dims_of(ptr {argument})")
            strides = self.call(f"@strides_of(ptr {argument}, i64 {rank})")
            count = self.slot(1)
            with self.times(rank) as d:
                self.put(count, self.op("mul", self.get(count), self.get(self.at(dims, d))))
            is_large = self.is_("sge", self.get(count), LARGE)
            with self.times(rank) as d:
                size = self.get(self.at(dims, d))
                e.declare("declare i64 @llvm.ctlz.i64(i64, i1)")
                zeros = e.define(f"call i64 @llvm.ctlz.i64(i64 {size}, i1 false)", "i64", 1)
                rough = self.op("sub", self.const(EXACT_UP_TO + 64), zeros)
                exact = self.op("and", is_large, self.is_("sle", size, EXACT_UP_TO))
                step = self.get(self.at(strides, d))
                is_unit = e.icmp("eq", step, self.get(self.at(record, 3)))
                code = self.op("add", e.select(exact, size, rough), e.convert("zext", is_unit, "i64"))
                self.put(total, self.op("add", self.op("mul", self.get(total), FACTOR), code))
            e.branch(done)
            e.start(done)
        answer = self.get(total)
        e.raw(f"ret i64 {self.op('and', self.op('xor', answer, self.op('lshr', answer, 7)), BUCKETS - 1)}")
        return self.function("i64 @pattern_hash(ptr %records, ptr %args, i64 %n)")


class _Fit(Function):
    """``pattern_fit(plan, records, arguments, frame)``: whether a plan serves a call; the frame then holds the plan for
    just this call."""

    def text(self) -> str:
        e = self.e
        self.plan, self.frame = Register("%plan", "ptr", 1), Register("%frame", "ptr", 1)
        self.cursor = e.slot("ptr", 8)
        self.put(self.cursor, self.word("program", "ptr"))
        self.sizes = e.slot(f"[{MOST_AXES} x i64]", 16)
        self.head = {name: self.next() for name in HEAD}
        volume = self.axes()
        self.dimensions()
        self.stride_conditions()
        block = self.at(self.frame, BLOCK_AT)
        self.start(block)
        self.outputs()
        self.fill(block)
        self.split(block, self.op("lshr", self.op("mul", volume, self.head["scale"]), 10))
        e.raw("ret i1 true")
        e.start("no")
        e.raw("ret i1 false")
        return self.function("i1 @pattern_fit(ptr %plan, ptr %records, ptr %args, ptr %frame)")

    def word(self, name: str, kind: str = "i64") -> Register:
        return self.get(self.at(self.plan, PLAN.word(name)), kind)

    def next(self) -> Register:
        here = self.get(self.cursor, "ptr")
        self.put(self.cursor, self.at(here, 1))
        return self.get(here)

    def argument(self, number: Register) -> Register:
        return self.get(self.at(Register("%args", "ptr", 1), number), "ptr")

    def dims(self, number: Register) -> Register:
        return self.call(f"@dims_of(ptr {self.argument(number)})")

    def strides(self, number: Register) -> Register:
        record = self.at(Register("%records", "ptr", 1), self.op("mul", number, INPUT.words))
        return self.call(f"@strides_of(ptr {self.argument(number)}, i64 {self.get(self.at(record, 1))})")

    def axes(self) -> Register:
        """Sizes of axes, each within the class of the plan; their product."""
        volume = self.slot(1)
        with self.times(self.next()) as k:
            size = self.get(self.at(self.dims(self.next()), self.next()))
            fits = self.op("and", self.is_("sge", size, self.next()), self.is_("sle", size, self.next()))
            self.require(fits, "no")
            self.put(self.at(self.sizes, k), size)
            self.put(volume, self.op("mul", self.get(volume), size))
        return self.get(volume)

    def size_of(self, axis: Register) -> Register:
        """The size of an axis; 1 for -1."""
        is_one = self.is_("slt", axis, 0)
        known = self.get(self.at(self.sizes, self.e.select(is_one, self.const(0), axis)))
        return self.e.select(is_one, self.const(1), known)

    def dimensions(self) -> None:
        with self.times(self.next()):
            size = self.get(self.at(self.dims(self.next()), self.next()))
            self.require(self.is_("eq", size, self.size_of(self.next())), "no")

    def stride_conditions(self) -> None:
        e = self.e
        with self.times(self.next()):
            kind, number = self.next(), self.next()
            strides = self.strides(number)
            own, first, other = self.get(self.at(strides, self.next())), self.next(), self.next()
            second = self.get(self.at(strides, other))
            axis = e.select(self.is_("eq", kind, GOES_ON), first, self.const(0))
            goes_on = self.op("mul", second, self.size_of(axis))
            answers = {
                EQUALS: self.is_("eq", own, first),
                MOVES: self.is_("ne", own, 0),
                GOES_ON: self.is_("eq", own, goes_on),
            }
            holds = self.is_("sgt", self.distance(own), self.distance(second))
            for which, answer in answers.items():
                holds = e.select(self.is_("eq", kind, which), answer, holds)
            self.require(holds, "no")

    def distance(self, x: Register) -> Register:
        return self.e.intrinsic("smax", x, self.op("sub", self.const(0), x))

    def start(self, block: Register) -> None:
        """The frame's plan and block, as the plan has them."""
        e = self.e
        size = self.op("mul", self.word("words"), 8)
        copy = "call void @llvm.memcpy.p0.p0.i64(ptr align 8"
        e.raw(f"{copy} {self.frame}, ptr align 8 {self.plan}, i64 {8 * PLAN.words}, i1 false)")
        e.raw(f"{copy} {block}, ptr align 8 {self.word('template', 'ptr')}, i64 {size}, i1 false)")
        self.put(self.at(self.frame, PLAN.word("template")), block)
        self.put(self.at(self.frame, PLAN.word("outputs")), self.at(self.frame, OUTPUTS_AT))

    def outputs(self) -> None:
        """Records of outputs of this call's sizes."""
        e = self.e
        records = self.word("outputs", "ptr")
        with self.times(self.next()) as k:
            rank, itemsize = self.next(), self.next()
            dims = self.at(self.frame, self.op("add", self.op("mul", k, 2 * MOST_RANK), LAYOUTS_AT))
            strides = self.at(dims, MOST_RANK)
            with self.times(rank) as d:
                self.put(self.at(dims, d), self.size_of(self.next()))
            step = self.slot(itemsize)
            self.put(step, itemsize)
            with self.times(rank):
                place = self.next()
                self.put(self.at(strides, place), self.get(step))
                self.put(step, self.op("mul", self.get(step), self.get(self.at(dims, place))))
            source = self.at(records, self.op("mul", k, OUTPUT.words))
            record = self.at(self.frame, self.op("add", self.op("mul", k, OUTPUT.words), OUTPUTS_AT))
            bytes_ = self.get(step)
            large = e.convert("zext", self.is_("sge", bytes_, ALIGNED_FROM), "i64")
            values = (self.get(source), self.get(self.at(source, 1)), dims, strides, bytes_, large, self.const(0))
            for at, value in enumerate(values):
                self.put(self.at(record, at), value)

    def fill(self, block: Register) -> None:
        """Sizes and strides into the block."""
        with self.times(self.next()):
            word, total = self.next(), self.slot(1)
            self.put(total, 1)
            with self.times(self.next()):
                self.put(total, self.op("mul", self.get(total), self.size_of(self.next())))
            self.put(self.at(block, word), self.get(total))
        with self.times(self.next()):
            word, number = self.next(), self.next()
            self.put(self.at(block, word), self.get(self.at(self.strides(number), self.next())))
        with self.times(self.next()):
            word, number, dim = self.next(), self.next(), self.next()
            place = self.op("add", self.op("mul", number, 2 * MOST_RANK), LAYOUTS_AT + MOST_RANK)
            self.put(self.at(block, word), self.get(self.at(self.frame, self.op("add", place, dim))))

    def split(self, block: Register, nanoseconds: Register) -> None:
        """How many iterations there are, and who takes them."""
        e, head = self.e, self.head
        has_iterations = self.is_("ne", head["high_at"], 0)
        iterations = e.select(has_iterations, self.get(self.at(block, head["high_at"])), self.const(1))
        high = self._rounded_up(iterations, head["unit"])
        is_shared = self.is_("sge", nanoseconds, head["parallel_from"])
        whole, cut, done = e.label("whole"), e.label("cut"), e.label("split")
        step, pieces = self.slot(0), self.slot(1)
        self.put(step, 0)
        self.put(pieces, 1)
        e.branch_if(is_shared, cut, whole)
        e.start(cut)
        # The first word of the block is written over later: where nothing asks for the pool, it goes there.
        self.put(self.at(block, head["pool_at"]), head["pool"])
        wanted = e.intrinsic("smax", self.op("sdiv", nanoseconds, head["each"]), self.const(1))
        wanted = e.intrinsic("smin", wanted, e.intrinsic("smax", head["most_pieces"], self.const(1)))
        grain = head["grain"]
        iterations_each = self.op("mul", self._rounded_up(self._rounded_up(high, wanted), grain), grain)
        several = self.is_("slt", iterations_each, high)
        self.put(step, e.select(several, iterations_each, self.const(0)))
        self.put(pieces, e.select(several, self._rounded_up(high, iterations_each), self.const(1)))
        e.branch(done)
        e.start(whole)
        e.branch(done)
        e.start(done)
        is_long = e.convert("zext", self.is_("sge", nanoseconds, head["release_from"]), "i64")
        for name, value in (
            ("high", high), ("step", self.get(step)), ("pieces", self.get(pieces)),
            ("flags", self.op("mul", is_long, RELEASE_GIL)),
        ):  # fmt: skip
            self.put(self.at(self.frame, PLAN.word(name)), value)

    def _rounded_up(self, a: Register, b: Register) -> Register:
        return self.op("sdiv", self.op("sub", self.op("add", a, b), 1), b)


_FIND = f"""
define internal ptr @pattern_plan(ptr %looks, ptr %args, i64 %n, ptr %frame) noinline {{
entry:
  br label %each
each:
  %look = phi ptr [%looks, %entry], [%next, %other]
  %none = icmp eq ptr %look, null
  br i1 %none, label %missing, label %compare
compare:
  %n.p = getelementptr i64, ptr %look, i64 {LOOK.word("n")}
  %n_in = load i64, ptr %n.p
  %same_n = icmp eq i64 %n, %n_in
  br i1 %same_n, label %types, label %other
types:
  %records.p = getelementptr i64, ptr %look, i64 {LOOK.word("inputs")}
  %records = load ptr, ptr %records.p
  br label %argument
argument:
  %i = phi i64 [0, %types], [%i1, %good]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %found
one:
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %record.o = mul i64 %i, {INPUT.words}
  %record = getelementptr i64, ptr %records, i64 %record.o
  %fits = call i1 @looks_like(ptr %arg, ptr %record)
  br i1 %fits, label %good, label %other
good:
  %i1 = add i64 %i, 1
  br label %argument
other:
  %next = load ptr, ptr %look
  br label %each
found:
  %hash = call i64 @pattern_hash(ptr %records, ptr %args, i64 %n)
  %buckets.p = getelementptr i64, ptr %look, i64 {LOOK.word("buckets")}
  %buckets = load ptr, ptr %buckets.p
  %bucket = getelementptr ptr, ptr %buckets, i64 %hash
  %first = load atomic ptr, ptr %bucket acquire, align 8
  br label %plans
plans:
  %plan = phi ptr [%first, %found], [%following, %unlike]
  %end = icmp eq ptr %plan, null
  br i1 %end, label %missing, label %attempt
attempt:
  %serves = call i1 @pattern_fit(ptr %plan, ptr %records, ptr %args, ptr %frame)
  br i1 %serves, label %yes, label %unlike
unlike:
  %following = load ptr, ptr %plan
  br label %plans
yes:
  ret ptr %frame
missing:
  ret ptr null
}}
"""
