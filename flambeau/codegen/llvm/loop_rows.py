"""Programs that go over arrays row by row, as LLVM text: ``rows``, which ``llvm.loops`` has beside ``loops``.

What is laid out along one axis beside the rows, or none, is computed loop after loop, each over all rows, in one call
where nothing is repeated. Columns are rows that lie side by side: there a loop is over the same element of all of them.
Along more axes, all loops are run for one row after the other.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.entry_geometry import AXES, LENGTH, MOST_ARRAYS, SIZES, STRIDES, TURNED
from flambeau.codegen.llvm.entry_patterns import MOST_RANK
from flambeau.codegen.llvm.entry_words import Function
from flambeau.codegen.llvm.loop_words import ADDRESS, ALL, ONCE, OPERANDS, OWN, PROGRAM, REST, SCRATCH, STEP

_PER_ROW = 8
"""The distance of single elements of rows."""


def _true(text: str = "true") -> Register:
    return Register(text, "i1", 1)


class ByRows(Function):
    """``rows(block, low, high)``: a program on rows, of which there are ``high``."""

    def text(self) -> str:
        e = self.e
        self.block, self.count = Register("%block", "ptr", 1), Register("%high", "i64", 1)
        program = self.get(self.at(self.block, PROGRAM), "ptr")
        holds = e.define(f"call i1 @guards_hold(ptr {self.block}, ptr {program})", "i1", 1)
        self.require(holds, "no")
        guards, kept = self.get(program), self.get(self.at(program, 1))
        self.program = self.at(program, self.op("add", self.op("mul", guards, 2), 2))
        self.length, self.axes = self.get(self.at(self.block, LENGTH)), self.get(self.at(self.block, AXES))
        self.iterations = e.slot(f"[{MOST_RANK} x i64]", 16)
        self.bases = e.slot(f"[{MOST_ARRAYS + 1} x i64]", 16)
        self.starts, self.inner, self.outer = (e.slot(f"[{OPERANDS} x i64]", 16) for _ in range(3))
        self.dims = e.slot("i64", 8)
        is_flat, self.is_turned = self.is_("sle", self.axes, 1), self.is_("eq", self.axes, TURNED)
        together = e.select(is_flat, self.count, self.const(1))
        self.row = self.op("mul", self.op("mul", self.length, together), 8)
        self.scratch = e.define(f"alloca i8, i64 {self.op('mul', self.row, kept)}, align 64", "ptr", 1)
        with self.times(self.const(MOST_ARRAYS + 1)) as k:
            self.put(self.at(self.bases, k), self.get(self.at(self.block, k)))
        with self.when(is_flat):
            self.each_step(self.all_rows)
        with self.when(self.op("xor", is_flat, _true())):
            with self.times(self.axes) as k:
                self.put(self.at(self.iterations, k), 0)
            with self.times(self.count):
                self.each_step(self.one_row)
                self.advance()
        e.branch("no")
        e.start("no")
        e.raw("ret void")
        return self.function("void @rows(ptr %block, i64 %low, i64 %high)").replace("define internal", "define", 1)

    def each_step(self, run: Callable[[Register], None]) -> None:
        with self.times(self.get(self.program)) as k:
            step = self.at(self.at(self.program, 1), self.op("mul", k, STEP))
            self.operands = self.get(self.at(step, 2))
            self.function_at, self.data = self.get(step, "ptr"), self.get(self.at(step, 1), "ptr")
            self.places(step)
            run(self.get(self.at(step, 3)))

    def places(self, step: Register) -> None:
        """Where operands begin, and the distances of their elements in a row and of rows."""
        e = self.e
        with self.times(self.operands) as o:
            pair = self.at(self.at(step, 4), self.op("mul", o, 2))
            at, distance = self.get(pair), self.get(self.at(pair, 1))
            start, inner, outer = self.slot(at), self.slot(distance), self.slot(0)
            with self.when(self.is_("ult", at, SCRATCH)):
                table = self.at(self.block, self.op("add", self.op("mul", self.op("sub", at, 1), MOST_RANK), STRIDES))
                with self.when(self.is_("eq", distance, OWN)):
                    self.put(inner, self.get(table))
                with self.when(self.is_("ne", self.axes, 0)):
                    self.put(outer, self.get(self.at(table, 1)))
                self.put(start, self.get(self.at(self.bases, at)))
            with self.when(self.op("and", self.is_("uge", at, SCRATCH), self.is_("ult", at, ADDRESS))):
                offset = self.op("mul", self.op("sub", at, SCRATCH), self.row)
                self.put(start, self.op("add", e.convert("ptrtoint", self.scratch, "i64"), offset))
                is_one = self.is_("eq", distance, 0)
                far = self.op("mul", distance, e.select(self.is_turned, self.count, self.length))
                many = e.select(self.is_turned, distance, far)
                self.put(outer, e.select(is_one, self.const(_PER_ROW), many))
                self.put(inner, e.select(self.is_turned, far, distance))
            for held, value in ((self.starts, start), (self.inner, inner), (self.outer, outer)):
                self.put(self.at(held, o), self.get(value))

    def run(self, count: Register, steps: Register) -> None:
        """The loop, from where its operands are now."""
        self.put(self.dims, count)
        self.e.raw(f"call void {self.function_at}(ptr {self.starts}, ptr {self.dims}, ptr {steps}, ptr {self.data})")

    def move(self, distances: Register) -> None:
        for o in range(OPERANDS):  # those that there are, and words that nobody reads
            place = self.at(self.starts, o)
            self.put(place, self.op("add", self.get(place), self.get(self.at(distances, o))))

    def one_row(self, iterations: Register) -> None:
        """A loop for one row."""
        is_rest = self.is_("eq", iterations, REST)
        with self.when(is_rest):
            self.move(self.inner)
        many = self.e.select(is_rest, self.op("sub", self.length, 1), self.length)
        count = self.e.select(self.is_("eq", iterations, ONCE), self.const(1), many)
        with self.when(self.is_("sgt", count, 0)):
            self.run(count, self.inner)

    def all_rows(self, iterations: Register) -> None:
        """A loop for all rows: in one call if nothing is repeated, or row by row."""
        e = self.e
        goes_on = self.slot(e.convert("zext", self.is_("eq", iterations, ALL), "i64"))
        with self.times(self.operands) as o:
            near, far = self.get(self.at(self.inner, o)), self.get(self.at(self.outer, o))
            in_rows = self.is_("eq", self.op("mul", near, self.length), far)
            in_columns = self.is_("eq", self.op("mul", far, self.count), near)
            same = self.op("or", e.select(self.is_turned, in_columns, in_rows), self.is_("eq", self.count, 1))
            self.put(goes_on, self.op("and", self.get(goes_on), e.convert("zext", same, "i64")))
        is_one = self.is_("ne", self.get(goes_on), 0)
        is_single = self.is_("eq", iterations, ONCE)
        with self.when(is_one):
            self.run(self.op("mul", self.length, self.count), e.select(self.is_turned, self.outer, self.inner))
        with self.when(is_single):
            self.run(self.count, self.outer)
        with self.when(self.op("xor", self.op("or", is_one, is_single), _true())):
            is_rest = self.is_("eq", iterations, REST)
            with self.when(is_rest):
                self.move(self.inner)
            count = e.select(is_rest, self.op("sub", self.length, 1), self.length)
            by_columns = self.op("and", self.is_turned, self.is_("sgt", self.operands, 1))
            with self.when(by_columns), self.times(count):
                self.run(self.count, self.outer)
                self.move(self.inner)
            by_rows = self.op("and", self.is_("sgt", count, 0), self.op("xor", by_columns, _true()))
            with self.when(by_rows), self.times(self.count):
                self.run(count, self.inner)
                self.move(self.outer)

    def advance(self) -> None:
        """To the next row."""
        e = self.e
        carry = self.slot(1)
        with self.times(self.axes) as back:
            axis = self.op("sub", self.op("sub", self.axes, back), 1)
            with self.when(self.is_("ne", self.get(carry), 0)):
                iteration = self.op("add", self.get(self.at(self.iterations, axis)), 1)
                size = self.get(self.at(self.block, self.op("add", axis, SIZES)))
                is_over = self.is_("eq", iteration, size)
                self.put(self.at(self.iterations, axis), e.select(is_over, self.const(0), iteration))
                steps = e.select(is_over, self.op("sub", self.const(1), size), self.const(1))
                with self.times(self.const(MOST_ARRAYS)) as k:
                    table = self.op("add", self.op("mul", k, MOST_RANK), STRIDES + 1)
                    stride = self.get(self.at(self.block, self.op("add", table, axis)))
                    base = self.at(self.at(self.bases, 1), k)
                    self.put(base, self.op("add", self.get(base), self.op("mul", steps, stride)))
                self.put(carry, e.convert("zext", is_over, "i64"))
