"""Launches for calls of a pattern, whatever their sizes: what native code does to find and complete one, as LLVM text.

A pattern is what code and schedule depend on: element types, ranks, which axes have size one or do not move, which lie
side by side or go on where another ends, and the class of each size (``size_classes``). A launch of a pattern has a
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

Launches of one hash of sizes are chained, and so are those that serve sizes of many hashes; a launch serves a call only
if all that its program asks for holds.
"""

from __future__ import annotations

from flambeau.codegen.layouts import INPUT, LAUNCH, LOOK, OUTPUT, RELEASE_GIL
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE, word
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM

HEAD = (
    "scale", "grain", "most_pieces", "each", "high_at", "cut_axis", "cut", "unit", "pool_at", "pool", "release_from",
    "parallel_from",
)  # fmt: skip
"""Nanoseconds of an iteration of all axes, times 2^20; iterations that pieces are multiples of; pieces at most (0: one
thread); nanoseconds of a piece; the word whose number of iterations is shared (0: one iteration), an axis that is cut
for more of them (-1: none), into stretches of so many; how many iterations are one; the word that tells the kernel of
the pool (0: none), the pool; nanoseconds from which the GIL is given up, and from which several threads pay."""
SCALE_BITS = 20
EQUALS, MOVES, GOES_ON, FARTHER = range(4)
"""The stride is the first number; is not 0; is that of the dimension of the second number times the size of the axis of
the first; is farther than that of the dimension of the second."""
MOST_AXES, MOST_RANK, MOST_OUTPUTS, MOST_WORDS = 8, 8, 4, 96
"""What there is room for; what is larger has exact launches only."""
OUTPUTS_AT = LAUNCH.words
LAYOUTS_AT = OUTPUTS_AT + MOST_OUTPUTS * OUTPUT.words
BLOCK_AT = LAYOUTS_AT + MOST_OUTPUTS * 2 * MOST_RANK
FRAME_WORDS = BLOCK_AT + MOST_WORDS
"""Of the room that a launch is completed in: the launch, its outputs' records, their sizes and strides, the block."""
BUCKETS = 256
LARGE, EXACT_UP_TO = 1 << 12, 64
"""Elements from which short axes, of sizes up to the second number, may be classes of their own."""
FACTOR = 37


def add_patterns(m: ModuleBuilder) -> None:
    """Add ``pattern_launch(looks, arguments, count, frame)``: the completed launch for a call, or null.

    It asks ``looks_like(argument, record)``, ``dims_of(argument)`` and ``strides_of(argument, rank)``.
    """
    m.special(_Hash, "i64 pattern_hash", "ptr records", "ptr args", "i64 n", "i1 exactly").build()
    m.special(_Fit, "i1 pattern_fit", "ptr launch", "ptr records", "ptr args", "ptr frame").build()
    _add_search(m)


class _Hash(FunctionBuilder):
    """``pattern_hash(records, arguments, n, exactly)``: the place among the buckets, by the very sizes of short last
    axes or by their classes alone; `size_classes.bucket_of` is the same.
    """

    def build(self) -> None:
        records, arguments, n, exactly = self.parameters
        total = self.variable(0)
        with self.loop(n) as k:
            record = self.at(records, self.op("mul", k, INPUT.words))
            array, done = self.label("array"), self.label("done")
            self.branch_if(self.is_null(self.get(record, INPUT, "descr")), done, array)
            self.start(array)
            argument = self.load(self.at(arguments, k), "ptr")
            rank = self.get(record, INPUT, "rank")
            dims = self.call("dims_of", argument)
            strides = self.call("strides_of", argument, rank)
            count = self.variable(1)
            with self.loop(rank) as d:
                self.store(count, self.op("mul", self.load(count), self.load(self.at(dims, d))))
            is_large = self.compare("sge", self.load(count), LARGE)
            with self.loop(rank) as d:
                size = self.load(self.at(dims, d))
                self.declare("declare i64 @llvm.ctlz.i64(i64, i1)")
                zeros = self.define(f"call i64 @llvm.ctlz.i64(i64 {size}, i1 false)", "i64", 1)
                rough = self.op("sub", word(EXACT_UP_TO + 64), zeros)
                is_last = self.compare("eq", d, self.op("sub", rank, 1))
                exact = self.all_of(exactly, is_large, self.compare("sle", size, EXACT_UP_TO), is_last)
                step = self.load(self.at(strides, d))
                is_unit = self.icmp("eq", step, self.get(record, INPUT, "strides", "i64"))
                code = self.op("add", self.select(exact, size, rough), self.convert("zext", is_unit, "i64"))
                self.store(total, self.op("add", self.op("mul", self.load(total), FACTOR), code))
            self.start(done)
        answer = self.load(total)
        self.ret(self.op("and", self.op("xor", answer, self.op("lshr", answer, 7)), BUCKETS - 1))


class _Fit(FunctionBuilder):
    """``pattern_fit(launch, records, arguments, frame)``: whether a launch serves a call; the frame then holds the one
    for just this call."""

    def build(self) -> None:
        self.launch, self.records, self.args, self.frame = self.parameters
        self.cursor = self.slot("ptr", 8)
        self.store(self.cursor, self.of_launch("program"))
        self.sizes = self.slot(f"[{MOST_AXES} x i64]", 16)
        self.head = {name: self.next() for name in HEAD}
        volume = self.axes()
        self.dimensions()
        self.stride_conditions()
        block = self.at(self.frame, BLOCK_AT)
        self.copy_launch(block)
        self.outputs()
        self.fill(block)
        self.split(block, self.op("lshr", self.op("mul", volume, self.head["scale"]), SCALE_BITS))
        self.ret(TRUE)
        self.start("no")
        self.ret(FALSE)

    def of_launch(self, name: str) -> Register:
        return self.get(self.launch, LAUNCH, name)

    def next(self) -> Register:
        here = self.load(self.cursor, "ptr")
        self.store(self.cursor, self.at(here, 1))
        return self.load(here)

    def argument(self, number: Register) -> Register:
        return self.word_of(self.args, number, "ptr")

    def dims(self, number: Register) -> Register:
        return self.call("dims_of", self.argument(number))

    def strides(self, number: Register) -> Register:
        record = self.at(self.records, self.op("mul", number, INPUT.words))
        return self.call("strides_of", self.argument(number), self.get(record, INPUT, "rank"))

    def axes(self) -> Register:
        """Sizes of axes, each within the class of the launch; their product."""
        volume = self.variable(1)
        with self.loop(self.next()) as k:
            size = self.load(self.at(self.dims(self.next()), self.next()))
            fits = self.op("and", self.compare("sge", size, self.next()), self.compare("sle", size, self.next()))
            self.require(fits, "no")
            self.store(self.at(self.sizes, k), size)
            self.store(volume, self.op("mul", self.load(volume), size))
        return self.load(volume)

    def size_of(self, axis: Register) -> Register:
        """The size of an axis; 1 for -1."""
        is_one = self.compare("slt", axis, 0)
        known = self.load(self.at(self.sizes, self.select(is_one, word(0), axis)))
        return self.select(is_one, word(1), known)

    def dimensions(self) -> None:
        with self.loop(self.next()):
            size = self.load(self.at(self.dims(self.next()), self.next()))
            self.require(self.compare("eq", size, self.size_of(self.next())), "no")

    def stride_conditions(self) -> None:
        with self.loop(self.next()):
            kind, number = self.next(), self.next()
            strides = self.strides(number)
            own, first, other = self.load(self.at(strides, self.next())), self.next(), self.next()
            second = self.load(self.at(strides, other))
            axis = self.select(self.compare("eq", kind, GOES_ON), first, word(0))
            goes_on = self.op("mul", second, self.size_of(axis))
            answers = {
                EQUALS: self.compare("eq", own, first),
                MOVES: self.compare("ne", own, 0),
                GOES_ON: self.compare("eq", own, goes_on),
            }
            holds = self.compare("sgt", self.distance(own), self.distance(second))
            for which, answer in answers.items():
                holds = self.select(self.compare("eq", kind, which), answer, holds)
            self.require(holds, "no")

    def distance(self, x: Register) -> Register:
        return self.intrinsic("smax", x, self.op("sub", word(0), x))

    def copy_launch(self, block: Register) -> None:
        """The frame's launch and block, as the launch has them."""
        self.copy(self.frame, self.launch, 8 * LAUNCH.words, 8)
        self.copy(block, self.of_launch("template"), self.op("mul", self.of_launch("words"), 8), 8)
        self.put(self.frame, LAUNCH, template=block, outputs=self.at(self.frame, OUTPUTS_AT))

    def outputs(self) -> None:
        """Records of outputs of this call's sizes."""
        records = self.of_launch("outputs")
        with self.loop(self.next()) as k:
            rank, itemsize = self.next(), self.next()
            dims = self.at(self.frame, self.op("add", self.op("mul", k, 2 * MOST_RANK), LAYOUTS_AT))
            strides = self.at(dims, MOST_RANK)
            with self.loop(rank) as d:
                self.store(self.at(dims, d), self.size_of(self.next()))
            step = self.variable(itemsize)
            with self.loop(rank):
                dim = self.next()
                self.store(self.at(strides, dim), self.load(step))
                self.store(step, self.op("mul", self.load(step), self.load(self.at(dims, dim))))
            source = self.at(records, self.op("mul", k, OUTPUT.words))
            record = self.at(self.frame, self.op("add", self.op("mul", k, OUTPUT.words), OUTPUTS_AT))
            bytes_ = self.load(step)
            large = self.convert("zext", self.compare("sge", bytes_, ALIGNED_FROM), "i64")
            descr, rank = self.get(source, OUTPUT, "descr"), self.get(source, OUTPUT, "rank")
            self.put(
                record,
                OUTPUT,
                descr=descr,
                rank=rank,
                dims=dims,
                strides=strides,
                bytes=bytes_,
                large=large,
                ready=NULL,
            )

    def fill(self, block: Register) -> None:
        """Sizes and strides into the block."""
        with self.loop(self.next()):
            target, total = self.next(), self.variable(1)
            with self.loop(self.next()):
                self.store(total, self.op("mul", self.load(total), self.size_of(self.next())))
            self.set_word(block, target, self.load(total))
        with self.loop(self.next()):
            target, number = self.next(), self.next()
            self.set_word(block, target, self.word_of(self.strides(number), self.next()))
        with self.loop(self.next()):
            target, number, dim = self.next(), self.next(), self.next()
            word_index = self.op("add", self.op("mul", number, 2 * MOST_RANK), LAYOUTS_AT + MOST_RANK)
            self.set_word(block, target, self.word_of(self.frame, self.op("add", word_index, dim)))

    def split(self, block: Register, nanoseconds: Register) -> None:
        """How many iterations there are, and who takes them."""
        head = self.head
        has_iterations = self.compare("ne", head["high_at"], 0)
        iterations = self.select(has_iterations, self.load(self.at(block, head["high_at"])), word(1))
        stretches = self._rounded_up(self.size_of(head["cut_axis"]), head["cut"])
        high = self._rounded_up(self.op("mul", iterations, stretches), head["unit"])
        is_shared = self.compare("sge", nanoseconds, head["parallel_from"])
        whole, cut, done = self.label("whole"), self.label("cut"), self.label("split")
        step, pieces = self.variable(0), self.variable(1)
        self.store(step, 0)
        self.store(pieces, 1)
        self.branch_if(is_shared, cut, whole)
        self.start(cut)
        # The first word of the block is written over later: where nothing asks for the pool, it goes there.
        self.store(self.at(block, head["pool_at"]), head["pool"])
        wanted = self.intrinsic("smax", self.op("sdiv", nanoseconds, head["each"]), word(1))
        wanted = self.intrinsic("smin", wanted, self.intrinsic("smax", head["most_pieces"], word(1)))
        grain = head["grain"]
        iterations_each = self.op("mul", self._rounded_up(self._rounded_up(high, wanted), grain), grain)
        several = self.compare("slt", iterations_each, high)
        self.store(step, self.select(several, iterations_each, word(0)))
        self.store(pieces, self.select(several, self._rounded_up(high, iterations_each), word(1)))
        self.branch(done)
        self.start(whole)
        self.start(done)
        is_long = self.convert("zext", self.compare("sge", nanoseconds, head["release_from"]), "i64")
        flags = self.op("mul", is_long, RELEASE_GIL)
        self.put(self.frame, LAUNCH, high=high, step=self.load(step), pieces=self.load(pieces), flags=flags)

    def _rounded_up(self, a: Register, b: Register) -> Register:
        return self.op("sdiv", self.op("sub", self.op("add", a, b), 1), b)


def _add_search(m: ModuleBuilder) -> None:
    """``pattern_launch``: the look of the inputs, then the bucket of their sizes, then the launch that fits."""
    f = m.function("ptr pattern_launch", "ptr looks", "ptr args", "i64 n", "ptr frame", attributes="noinline")
    looks, args, n, frame = f.parameters
    chain = f.follow(looks, lambda look: f.get(look, LOOK, "next"))
    with chain as look:
        f.require(f.compare("eq", n, f.get(look, LOOK, "n")), chain.next)
        records = f.get(look, LOOK, "inputs")
        with f.loop(n) as k:
            record = f.at(records, f.op("mul", k, INPUT.words))
            f.require(f.call("looks_like", f.word_of(args, k, "ptr"), record), chain.next)
        of_any = f.load_acquire(f.field(look, LOOK, "of_any_size"))
        with f.follow(of_any, lambda launch: f.get(launch, LAUNCH, "next")) as launch:
            f.return_if(f.call("pattern_fit", launch, records, args, frame), frame)
        for exactly in (FALSE, TRUE):
            bucket = f.at(f.get(look, LOOK, "buckets"), f.call("pattern_hash", records, args, n, exactly), "ptr")
            with f.follow(f.load_acquire(bucket), lambda launch: f.get(launch, LAUNCH, "next")) as launch:
                f.return_if(f.call("pattern_fit", launch, records, args, frame), frame)
        f.ret(NULL)
    f.ret(NULL)
