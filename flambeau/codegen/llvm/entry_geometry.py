"""How calls of operators lie in memory, for plans that go over their arrays row by row, as LLVM text.

Such a plan serves any sizes and strides. What it needs to know of a call is worked out here: the common size, the
strides of each array in it, with 0 where it is repeated; in which order to go over the axes, so that the result lies as
its operands do; which axes are one, because all arrays go on from one to the other. The innermost that remain are a
row, which one call of each loop goes over. ``llvm.loops`` reads this in the block of words:

    LENGTH         elements of a row
    AXES           how many axes there are beside the rows
    SIZES ...      theirs, from the outermost
    STRIDES ...    per word with an array's address, from 1 on: bytes between elements of a row, and along axes
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.layouts import INPUT, OUTPUT, PLAN
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.entry_patterns import BLOCK_AT, LAYOUTS_AT, MOST_RANK, MOST_WORDS, OUTPUTS_AT
from flambeau.codegen.llvm.entry_words import Function

SPREAD, WRITTEN, FOLDED, KEPT, MAPPED = range(1, 6)
"""What a plan's ``geometry`` says. Arrays are broadcast; so they are, and the result is written into the argument of
number ``target``. The rest are of one row-major array, the first argument, whose last axes (``rank`` of them) are a
row: each becomes one element; so it does, and the axes stay, with size 1; each becomes a row. Where ``target`` is 1,
what is called a row is a column, along the first axis, of at most ``least`` elements, and there are several."""
TURNED = -1
"""In place of the number of axes: columns lie side by side."""
MOST_ARRAYS = 8
"""Arrays of a call, its result included."""
LENGTH, AXES, SIZES = 16, 17, 18
STRIDES = SIZES + MOST_RANK - 1
ROW_WORDS = STRIDES + MOST_ARRAYS * MOST_RANK
"""Words of the block of such a plan."""
assert ROW_WORDS <= MOST_WORDS


def _register(text: str, kind: str) -> Register:
    return Register(text, kind, 1)


class _OnPlan(Function):
    """A function ``(plan, arguments, frame)``: whether a plan serves a call; the frame then holds the plan for it."""

    def begin(self) -> None:
        self.plan, self.args, self.frame = (_register(t, "ptr") for t in ("%plan", "%args", "%frame"))
        self.block = self.at(self.frame, BLOCK_AT)
        self.inputs = self.word("inputs", "ptr")
        self.shape = self.at(self.frame, LAYOUTS_AT)
        self.dense = self.at(self.frame, LAYOUTS_AT + MOST_RANK)

    def end(self, name: str) -> str:
        self.e.raw("ret i1 true")
        self.e.start("no")
        self.e.raw("ret i1 false")
        return self.function(f"i1 @{name}(ptr %plan, ptr %args, ptr %frame)")

    def word(self, name: str, kind: str = "i64") -> Register:
        return self.get(self.at(self.plan, PLAN.word(name)), kind)

    def record(self, number: Register | int) -> Register:
        return self.at(self.inputs, self.op("mul", number, INPUT.words) if isinstance(number, Register) else 0)

    def argument(self, number: Register | int) -> Register:
        return self.get(self.at(self.args, number), "ptr")

    def is_array(self, record: Register) -> Register:
        return self.e.icmp("ne", self.get(record, "ptr"), _register("null", "ptr"))

    def copy(self) -> None:
        """The frame's plan and block, as the plan has them."""
        copy = "call void @llvm.memcpy.p0.p0.i64(ptr align 8"
        e = self.e
        e.raw(f"{copy} {self.frame}, ptr align 8 {self.plan}, i64 {8 * PLAN.words}, i1 false)")
        e.raw(f"{copy} {self.block}, ptr align 8 {self.word('template', 'ptr')}, i64 {8 * (AXES + 1)}, i1 false)")
        self.put(self.at(self.frame, PLAN.word("template")), self.block)

    def output(self, volume: Register, strides: Register) -> None:
        """The record of the result, of the sizes that the frame has."""
        source = self.word("outputs", "ptr")
        record = self.at(self.frame, OUTPUTS_AT)
        bytes_ = self.op("mul", volume, self.get(self.at(source, 4)))
        look = (self.get(source), self.get(self.at(source, 1)), self.shape, strides, bytes_)
        values: tuple[Register | int, ...] = (*look, 0, 0)
        assert len(values) == OUTPUT.words
        for at, value in enumerate(values):
            self.put(self.at(record, at), value)
        self.put(self.at(self.frame, PLAN.word("outputs")), record)

    def finish(self, length: Register, axes: Register | int, rows: Register) -> None:
        for place, value in ((LENGTH, length), (AXES, axes)):
            self.put(self.at(self.block, place), value)
        self.put(self.at(self.frame, PLAN.word("high")), rows)


class Rows(_OnPlan):
    """``by_rows``: of one row-major array."""

    def text(self) -> str:
        self.begin()
        e, first = self.e, self.argument(0)
        rank, itemsize = self.get(self.at(self.record(0), 1)), self.get(self.at(self.record(0), 3))
        dims, strides = self.call(f"@dims_of(ptr {first})"), self.call(f"@strides_of(ptr {first}, i64 {rank})")
        before = self.op("sub", rank, self.word("rank"))
        keeps = self.is_("ne", self.word("geometry"), FOLDED)
        stays = self.is_("eq", self.word("geometry"), MAPPED)
        is_turned = self.is_("eq", self.word("target"), 1)
        turned = e.convert("zext", is_turned, "i64")
        step, rows, length = self.slot(itemsize), self.slot(1), self.slot(1)
        with self.times(rank) as d:
            axis = self.op("sub", self.op("sub", rank, d), 1)
            size = self.get(self.at(dims, axis))
            is_dense = self.op(
                "or", self.is_("eq", self.get(self.at(strides, axis)), self.get(step)), self.is_("eq", size, 1)
            )
            self.require(is_dense, "no")
            self.put(step, self.op("mul", self.get(step), size))
            is_row = e.select(is_turned, self.is_("eq", axis, 0), self.is_("sge", axis, before))
            self.put(rows, self.op("mul", self.get(rows), e.select(is_row, self.const(1), size)))
            self.put(length, self.op("mul", self.get(length), e.select(is_row, size, self.const(1))))
            kept = e.select(self.op("and", is_row, self.op("xor", stays, _register("true", "i1"))), self.const(1), size)
            with self.when(self.op("or", keeps, self.op("xor", is_row, _register("true", "i1")))):
                place = e.select(keeps, axis, self.op("sub", axis, turned))
                self.put(self.at(self.shape, place), kept)
        many, n = self.get(rows), self.get(length)
        volume = self.op("mul", many, n)
        self.require(self.op("and", self.is_("sge", volume, 1), self.is_("sle", volume, self.word("most"))), "no")
        with self.when(is_turned):
            self.require(self.op("and", self.is_("sge", many, 2), self.is_("sle", n, self.word("least"))), "no")
        self.copy()
        out_size = self.get(self.at(self.word("outputs", "ptr"), 4))
        self.output(self.op("mul", many, e.select(stays, n, self.const(1))), self.const(0))
        result = self.op("add", self.op("mul", self.word("n_in"), MOST_RANK), STRIDES)
        out_step = e.select(stays, self.op("mul", out_size, n), out_size)
        for at, size, step_of_rows in (
            (self.const(STRIDES), itemsize, self.op("mul", itemsize, n)),
            (result, out_size, out_step),
        ):
            place = self.at(self.block, at)
            self.put(place, e.select(is_turned, self.op("mul", size, many), size))
            self.put(self.at(place, 1), e.select(is_turned, size, step_of_rows))
        self.put(self.at(self.block, SIZES), many)
        self.finish(n, e.select(is_turned, self.const(TURNED), self.const(1)), many)
        return self.end("by_rows")


class Spread(_OnPlan):
    """``broadcast``: of arrays that are broadcast, into a new one or one of them."""

    def text(self) -> str:
        self.begin()
        e = self.e
        self.rank, self.n_in = self.word("rank"), self.word("n_in")
        self.is_new = self.is_("eq", self.word("geometry"), SPREAD)
        self.order = e.slot(f"[{MOST_RANK} x i64]", 16)
        self.strides = e.slot(f"[{MOST_ARRAYS * MOST_RANK} x i64]", 16)
        volume = self.common()
        self.require(self.op("and", self.is_("sge", volume, 1), self.is_("sle", volume, self.word("most"))), "no")
        self.placed()
        self.sort()
        self.lay_out()
        with self.when(self.op("xor", self.is_new, _register("true", "i1"))):
            self.check_target()
        self.copy()
        with self.when(self.is_new):
            self.output(volume, self.dense)
        self.join()
        return self.end("broadcast")

    def of(self, number: Register, axis: Register | int) -> Register:
        """Where the stride of an array along an axis of the common size is."""
        return self.at(self.strides, self.op("add", self.op("mul", number, MOST_RANK), axis))

    def each_axis(self, number: Register) -> tuple[Register, Register, Register, Register]:
        rank = self.get(self.at(self.record(number), 1))
        argument = self.argument(number)
        dims = self.call(f"@dims_of(ptr {argument})")
        return rank, self.op("sub", self.rank, rank), dims, self.call(f"@strides_of(ptr {argument}, i64 {rank})")

    def common(self) -> Register:
        """The common size; how many elements it has."""
        with self.times(self.rank) as k:
            self.put(self.at(self.shape, k), 1)
        with self.times(self.n_in) as i, self.when(self.is_array(self.record(i))):
            rank, lead, dims, _ = self.each_axis(i)
            with self.times(rank) as d:
                place = self.at(self.shape, self.op("add", lead, d))
                size, known = self.get(self.at(dims, d)), self.get(place)
                is_open = self.is_("eq", known, 1)
                fits = self.op("or", self.is_("eq", size, known), self.op("or", self.is_("eq", size, 1), is_open))
                self.require(fits, "no")
                self.put(place, self.e.select(is_open, size, known))
        volume = self.slot(1)
        with self.times(self.rank) as k:
            self.put(volume, self.op("mul", self.get(volume), self.get(self.at(self.shape, k))))
        return self.get(volume)

    def placed(self) -> None:
        """The strides of each array along the axes of the common size."""
        with self.times(self.n_in) as i:
            with self.times(self.rank) as k:
                self.put(self.of(i, k), 0)
            with self.when(self.is_array(self.record(i))):
                rank, lead, dims, strides = self.each_axis(i)
                with self.times(rank) as d:
                    axis = self.op("add", lead, d)
                    is_one = self.is_("eq", self.get(self.at(dims, d)), 1)
                    is_more = self.is_("ne", self.get(self.at(self.shape, axis)), 1)
                    stride = self.get(self.at(strides, d))
                    kept = self.e.select(self.op("and", is_one, is_more), self.const(0), stride)
                    self.put(self.of(i, axis), kept)

    def sort(self) -> None:
        """The axes from the innermost out, as `ops.families.layout.arranged` orders them: as they come or with channels
        last if all arrays lie so, else by their strides."""
        is_known = self.slot(0)
        self.attempt(is_known, lambda k: self.op("sub", self.op("sub", self.rank, k), 1))
        is_image = self.op("and", self.is_("eq", self.rank, 4), self.is_("eq", self.get(is_known), 0))
        with self.when(is_image):
            self.attempt(is_known, lambda k: self.pick(k, (1, 3, 2, 0)))
        with self.when(self.is_("eq", self.get(is_known), 0)):
            self.sort_by_strides()

    def pick(self, k: Register, numbers: tuple[int, ...]) -> Register:
        """The number at a place."""
        found = self.const(numbers[-1])
        for place, number in enumerate(numbers[:-1]):
            found = self.e.select(self.is_("eq", k, place), self.const(number), found)
        return found

    def attempt(self, is_known: Register, axis_of: Callable[[Register], Register]) -> None:
        """An order, if all arrays have the common size and lie in it without gaps."""
        e = self.e
        fits = self.slot(1)
        with self.times(self.rank) as k:
            self.put(self.at(self.order, k), axis_of(k))
        with self.times(self.n_in) as i, self.when(self.is_array(self.record(i))):
            rank, lead, dims, _ = self.each_axis(i)
            with self.when(self.is_("sgt", rank, 0)):
                step = self.slot(self.get(self.at(self.record(i), 3)))
                self.put(fits, e.select(self.is_("eq", lead, 0), self.get(fits), self.const(0)))
                with self.times(self.rank) as k:
                    axis = self.get(self.at(self.order, k))
                    size = self.get(self.at(self.shape, axis))
                    with self.when(self.is_("eq", lead, 0)):
                        same = self.is_("eq", self.get(self.at(dims, axis)), size)
                        goes_on = self.is_("eq", self.get(self.of(i, axis)), self.get(step))
                        is_good = self.op("and", same, self.op("or", goes_on, self.is_("eq", size, 1)))
                        self.put(fits, e.select(is_good, self.get(fits), self.const(0)))
                    self.put(step, self.op("mul", self.get(step), size))
        self.put(is_known, self.get(fits))

    def sort_by_strides(self) -> None:
        """As `tensor.layout.elementwise_strides` does."""
        e = self.e
        with self.times(self.rank) as k:
            self.put(self.at(self.order, k), self.op("sub", self.op("sub", self.rank, k), 1))
        with self.times(self.rank) as i:
            at, goes_on = self.slot(i), self.slot(1)
            with self.times(i) as back:
                j = self.op("sub", self.op("sub", i, back), 1)
                with self.when(self.is_("eq", self.get(goes_on), 1)):
                    a_place, b_place = self.at(self.order, j), self.at(self.order, self.get(at))
                    a, b = self.get(a_place), self.get(b_place)
                    decision = self.compared(a, b)
                    is_outside = self.is_("sgt", decision, 0)
                    with self.when(is_outside):
                        self.put(a_place, b)
                        self.put(b_place, a)
                        self.put(at, j)
                    self.put(goes_on, e.select(self.is_("slt", decision, 0), self.const(0), self.const(1)))

    def compared(self, a: Register, b: Register) -> Register:
        """1 if an axis belongs outside of another, -1 inside, 0 if no array tells."""
        e = self.e
        decision = self.slot(0)
        larger = self.is_("sgt", self.get(self.at(self.shape, a)), self.get(self.at(self.shape, b)))
        by_size = e.convert("zext", larger, "i64")
        with self.times(self.n_in) as i, self.when(self.is_("eq", self.get(decision), 0)):
            own, other = self.get(self.of(i, a)), self.get(self.of(i, b))
            tells = self.op("and", self.is_("ne", own, 0), self.is_("ne", other, 0))
            by_stride = e.select(self.is_("slt", own, other), self.const(-1), by_size)
            answer = e.select(self.is_("sgt", own, other), self.const(1), by_stride)
            self.put(decision, e.select(tells, answer, self.const(0)))
        return self.get(decision)

    def lay_out(self) -> None:
        """Strides of a new result."""
        out_size = self.get(self.at(self.word("outputs", "ptr"), 4))
        step = self.slot(out_size)
        with self.times(self.rank) as k:
            axis = self.get(self.at(self.order, k))
            self.put(self.at(self.dense, axis), self.get(step))
            self.put(self.of(self.n_in, axis), self.get(step))
            self.put(step, self.op("mul", self.get(step), self.get(self.at(self.shape, axis))))

    def check_target(self) -> None:
        """Whether the target has the common size, may be written to, and shares no memory with the others, except with
        one that lies as it does."""
        e, target = self.e, self.word("target")
        argument = self.argument(target)
        writeable = e.define(f"call i1 @is_writeable(ptr {argument})", "i1", 1)
        self.require(writeable, "no")
        rank, _, dims, _ = self.each_axis(target)
        self.require(self.is_("eq", rank, self.rank), "no")
        with self.times(rank) as d:
            self.require(self.is_("eq", self.get(self.at(dims, d)), self.get(self.at(self.shape, d))), "no")
        reach = self.slot(self.get(self.at(self.record(target), 3)))
        with self.times(self.rank) as k:
            axis = self.get(self.at(self.order, k))
            size, stride = self.get(self.at(self.shape, axis)), self.get(self.of(target, axis))
            with self.when(self.is_("ne", size, 1)):
                self.require(self.is_("sge", stride, self.get(reach)), "no")
                self.put(reach, self.op("add", self.get(reach), self.op("mul", stride, self.op("sub", size, 1))))
        start, end = self.extent(target)
        with self.times(self.n_in) as i, self.when(self.is_array(self.record(i))):
            low, high = self.extent(i)
            is_apart = self.op("or", self.is_("sge", low, end), self.is_("sge", start, high))
            same = self.slot(0)
            with self.times(self.rank) as k:
                differs = self.op("xor", self.get(self.of(i, k)), self.get(self.of(target, k)))
                self.put(same, self.op("or", self.get(same), differs))
            is_same = self.op("and", self.is_("eq", low, start), self.is_("eq", high, end))
            is_same = self.op("and", is_same, self.is_("eq", self.get(same), 0))
            self.require(self.op("or", is_apart, is_same), "no")

    def extent(self, number: Register) -> tuple[Register, Register]:
        """The addresses of an array's first byte, and of that behind its last."""
        e = self.e
        data = e.define(f"call i64 @data_of(ptr {self.argument(number)})", "i64", 1)
        low, high = self.slot(data), self.slot(self.op("add", data, self.get(self.at(self.record(number), 3))))
        with self.times(self.rank) as k:
            steps = self.op("sub", self.get(self.at(self.shape, k)), 1)
            way = self.op("mul", self.get(self.of(number, k)), steps)
            for place, direction in ((low, "smin"), (high, "smax")):
                self.put(place, self.op("add", self.get(place), e.intrinsic(direction, way, self.const(0))))
        return self.get(low), self.get(high)

    def join(self) -> None:
        """Axes that all arrays go on along are one; the innermost is the row."""
        e = self.e
        sizes = e.slot(f"[{MOST_RANK} x i64]", 16)
        axes = e.slot(f"[{MOST_RANK} x i64]", 16)
        count = self.slot(0)
        """Axes so far, from the innermost out; of those that became one, the inner one tells the strides."""
        arrays = self.op("add", self.n_in, 1)
        with self.times(self.rank) as k:
            axis = self.get(self.at(self.order, k))
            size = self.get(self.at(self.shape, axis))
            with self.when(self.is_("ne", size, 1)):
                have = self.get(count)
                last = e.intrinsic("smax", self.op("sub", have, 1), self.const(0))
                last_axis, last_size = self.get(self.at(axes, last)), self.get(self.at(sizes, last))
                goes_on = self.slot(e.convert("zext", self.is_("sgt", have, 0), "i64"))
                with self.when(self.is_("sgt", have, 0)), self.times(arrays) as i:
                    expected = self.op("mul", self.get(self.of(i, last_axis)), last_size)
                    same = e.convert("zext", self.is_("eq", expected, self.get(self.of(i, axis))), "i64")
                    is_counted = self.op("or", self.is_("slt", i, self.n_in), self.is_new)
                    same = e.select(is_counted, same, self.const(1))
                    self.put(goes_on, self.op("and", self.get(goes_on), same))
                joins = self.is_("eq", self.get(goes_on), 1)
                place = e.select(joins, last, have)
                self.put(self.at(sizes, place), e.select(joins, self.op("mul", last_size, size), size))
                self.put(self.at(axes, place), e.select(joins, last_axis, axis))
                self.put(count, e.select(joins, have, self.op("add", have, 1)))
        with self.when(self.is_("eq", self.get(count), 0)):
            self.put(sizes, 1)
            self.put(axes, 0)
            self.put(count, 1)
            with self.when(self.is_("eq", self.rank, 0)), self.times(arrays) as i:
                self.put(self.of(i, 0), 0)
        outer, rows = self.op("sub", self.get(count), 1), self.slot(1)
        with self.times(outer) as k:
            size = self.get(self.at(sizes, self.op("sub", outer, k)))
            self.put(self.at(self.block, self.op("add", k, SIZES)), size)
            self.put(rows, self.op("mul", self.get(rows), size))
        with self.times(arrays) as i:
            base = self.at(self.block, self.op("add", self.op("mul", i, MOST_RANK), STRIDES))
            self.put(base, self.get(self.of(i, self.get(axes))))
            with self.times(outer) as k:
                axis = self.get(self.at(axes, self.op("sub", outer, k)))
                self.put(self.at(self.at(base, 1), k), self.get(self.of(i, axis)))
        self.finish(self.get(sizes), outer, self.get(rows))
