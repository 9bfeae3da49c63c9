"""The native entries of kernels that give a tensor's elements in new memory, row-major: as they are, without those of a
triangle, or with a number where a mask holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_CONTIGUOUS
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.codegen.llvm.picked_arrays import go_on, product_of_sizes
from flambeau.codegen.llvm.strided_copies import MOST_AXES
from flambeau.codegen.llvm.tensor_entry import TensorEntry, any_entry

COPIES: Final = ("dense", "tril", "triu", "masked_fill")
_ANYWHERE: Final = ", align 1"


def add_copied(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add the functions called ``COPIES``, each for plain tensors and for any; ``copy_axes`` and ``new_filled`` are
    there already."""
    _add_fill_line(m, "float")
    _add_fill_line(m, "double")
    _add_triangle(m)
    for is_plain in (True, False):
        for name in COPIES:
            _Copy(m, layouts, is_plain=is_plain).build(name, name if is_plain else any_entry(name))


def _add_fill_line(m: ModuleBuilder, element: str) -> None:
    """``fill_float(target, source, mask, n, step, number)``: so many elements, or a number where a mask holds whose
    elements are so many bytes apart."""
    f = m.function(
        f"void fill_{element}", "ptr target", "ptr source", "ptr mask", "i64 n", "i64 step", f"{element} number"
    )
    target, source, mask, n, step, number = f.parameters

    def line(at: Callable[[Value], Value]) -> None:
        with f.loop(n) as k:
            holds = f.compare("ne", f.load(at(k), "i8", access=_ANYWHERE), 0)
            value = f.load(f.at(source, k, element), element, access=_ANYWHERE)
            f.store(f.at(target, k, element), f.select(holds, number, value), access=_ANYWHERE)

    with f.when(f.compare("eq", step, 1)):
        line(lambda k: f.at(mask, k, "i8"))
        f.ret()
    line(lambda k: f.at(mask, f.op("mul", k, step), "i8"))
    f.ret()


def _clear(f: FunctionBuilder, target: Value, count: Value) -> None:
    f.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    f.raw(f"call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {count}, i1 false)")


def _add_triangle(m: ModuleBuilder) -> None:
    """``triangle(target, source, matrices, rows, columns, first, item, is_upper)``: matrices row-major, with zeros
    before the column `first` of the first row, and one further on in each row; or from there on."""
    f = m.function(
        "void triangle", "ptr target", "ptr source", "i64 matrices", "i64 rows", "i64 columns", "i64 first", "i64 item",
        "i1 is_upper",
    )  # fmt: skip
    target, source, matrices, rows, columns, first, item, is_upper = f.parameters
    run = f.op("mul", columns, item)
    with f.loop(matrices) as number, f.loop(rows) as row:
        at = f.op("mul", f.op("add", f.op("mul", number, rows), row), run)
        to, come = f.at(target, at, "i8"), f.at(source, at, "i8")
        column = f.op("add", first, row)
        column = f.pick(f.compare("slt", column, 0), 0, column)
        cut = f.op("mul", f.pick(f.compare("sgt", column, columns), columns, column), item)
        rest = f.op("sub", run, cut)
        start, count = f.pick(is_upper, cut, 0), f.pick(is_upper, rest, cut)
        f.copy(f.at(to, start, "i8"), f.at(come, start, "i8"), count)
        _clear(f, f.at(to, f.pick(is_upper, 0, cut), "i8"), f.pick(is_upper, cut, rest))
    f.ret()


class _Copy(TensorEntry):
    """The building of a function that gives elements of its first argument in new memory."""

    def build(self, kernel: str, name: str) -> None:
        """Look at the arguments, make the result, fill it."""
        count = {"dense": 2, "tril": 2, "triu": 2, "masked_fill": 3}[kernel]
        f, args, _ = self.start(name, count)
        source, *values = [f.word_of(args, k, "ptr") for k in range(count)]
        array = self.real_array(f, source)
        rank = self.rank(f, array)
        f.require(f.compare("ule", rank, MOST_AXES), "slow")
        flags = f.op("and", f.get(array, self.layouts.array, "flags"), C_CONTIGUOUS)
        f.require(f.compare("eq" if kernel == "dense" else "ne", flags, 0), "slow")
        if kernel == "dense":
            result = self.dense(f, array, rank, values[0])
        elif kernel == "masked_fill":
            result = self.masked_fill(f, array, rank, values)
        else:
            result = self.triangle(f, array, rank, values[0], is_upper=kernel == "triu")
        self.deliver(f, result)

    def new(self, f: FunctionBuilder, array: Value, rank: Value) -> Value:
        """A new array like one, row-major."""
        descr, sizes = (f.get(array, self.layouts.array, name) for name in ("descr", "dims"))
        result = f.call("new_filled", descr, rank, sizes)
        f.require(f.compare("ne", result, NULL), "slow")
        return result

    def data(self, f: FunctionBuilder, array: Value) -> Value:
        """Where the elements of an array begin."""
        return f.get(array, self.layouts.array, "data")

    def dense(self, f: FunctionBuilder, array: Value, rank: Value, memory_format: Value) -> Value:
        """The elements in order."""
        f.require(f.compare("eq", self.number(f, memory_format), 0), "slow")
        result = self.new(f, array, rank)
        item = f.call("bytes_of", f.get(array, self.layouts.array, "descr"))
        sizes, steps = (f.get(array, self.layouts.array, name) for name in ("dims", "strides"))
        mine = f.get(result, self.layouts.array, "strides")
        f.call("copy_axes", self.data(f, result), self.data(f, array), rank, sizes, mine, steps, item)
        return result

    def triangle(self, f: FunctionBuilder, array: Value, rank: Value, diagonal: Value, *, is_upper: bool) -> Value:
        """Matrices without what is on the other side of a diagonal."""
        first = self.number(f, diagonal)
        f.require(f.compare("uge", rank, 2), "slow")
        sizes = f.get(array, self.layouts.array, "dims")
        rows, columns = (f.word_of(sizes, f.op("sub", rank, k)) for k in (2, 1))
        least = f.op("sub", word(0), rows)
        first = f.pick(f.compare("slt", first, least), least, first)
        first = f.pick(f.compare("sgt", first, columns), columns, first)
        result = self.new(f, array, rank)
        item = f.call("bytes_of", f.get(array, self.layouts.array, "descr"))
        matrices = product_of_sizes(f, sizes, 0, f.op("sub", rank, 2))
        cut = first if is_upper else f.op("add", first, 1)
        which = f.compare("eq", word(int(is_upper)), 1)
        f.call("triangle", self.data(f, result), self.data(f, array), matrices, rows, columns, cut, item, which)
        return result

    def masked_fill(self, f: FunctionBuilder, array: Value, rank: Value, values: list[Value]) -> Value:
        """The elements, or a number where a mask holds that has the sizes, or is broadcast to them."""
        mask = self.real_array(f, values[0])
        is_mask = f.compare("eq", f.get(mask, self.layouts.array, "descr"), self.m.symbol("bool_descr"))
        f.require(f.op("and", is_mask, f.compare("ne", rank, 0)), "slow")
        number = self.real_number(f, values[1])
        descr = f.get(array, self.layouts.array, "descr")
        is_single = f.compare("eq", descr, self.m.symbol("float32_descr"))
        f.require(f.op("or", is_single, f.compare("eq", descr, self.m.symbol("float64_descr"))), "slow")
        narrow = f.convert("fptrunc", number, "float")
        infinity = float_constant(float("inf"), "double", 1)
        lost = f.op(
            "and",
            f.fcmp("oeq", f.fabs(f.convert("fpext", narrow, "double")), infinity),
            f.fcmp("one", f.fabs(number), infinity),
        )
        f.require(f.negated(f.op("and", is_single, lost)), "slow")
        steps = self.mask_steps(f, array, rank, mask)
        result = self.new(f, array, rank)
        self.fill(f, (result, array, mask), steps, rank, is_single, (narrow, number))
        return result

    def real_number(self, f: FunctionBuilder, value: Value) -> Value:
        """A float or an int of Python's as a double; goes to ``slow`` for all else."""
        return f.choose(
            self.is_a(f, value, "float_type"),
            lambda: f.get(value, self.layouts.float, "value"),
            lambda: f.convert("sitofp", self.number(f, value), "double"),
        )

    def mask_steps(self, f: FunctionBuilder, array: Value, rank: Value, mask: Value) -> Value:
        """How far apart elements of the mask are along the axes of an array, whose sizes it must not change."""
        missing = f.op("sub", rank, self.rank(f, mask))
        f.require(f.compare("sge", missing, 0), "slow")
        sizes = f.get(array, self.layouts.array, "dims")
        mine, strides = (f.get(mask, self.layouts.array, name) for name in ("dims", "strides"))
        steps = f.slot(f"[{MOST_AXES} x i64]", 8)
        f.clear(steps, MOST_AXES)
        with f.loop(self.rank(f, mask)) as k:
            axis = f.op("add", k, missing)
            size = f.word_of(mine, k)
            is_one = f.compare("eq", size, 1)
            f.require(f.op("or", is_one, f.compare("eq", size, f.word_of(sizes, axis))), "slow")
            f.set_word(steps, axis, f.pick(is_one, 0, f.word_of(strides, k)))
        return steps

    def fill(
        self, f: FunctionBuilder, arrays: tuple[Value, Value, Value], steps: Value, rank: Value, is_single: Value,
        numbers: tuple[Value, Value],
    ) -> None:  # fmt: skip
        """Fill all lines of the result."""
        to, come, mask = (self.data(f, array) for array in arrays)
        sizes = f.get(arrays[1], self.layouts.array, "dims")
        last = f.op("sub", rank, 1)
        n, step = f.word_of(sizes, last), f.word_of(steps, last)
        run = f.op("mul", n, f.pick(is_single, 4, 8))
        counts, there = f.slot(f"[{MOST_AXES} x i64]", 8), f.variable(word(0))
        f.clear(counts, MOST_AXES)
        with f.loop(product_of_sizes(f, sizes, 0, last)) as row:
            at = f.op("mul", row, run)
            line = f.at(to, at, "i8"), f.at(come, at, "i8"), f.at(mask, f.load(there), "i8"), n, step
            single, double, done = f.label("single"), f.label("double"), f.label("filled")
            f.branch_if(is_single, single, double)
            for label, name, number in ((single, "fill_float", numbers[0]), (double, "fill_double", numbers[1])):
                f.start(label, falls_through=False)
                f.call(name, *line, number)
                f.branch(done)
            f.start(done, falls_through=False)
            go_on(f, counts, last, sizes, ((there, steps),))
