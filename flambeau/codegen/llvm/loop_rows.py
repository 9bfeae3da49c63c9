"""Programs that go over arrays row by row, as LLVM text: ``rows``, which ``llvm.loops`` has beside ``loops``.

What is laid out along one axis beside the rows, or none, is computed loop after loop, each over all rows, in one call
where nothing is repeated. Columns are rows that lie side by side: there a loop is over the same element of all of them.
Along more axes, all loops are run for one row after the other.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.llvm.builder import FunctionBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.entry_geometry import AXES, LENGTH, MOST_ARRAYS, SIZES, STRIDES, TURNED
from flambeau.codegen.llvm.entry_patterns import MOST_RANK
from flambeau.codegen.llvm.loop_words import ADDRESS, ALL, ONCE, OPERANDS, OWN, PROGRAM, REST, SCRATCH, STEP

_PER_ROW = 8
"""The distance of single elements of rows."""


class ByRows(FunctionBuilder):
    """``rows(block, low, high)``: a program on rows, of which there are ``high``."""

    def build(self) -> None:
        self.words, _, self.count = self.parameters
        program = self.load(self.at(self.words, PROGRAM), "ptr")
        holds = self.call("guards_hold", self.words, program)
        self.require(holds, "no")
        guards, kept = self.load(program), self.load(self.at(program, 1))
        self.program = self.at(program, self.op("add", self.op("mul", guards, 2), 2))
        self.length, self.axes = self.load(self.at(self.words, LENGTH)), self.load(self.at(self.words, AXES))
        self.iterations = self.slot(f"[{MOST_RANK} x i64]", 16)
        self.bases = self.slot(f"[{MOST_ARRAYS + 1} x i64]", 16)
        self.starts, self.inner, self.outer = (self.slot(f"[{OPERANDS} x i64]", 16) for _ in range(3))
        self.dims = self.slot("i64", 8)
        is_flat, self.is_turned = self.compare("sle", self.axes, 1), self.compare("eq", self.axes, TURNED)
        together = self.select(is_flat, self.count, word(1))
        self.row = self.op("mul", self.op("mul", self.length, together), 8)
        self.scratch = self.array("i8", self.op("mul", self.row, kept), 64)
        with self.loop(word(MOST_ARRAYS + 1)) as k:
            self.store(self.at(self.bases, k), self.load(self.at(self.words, k)))
        with self.when(is_flat):
            self.each_step(self.all_rows)
        with self.when(self.negated(is_flat)):
            with self.loop(self.axes) as k:
                self.store(self.at(self.iterations, k), 0)
            with self.loop(self.count):
                self.each_step(self.one_row)
                self.advance()
        self.start("no")
        self.ret()

    def each_step(self, run: Callable[[Register], None]) -> None:
        with self.loop(self.load(self.program)) as k:
            step = self.at(self.at(self.program, 1), self.op("mul", k, STEP))
            self.operands = self.load(self.at(step, 2))
            self.function_at, self.data = self.load(step, "ptr"), self.load(self.at(step, 1), "ptr")
            self.places(step)
            run(self.load(self.at(step, 3)))

    def places(self, step: Register) -> None:
        """Where operands begin, and the distances of their elements in a row and of rows."""
        with self.loop(self.operands) as o:
            pair = self.at(self.at(step, 4), self.op("mul", o, 2))
            at, distance = self.load(pair), self.load(self.at(pair, 1))
            start, inner, outer = self.variable(at), self.variable(distance), self.variable(0)
            with self.when(self.compare("ult", at, SCRATCH)):
                table = self.at(self.words, self.op("add", self.op("mul", self.op("sub", at, 1), MOST_RANK), STRIDES))
                with self.when(self.compare("eq", distance, OWN)):
                    self.store(inner, self.load(table))
                with self.when(self.compare("ne", self.axes, 0)):
                    self.store(outer, self.load(self.at(table, 1)))
                self.store(start, self.load(self.at(self.bases, at)))
            with self.when(self.op("and", self.compare("uge", at, SCRATCH), self.compare("ult", at, ADDRESS))):
                offset = self.op("mul", self.op("sub", at, SCRATCH), self.row)
                self.store(start, self.op("add", self.convert("ptrtoint", self.scratch, "i64"), offset))
                is_one = self.compare("eq", distance, 0)
                far = self.op("mul", distance, self.select(self.is_turned, self.count, self.length))
                many = self.select(self.is_turned, distance, far)
                self.store(outer, self.select(is_one, word(_PER_ROW), many))
                self.store(inner, self.select(self.is_turned, far, distance))
            for slots, value in ((self.starts, start), (self.inner, inner), (self.outer, outer)):
                self.store(self.at(slots, o), self.load(value))

    def run(self, count: Register, steps: Register) -> None:
        """The loop, from where its operands are now."""
        self.store(self.dims, count)
        operands = (self.starts, self.dims, steps, self.data)
        self.call_address(self.function_at, "void (ptr, ptr, ptr, ptr)", *operands)

    def move(self, distances: Register) -> None:
        for o in range(OPERANDS):  # those that there are, and words that nobody reads
            address = self.at(self.starts, o)
            self.store(address, self.op("add", self.load(address), self.load(self.at(distances, o))))

    def one_row(self, iterations: Register) -> None:
        """A loop for one row."""
        is_rest = self.compare("eq", iterations, REST)
        with self.when(is_rest):
            self.move(self.inner)
        many = self.select(is_rest, self.op("sub", self.length, 1), self.length)
        count = self.select(self.compare("eq", iterations, ONCE), word(1), many)
        with self.when(self.compare("sgt", count, 0)):
            self.run(count, self.inner)

    def all_rows(self, iterations: Register) -> None:
        """A loop for all rows: in one call if nothing is repeated, or row by row."""
        goes_on = self.variable(self.convert("zext", self.compare("eq", iterations, ALL), "i64"))
        with self.loop(self.operands) as o:
            near, far = self.load(self.at(self.inner, o)), self.load(self.at(self.outer, o))
            in_rows = self.compare("eq", self.op("mul", near, self.length), far)
            in_columns = self.compare("eq", self.op("mul", far, self.count), near)
            same = self.op("or", self.select(self.is_turned, in_columns, in_rows), self.compare("eq", self.count, 1))
            self.store(goes_on, self.op("and", self.load(goes_on), self.convert("zext", same, "i64")))
        is_one = self.compare("ne", self.load(goes_on), 0)
        is_single = self.compare("eq", iterations, ONCE)
        with self.when(is_one):
            self.run(self.op("mul", self.length, self.count), self.select(self.is_turned, self.outer, self.inner))
        with self.when(is_single):
            self.run(self.count, self.outer)
        with self.when(self.negated(self.op("or", is_one, is_single))):
            is_rest = self.compare("eq", iterations, REST)
            with self.when(is_rest):
                self.move(self.inner)
            count = self.select(is_rest, self.op("sub", self.length, 1), self.length)
            by_columns = self.op("and", self.is_turned, self.compare("sgt", self.operands, 1))
            with self.when(by_columns), self.loop(count):
                self.run(self.count, self.outer)
                self.move(self.inner)
            by_rows = self.op("and", self.compare("sgt", count, 0), self.negated(by_columns))
            with self.when(by_rows), self.loop(self.count):
                self.run(count, self.inner)
                self.move(self.outer)

    def advance(self) -> None:
        """To the next row."""
        carry = self.variable(1)
        with self.loop(self.axes) as back:
            axis = self.op("sub", self.op("sub", self.axes, back), 1)
            with self.when(self.compare("ne", self.load(carry), 0)):
                iteration = self.op("add", self.load(self.at(self.iterations, axis)), 1)
                size = self.load(self.at(self.words, self.op("add", axis, SIZES)))
                is_over = self.compare("eq", iteration, size)
                self.store(self.at(self.iterations, axis), self.select(is_over, word(0), iteration))
                steps = self.select(is_over, self.op("sub", word(1), size), word(1))
                with self.loop(word(MOST_ARRAYS)) as k:
                    table = self.op("add", self.op("mul", k, MOST_RANK), STRIDES + 1)
                    stride = self.load(self.at(self.words, self.op("add", table, axis)))
                    base = self.at(self.at(self.bases, 1), k)
                    self.store(base, self.op("add", self.load(base), self.op("mul", steps, stride)))
                self.store(carry, self.convert("zext", is_over, "i64"))
