"""How calls of operators lie in memory, for launches that go over their arrays row by row, as LLVM text.

Such a launch serves any sizes and strides. What it needs to know of a call is worked out here: the common size, the
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
from typing import Final

from flambeau.codegen.layouts import INPUT, LAUNCH, OUTPUT
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE, word
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.entry_patterns import BLOCK_AT, LAYOUTS_AT, MOST_RANK, MOST_WORDS, OUTPUTS_AT

SPREAD: Final = 1
"""The ``geometry`` of a launch: arrays are broadcast."""
WRITTEN: Final = 2
"""Arrays are broadcast, and the result is written into the argument of number ``target``."""
FOLDED: Final = 3
"""Of one row-major array, the first argument, the last axes (``rank`` of them) are a row: each becomes one element.
Rows have more than ``least`` elements. Where ``target`` is 1, what is called a row is a column, along the first axis,
of at most ``least`` elements, and there are several."""
KEPT: Final = 4
"""Like `FOLDED`, and the axes stay, with size 1."""
MAPPED: Final = 5
"""Like `FOLDED`, but each row becomes a row."""
FILLED: Final = 6
"""Not by rows: the kernel of all elements, whose result is written into the first argument."""
TURNED = -1
"""In place of the number of axes: columns lie side by side."""
MOST_ARRAYS = 8
"""Arrays of a call, its result included."""
LENGTH, AXES, SIZES = 16, 17, 18
STRIDES = SIZES + MOST_RANK - 1
ROW_WORDS = STRIDES + MOST_ARRAYS * MOST_RANK
"""Words of the block of such a launch."""
assert ROW_WORDS <= MOST_WORDS


def add_geometry(m: ModuleBuilder) -> None:
    """Add ``by_rows`` and ``broadcast``, functions of a launch, the arguments and a frame.

    They ask the functions of ``launch_inputs.ArrayInputs``.
    """
    m.special(Rows, "i1 by_rows", "ptr launch", "ptr args", "ptr frame").build()
    m.special(Spread, "i1 broadcast", "ptr launch", "ptr args", "ptr frame").build()


class _OnLaunch(FunctionBuilder):
    """A function ``(launch, arguments, frame)``: whether a launch serves a call, which the frame then holds."""

    def begin(self) -> None:
        self.launch, self.args, self.frame = self.parameters
        self.words = self.at(self.frame, BLOCK_AT)
        self.inputs = self.of_launch("inputs")
        self.shape = self.at(self.frame, LAYOUTS_AT)
        self.dense = self.at(self.frame, LAYOUTS_AT + MOST_RANK)

    def end(self) -> None:
        self.ret(TRUE)
        self.start("no")
        self.ret(FALSE)

    def of_launch(self, name: str) -> Register:
        return self.get(self.launch, LAUNCH, name)

    def record(self, number: Register | int) -> Register:
        return self.at(self.inputs, self.op("mul", number, INPUT.words) if isinstance(number, Register) else 0)

    def itemsize(self, number: Register | int) -> Register:
        """Bytes of an element, which the records of such launches have in place of strides."""
        return self.get(self.record(number), INPUT, "strides", "i64")

    def argument(self, number: Register | int) -> Register:
        return self.load(self.at(self.args, number), "ptr")

    def is_array(self, record: Register) -> Register:
        return self.negated(self.is_null(self.get(record, INPUT, "descr")))

    def copy_launch(self) -> None:
        """The frame's launch and block, as the launch has them."""
        self.copy(self.frame, self.launch, 8 * LAUNCH.words, 8)
        self.copy(self.words, self.of_launch("template"), 8 * (AXES + 1), 8)
        self.put(self.frame, LAUNCH, template=self.words)

    def output(self, volume: Register, strides: Register) -> None:
        """The record of the result, of the sizes that the frame has."""
        source, record = self.of_launch("outputs"), self.at(self.frame, OUTPUTS_AT)
        bytes_ = self.op("mul", volume, self.get(source, OUTPUT, "bytes"))
        descr, rank = self.get(source, OUTPUT, "descr"), self.get(source, OUTPUT, "rank")
        sizes = {"dims": self.shape, "strides": strides, "bytes": bytes_}
        self.put(record, OUTPUT, descr=descr, rank=rank, **sizes, large=word(0), ready=NULL)
        self.put(self.frame, LAUNCH, outputs=record)

    def finish(self, length: Register, axes: Register | int, rows: Register) -> None:
        for index, value in ((LENGTH, length), (AXES, axes)):
            self.store(self.at(self.words, index), value)
        self.put(self.frame, LAUNCH, high=rows)


class Rows(_OnLaunch):
    """``by_rows``: of one row-major array."""

    def build(self) -> None:
        self.begin()
        first = self.argument(0)
        rank, itemsize = self.get(self.record(0), INPUT, "rank"), self.itemsize(0)
        dims, strides = self.call("dims_of", first), self.call("strides_of", first, rank)
        before = self.op("sub", rank, self.of_launch("rank"))
        keeps = self.compare("ne", self.of_launch("geometry"), FOLDED)
        stays = self.compare("eq", self.of_launch("geometry"), MAPPED)
        is_turned = self.compare("eq", self.of_launch("target"), 1)
        turned = self.convert("zext", is_turned, "i64")
        step, rows, length = self.variable(itemsize), self.variable(1), self.variable(1)
        with self.loop(rank) as d:
            axis = self.op("sub", self.op("sub", rank, d), 1)
            size = self.load(self.at(dims, axis))
            is_dense = self.op(
                "or",
                self.compare("eq", self.load(self.at(strides, axis)), self.load(step)),
                self.compare("eq", size, 1),
            )
            self.require(is_dense, "no")
            self.store(step, self.op("mul", self.load(step), size))
            is_row = self.select(is_turned, self.compare("eq", axis, 0), self.compare("sge", axis, before))
            self.store(rows, self.op("mul", self.load(rows), self.select(is_row, word(1), size)))
            self.store(length, self.op("mul", self.load(length), self.select(is_row, size, word(1))))
            kept = self.select(self.op("and", is_row, self.negated(stays)), word(1), size)
            with self.when(self.op("or", keeps, self.negated(is_row))):
                target = self.select(keeps, axis, self.op("sub", axis, turned))
                self.store(self.at(self.shape, target), kept)
        many, n = self.load(rows), self.load(length)
        volume = self.op("mul", many, n)
        is_served = self.op("and", self.compare("sge", volume, 1), self.compare("sle", volume, self.of_launch("most")))
        self.require(is_served, "no")
        is_short = self.compare("sle", n, self.of_launch("least"))
        are_columns = self.op("and", self.compare("sge", many, 2), is_short)
        self.require(self.select(is_turned, are_columns, self.negated(is_short)), "no")
        self.copy_launch()
        out_size = self.get(self.of_launch("outputs"), OUTPUT, "bytes")
        self.output(self.op("mul", many, self.select(stays, n, word(1))), NULL)
        result = self.op("add", self.op("mul", self.of_launch("n_in"), MOST_RANK), STRIDES)
        out_step = self.select(stays, self.op("mul", out_size, n), out_size)
        for at, size, step_of_rows in (
            (word(STRIDES), itemsize, self.op("mul", itemsize, n)),
            (result, out_size, out_step),
        ):
            address = self.at(self.words, at)
            self.store(address, self.select(is_turned, self.op("mul", size, many), size))
            self.store(self.at(address, 1), self.select(is_turned, size, step_of_rows))
        self.store(self.at(self.words, SIZES), many)
        self.finish(n, self.select(is_turned, word(TURNED), word(1)), many)
        self.end()


class Spread(_OnLaunch):
    """``broadcast``: of arrays that are broadcast, into a new one or one of them."""

    def build(self) -> None:
        self.begin()
        self.rank, self.n_in = self.of_launch("rank"), self.of_launch("n_in")
        self.is_new = self.compare("eq", self.of_launch("geometry"), SPREAD)
        self.order = self.slot(f"[{MOST_RANK} x i64]", 16)
        self.strides = self.slot(f"[{MOST_ARRAYS * MOST_RANK} x i64]", 16)
        volume = self.common()
        is_served = self.op("and", self.compare("sge", volume, 1), self.compare("sle", volume, self.of_launch("most")))
        self.require(is_served, "no")
        self.placed()
        self.sort()
        self.lay_out()
        with self.when(self.negated(self.is_new)):
            self.check_target()
        self.copy_launch()
        with self.when(self.is_new):
            self.output(volume, self.dense)
        self.join()
        self.end()

    def of(self, number: Register, axis: Register | int) -> Register:
        """Where the stride of an array along an axis of the common size is."""
        return self.at(self.strides, self.op("add", self.op("mul", number, MOST_RANK), axis))

    def each_axis(self, number: Register) -> tuple[Register, Register, Register, Register]:
        rank = self.get(self.record(number), INPUT, "rank")
        argument = self.argument(number)
        dims = self.call("dims_of", argument)
        return rank, self.op("sub", self.rank, rank), dims, self.call("strides_of", argument, rank)

    def common(self) -> Register:
        """The common size; how many elements it has."""
        with self.loop(self.rank) as k:
            self.store(self.at(self.shape, k), 1)
        with self.loop(self.n_in) as i, self.when(self.is_array(self.record(i))):
            rank, lead, dims, _ = self.each_axis(i)
            with self.loop(rank) as d:
                address = self.at(self.shape, self.op("add", lead, d))
                size, known = self.load(self.at(dims, d)), self.load(address)
                is_open = self.compare("eq", known, 1)
                fits = self.op(
                    "or", self.compare("eq", size, known), self.op("or", self.compare("eq", size, 1), is_open)
                )
                self.require(fits, "no")
                self.store(address, self.select(is_open, size, known))
        volume = self.variable(1)
        with self.loop(self.rank) as k:
            self.store(volume, self.op("mul", self.load(volume), self.load(self.at(self.shape, k))))
        return self.load(volume)

    def placed(self) -> None:
        """The strides of each array along the axes of the common size."""
        with self.loop(self.n_in) as i:
            with self.loop(self.rank) as k:
                self.store(self.of(i, k), 0)
            with self.when(self.is_array(self.record(i))):
                rank, lead, dims, strides = self.each_axis(i)
                with self.loop(rank) as d:
                    axis = self.op("add", lead, d)
                    is_one = self.compare("eq", self.load(self.at(dims, d)), 1)
                    is_more = self.compare("ne", self.load(self.at(self.shape, axis)), 1)
                    stride = self.load(self.at(strides, d))
                    kept = self.select(self.op("and", is_one, is_more), word(0), stride)
                    self.store(self.of(i, axis), kept)

    def sort(self) -> None:
        """The axes from the innermost out, as `ops.families.pointwise_layout.arranged` orders them.

        In order, or with channels last, if all arrays lie so, else by their strides."""
        is_known = self.variable(0)
        self.attempt(is_known, lambda k: self.op("sub", self.op("sub", self.rank, k), 1))
        is_image = self.op("and", self.compare("eq", self.rank, 4), self.compare("eq", self.load(is_known), 0))
        with self.when(is_image):
            self.attempt(is_known, lambda k: self.number_at(k, (1, 3, 2, 0)))
        with self.when(self.compare("eq", self.load(is_known), 0)):
            self.sort_by_strides()

    def number_at(self, k: Register, numbers: tuple[int, ...]) -> Register:
        """The number at a place."""
        chosen = word(numbers[-1])
        for index, number in enumerate(numbers[:-1]):
            chosen = self.select(self.compare("eq", k, index), word(number), chosen)
        return chosen

    def attempt(self, is_known: Register, axis_of: Callable[[Register], Register]) -> None:
        """An order, if all arrays have the common size and lie in it without gaps."""
        fits = self.variable(1)
        with self.loop(self.rank) as k:
            self.store(self.at(self.order, k), axis_of(k))
        with self.loop(self.n_in) as i, self.when(self.is_array(self.record(i))):
            rank, lead, dims, _ = self.each_axis(i)
            with self.when(self.compare("sgt", rank, 0)):
                step = self.variable(self.itemsize(i))
                self.store(fits, self.select(self.compare("eq", lead, 0), self.load(fits), word(0)))
                with self.loop(self.rank) as k:
                    axis = self.load(self.at(self.order, k))
                    size = self.load(self.at(self.shape, axis))
                    with self.when(self.compare("eq", lead, 0)):
                        same = self.compare("eq", self.load(self.at(dims, axis)), size)
                        goes_on = self.compare("eq", self.load(self.of(i, axis)), self.load(step))
                        is_good = self.op("and", same, self.op("or", goes_on, self.compare("eq", size, 1)))
                        self.store(fits, self.select(is_good, self.load(fits), word(0)))
                    self.store(step, self.op("mul", self.load(step), size))
        self.store(is_known, self.load(fits))

    def sort_by_strides(self) -> None:
        """As `tensor.layout.elementwise_strides` does."""
        with self.loop(self.rank) as k:
            self.store(self.at(self.order, k), self.op("sub", self.op("sub", self.rank, k), 1))
        with self.loop(self.rank) as i:
            at, goes_on = self.variable(i), self.variable(1)
            with self.loop(i) as back:
                j = self.op("sub", self.op("sub", i, back), 1)
                with self.when(self.compare("eq", self.load(goes_on), 1)):
                    a_place, b_place = self.at(self.order, j), self.at(self.order, self.load(at))
                    a, b = self.load(a_place), self.load(b_place)
                    decision = self.compared(a, b)
                    is_outside = self.compare("sgt", decision, 0)
                    with self.when(is_outside):
                        self.store(a_place, b)
                        self.store(b_place, a)
                        self.store(at, j)
                    self.store(goes_on, self.select(self.compare("slt", decision, 0), word(0), word(1)))

    def compared(self, a: Register, b: Register) -> Register:
        """1 if an axis belongs outside of another, -1 inside, 0 if no array tells."""
        decision = self.variable(0)
        larger = self.compare("sgt", self.load(self.at(self.shape, a)), self.load(self.at(self.shape, b)))
        by_size = self.convert("zext", larger, "i64")
        with self.loop(self.n_in) as i, self.when(self.compare("eq", self.load(decision), 0)):
            own, other = self.load(self.of(i, a)), self.load(self.of(i, b))
            tells = self.op("and", self.compare("ne", own, 0), self.compare("ne", other, 0))
            by_stride = self.select(self.compare("slt", own, other), word(-1), by_size)
            answer = self.select(self.compare("sgt", own, other), word(1), by_stride)
            self.store(decision, self.select(tells, answer, word(0)))
        return self.load(decision)

    def lay_out(self) -> None:
        """Strides of a new result."""
        out_size = self.get(self.of_launch("outputs"), OUTPUT, "bytes")
        step = self.variable(out_size)
        with self.loop(self.rank) as k:
            axis = self.load(self.at(self.order, k))
            self.store(self.at(self.dense, axis), self.load(step))
            self.store(self.of(self.n_in, axis), self.load(step))
            self.store(step, self.op("mul", self.load(step), self.load(self.at(self.shape, axis))))

    def check_target(self) -> None:
        """Whether the target has the common size, may be written to, and shares no memory with the others, except with
        one that lies as it does."""
        target = self.of_launch("target")
        argument = self.argument(target)
        writeable = self.call("is_writeable", argument)
        self.require(writeable, "no")
        rank, _, dims, _ = self.each_axis(target)
        self.require(self.compare("eq", rank, self.rank), "no")
        with self.loop(rank) as d:
            self.require(self.compare("eq", self.load(self.at(dims, d)), self.load(self.at(self.shape, d))), "no")
        reach = self.variable(self.itemsize(target))
        with self.loop(self.rank) as k:
            axis = self.load(self.at(self.order, k))
            size, stride = self.load(self.at(self.shape, axis)), self.load(self.of(target, axis))
            with self.when(self.compare("ne", size, 1)):
                self.require(self.compare("sge", stride, self.load(reach)), "no")
                self.store(reach, self.op("add", self.load(reach), self.op("mul", stride, self.op("sub", size, 1))))
        start, end = self.extent(target)
        with self.loop(self.n_in) as i, self.when(self.is_array(self.record(i))):
            low, high = self.extent(i)
            is_apart = self.op("or", self.compare("sge", low, end), self.compare("sge", start, high))
            same = self.variable(0)
            with self.loop(self.rank) as k:
                differs = self.op("xor", self.load(self.of(i, k)), self.load(self.of(target, k)))
                self.store(same, self.op("or", self.load(same), differs))
            is_same = self.op("and", self.compare("eq", low, start), self.compare("eq", high, end))
            is_same = self.op("and", is_same, self.compare("eq", self.load(same), 0))
            self.require(self.op("or", is_apart, is_same), "no")

    def extent(self, number: Register) -> tuple[Register, Register]:
        """The addresses of an array's first byte, and of that behind its last."""
        data = self.call("data_of", self.argument(number))
        low, high = self.variable(data), self.variable(self.op("add", data, self.itemsize(number)))
        with self.loop(self.rank) as k:
            steps = self.op("sub", self.load(self.at(self.shape, k)), 1)
            way = self.op("mul", self.load(self.of(number, k)), steps)
            for bound, direction in ((low, "smin"), (high, "smax")):
                self.store(bound, self.op("add", self.load(bound), self.intrinsic(direction, way, word(0))))
        return self.load(low), self.load(high)

    def join(self) -> None:
        """Axes that all arrays go on along are one; the innermost is the row."""
        sizes = self.slot(f"[{MOST_RANK} x i64]", 16)
        axes = self.slot(f"[{MOST_RANK} x i64]", 16)
        count = self.variable(0)
        """Axes so far, from the innermost out; of those that became one, the inner one tells the strides."""
        arrays = self.op("add", self.n_in, 1)
        with self.loop(self.rank) as k:
            axis = self.load(self.at(self.order, k))
            size = self.load(self.at(self.shape, axis))
            with self.when(self.compare("ne", size, 1)):
                have = self.load(count)
                last = self.intrinsic("smax", self.op("sub", have, 1), word(0))
                last_axis, last_size = self.load(self.at(axes, last)), self.load(self.at(sizes, last))
                goes_on = self.variable(self.convert("zext", self.compare("sgt", have, 0), "i64"))
                with self.when(self.compare("sgt", have, 0)), self.loop(arrays) as i:
                    expected = self.op("mul", self.load(self.of(i, last_axis)), last_size)
                    same = self.convert("zext", self.compare("eq", expected, self.load(self.of(i, axis))), "i64")
                    is_counted = self.op("or", self.compare("slt", i, self.n_in), self.is_new)
                    same = self.select(is_counted, same, word(1))
                    self.store(goes_on, self.op("and", self.load(goes_on), same))
                joins = self.compare("eq", self.load(goes_on), 1)
                position = self.select(joins, last, have)
                self.store(self.at(sizes, position), self.select(joins, self.op("mul", last_size, size), size))
                self.store(self.at(axes, position), self.select(joins, last_axis, axis))
                self.store(count, self.select(joins, have, self.op("add", have, 1)))
        with self.when(self.compare("eq", self.load(count), 0)):
            self.store(sizes, 1)
            self.store(axes, 0)
            self.store(count, 1)
            with self.when(self.compare("eq", self.rank, 0)), self.loop(arrays) as i:
                self.store(self.of(i, 0), 0)
        outer, rows = self.op("sub", self.load(count), 1), self.variable(1)
        with self.loop(outer) as k:
            size = self.load(self.at(sizes, self.op("sub", outer, k)))
            self.store(self.at(self.words, self.op("add", k, SIZES)), size)
            self.store(rows, self.op("mul", self.load(rows), size))
        with self.loop(arrays) as i:
            base = self.at(self.words, self.op("add", self.op("mul", i, MOST_RANK), STRIDES))
            self.store(base, self.load(self.of(i, self.load(axes))))
            with self.loop(outer) as k:
                axis = self.load(self.at(axes, self.op("sub", outer, k)))
                self.store(self.at(self.at(base, 1), k), self.load(self.of(i, axis)))
        self.finish(self.load(sizes), outer, self.load(rows))
