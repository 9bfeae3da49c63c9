"""Launches that a program makes for a call's sizes and strides: what native code does with such programs, as LLVM text.

A routine's launch points to words and tables that follow from sizes in many steps. The steps were recorded when Python
made such a launch (`routines.recording`), as a program over registers of 64 bits, which native code runs for a call of
other sizes:

    head          HEAD
    equal         of each: an input, which of its numbers, what it must be
    inputs        of each: an input, which of its numbers; they become registers, behind `AREAS`
    constants     the last registers
    image         what the first area of the launch's memory holds at first
    instructions  the operation, the register of its result, three registers

A number of an input is a dimension, or a stride for one from `STRIDES` on. A condition that was true when the program
was recorded is an instruction too: a call of which it is not true needs another program.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from flambeau.codegen.layouts import CELL, INPUT, WORD, words_layout
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value

HEAD: Final = words_layout("i64 registers, i64 equal, i64 inputs, i64 constants, i64 image")
"""How many there are of each; words of the image."""
PROGRAM: Final = words_layout("ptr next, ptr words, ptr records, i64 n")
"""A program among those of a kernel: the next one, its words, the records of its inputs, how many these are."""
STRIDES: Final = 64
"""What numbers of inputs that are strides begin with."""
AREAS: Final = 2
"""Registers with the addresses of the memory's first area, whose size is the image's, and of the second."""
MOST_REGISTERS: Final = 1 << 12
STEP: Final = 5
"""Words of an instruction."""


class Op(IntEnum):
    """What instructions do; numbers of floats are registers with their bits."""

    __hash__ = int.__hash__

    END = 0
    ADD = 1
    SUB = 2
    MUL = 3
    FLOOR_DIVIDE = 4
    MODULO = 5
    LESS = 6
    LESS_OR_EQUAL = 7
    EQUAL = 8
    SELECT = 9
    """The second of three registers if the first is not 0, else the third."""
    REQUIRE = 10
    """The launch is one for other sizes unless both registers are equal."""
    FLOAT = 11
    BITS_OF_SINGLE = 22
    """The bits of a float as one of 32."""
    FLOAT_ADD = 12
    FLOAT_SUB = 13
    FLOAT_MUL = 14
    FLOAT_DIVIDE = 15
    FLOAT_LESS = 16
    FLOAT_LESS_OR_EQUAL = 17
    FLOAT_EQUAL = 18
    ALLOCATE = 19
    """The launch's memory, with so many bytes in the second area."""
    STORE = 20
    """At an address, a word."""
    FILL_SHORT = 21
    FILL_LONG = 23
    """At an address, `FILLING` in the registers from one on, as ints of 32 bits or of 64."""


FILLING: Final = ("outer", "inner", "first", "outer_step", "inner_step", "outer_apart", "inner_apart")
"""How many numbers there are, two loops' counts; the first one, how much each is more than the one before; bytes from
one to the next."""
_ARITHMETIC: Final = {Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul"}
_COMPARISONS: Final = {Op.LESS: "slt", Op.LESS_OR_EQUAL: "sle", Op.EQUAL: "eq"}
_FLOATS: Final = {
    Op.FLOAT_ADD: "fadd", Op.FLOAT_SUB: "fsub", Op.FLOAT_MUL: "fmul", Op.FLOAT_DIVIDE: "fdiv",
}  # fmt: skip
_FLOAT_COMPARISONS: Final = {Op.FLOAT_LESS: "olt", Op.FLOAT_LESS_OR_EQUAL: "ole", Op.FLOAT_EQUAL: "oeq"}


def add_recorded(m: ModuleBuilder, allocate: str) -> None:
    """Add ``recorded_launch(cell, arguments, n)``: the launch that a program makes for a call, in memory that the
    caller gives back; null where none does. It asks ``looks_like``, ``dims_of`` and ``strides_of``, and imports
    `allocate`.
    """
    m.special(_Run, "ptr run_program", "ptr words", "ptr records", "ptr arguments").build(allocate)
    f = m.function("ptr recorded_launch", "ptr cell", "ptr arguments", "i64 n", attributes="noinline")
    cell, arguments, n = f.parameters
    first = f.load_acquire(f.field(cell, CELL, "programs"))
    chain = f.follow(first, lambda one: f.load_acquire(f.field(one, PROGRAM, "next")))
    with chain as one:
        words, records = f.get(one, PROGRAM, "words"), f.get(one, PROGRAM, "records")
        f.require(f.compare("eq", n, f.get(one, PROGRAM, "n")), chain.next)
        with f.loop(n) as k:
            record = f.at(records, f.op("mul", k, INPUT.words))
            f.require(f.call("looks_like", f.word_of(arguments, k, "ptr"), record), chain.next)
        launch = f.call("run_program", words, records, arguments)
        f.return_unless(f.is_null(launch), launch)
    f.ret(NULL)


class _Run(FunctionBuilder):
    """``run_program(words, records, arguments)``."""

    def build(self, allocate: str) -> None:
        """The function, with the name of what gives memory."""
        self.allocate_name = allocate
        words, self.records, self.arguments = self.parameters
        head = {name: self.get(words, HEAD, name) for name in HEAD.fields}
        equal = self.at(words, HEAD.words)
        with self.loop(head["equal"]) as k:
            row = self.at(equal, self.op("mul", k, 3))
            number = self.number_of(self.word_of(row, 0), self.word_of(row, 1))
            self.require(self.compare("eq", number, self.word_of(row, 2)), "no")
        self.registers = self.array("i64", head["registers"], 16)
        inputs = self.at(equal, self.op("mul", head["equal"], 3))
        with self.loop(head["inputs"]) as k:
            row = self.at(inputs, self.op("mul", k, 2))
            number = self.number_of(self.word_of(row, 0), self.word_of(row, 1))
            self.set_word(self.registers, self.op("add", k, AREAS), number)
        constants = self.at(inputs, self.op("mul", head["inputs"], 2))
        behind = self.op("sub", head["registers"], head["constants"])
        self.copy(self.at(self.registers, behind), constants, self.op("mul", head["constants"], WORD), WORD)
        self.image = self.at(constants, head["constants"])
        self.image_words = head["image"]
        self.memory = self.slot("ptr", 8)
        self.store(self.memory, NULL)
        self.steps(self.at(self.image, head["image"]))
        self.start("no", falls_through=False)
        self.ret(NULL)

    def number_of(self, index: Value, number: Value) -> Value:
        """A dimension of an input, or a stride."""
        argument = self.word_of(self.arguments, index, "ptr")
        record = self.at(self.records, self.op("mul", index, INPUT.words))
        is_stride = self.compare("sge", number, STRIDES)

        def stride() -> Value:
            strides = self.call("strides_of", argument, self.get(record, INPUT, "rank"))
            return self.word_of(strides, self.op("sub", number, STRIDES))

        return self.choose(is_stride, stride, lambda: self.word_of(self.call("dims_of", argument), number))

    def steps(self, first: Value) -> None:
        """All instructions, up to the one that ends."""
        before, head, after = self.block, self.label("step"), self.label("next")
        self.start(head)
        here = Value(self.name("here"), "ptr", 1)
        line = len(self.lines)
        self.lines.append("")
        self.destination = self.word_of(here, 1)
        self.operands = [self.word_of(here, k) for k in (2, 3, 4)]
        labels = {int(op): self.label(op.name.lower()) for op in Op}
        self.switch(self.load(here), "no", labels)
        for op in Op:
            self.start(labels[int(op)], falls_through=False)
            if op is Op.END:
                self.ret(self.load(self.memory, "ptr"))
                continue
            self.step(op)
            self.branch(after)
        self.start(after, falls_through=False)
        following = self.at(here, STEP)
        self.lines[line] = f"  {here} = phi ptr [{first}, %{before}], [{following}, %{after}]"
        self.branch(head)

    def operand(self, k: int) -> Value:
        """A register's number."""
        return self.word_of(self.registers, self.operands[k])

    def float_operand(self, k: int) -> Value:
        """A register's float."""
        return self.load(self.at(self.registers, self.operands[k]), "double")

    def put_result(self, value: Value) -> None:
        """Write the result's register."""
        self.store(self.at(self.registers, self.destination), value)

    def step(self, op: Op) -> None:
        """One instruction."""
        if op in _ARITHMETIC:
            self.put_result(self.op(_ARITHMETIC[op], self.operand(0), self.operand(1)))
        elif op in _COMPARISONS:
            self.put_result(self.flag(self.compare(_COMPARISONS[op], self.operand(0), self.operand(1))))
        elif op in _FLOATS:
            a, b = self.float_operand(0), self.float_operand(1)
            self.put_result(self.define(f"{_FLOATS[op]} double {a}, {b}", "double"))
        elif op in _FLOAT_COMPARISONS:
            a, b = self.float_operand(0), self.float_operand(1)
            self.put_result(self.flag(self.define(f"fcmp {_FLOAT_COMPARISONS[op]} double {a}, {b}", "i1")))
        else:
            _OTHERS[op](self)

    def flag(self, condition: Value) -> Value:
        """A condition as a number."""
        return self.convert("zext", condition, "i64")

    def divide(self, *, gives_rest: bool) -> None:
        """Division that rounds down, by what is above 0; other sizes need another program."""
        a, b = self.operand(0), self.operand(1)
        self.require(self.compare("sgt", b, 0), "no")
        rest = self.op("srem", a, b)
        is_below = self.compare("slt", rest, 0)
        if gives_rest:
            self.put_result(self.pick(is_below, self.op("add", rest, b), rest))
        else:
            self.put_result(self.op("sub", self.op("sdiv", a, b), self.flag(is_below)))

    def choose_one(self) -> None:
        """`Op.SELECT`."""
        self.put_result(self.pick(self.compare("ne", self.operand(0), 0), self.operand(1), self.operand(2)))

    def require_equal(self) -> None:
        """`Op.REQUIRE`; it comes before the launch has memory."""
        self.require(self.compare("eq", self.operand(0), self.operand(1)), "no")

    def to_float(self) -> None:
        """`Op.FLOAT`."""
        self.put_result(self.define(f"sitofp i64 {self.operand(0)} to double", "double"))

    def to_single(self) -> None:
        """`Op.BITS_OF_SINGLE`."""
        single = self.define(f"fptrunc double {self.float_operand(0)} to float", "float")
        bits = self.define(f"bitcast float {single} to i32", "i32")
        self.put_result(self.convert("sext", bits, "i64"))

    def allocate(self) -> None:
        """`Op.ALLOCATE`."""
        size = self.op("mul", self.image_words, WORD)
        memory = self.call(self.allocate_name, self.op("add", size, self.operand(0)))
        self.require(self.negated(self.is_null(memory)), "no")
        self.copy(memory, self.image, size, WORD)
        self.store(self.memory, memory)
        areas = memory, self.at(memory, size, "i8")
        for number, area in enumerate(areas):
            self.set_word(self.registers, number, self.define(f"ptrtoint ptr {area} to i64", "i64"))

    def store_word(self) -> None:
        """`Op.STORE`."""
        self.store(self.address(), self.operand(1))

    def address(self) -> Value:
        """The address in the first register."""
        return self.define(f"inttoptr i64 {self.operand(0)} to ptr", "ptr")

    def fill(self, kind: str) -> None:
        """`Op.FILL_SHORT`, `Op.FILL_LONG`."""
        words = self.at(self.registers, self.operands[1])
        get = {name: self.word_of(words, k) for k, name in enumerate(FILLING)}
        base = self.address()
        outer = self.loop(get["outer"], get["first"], word(0))
        with outer:
            first, at = outer.values
            inner = self.loop(get["inner"], first, at)
            with inner:
                number, to = inner.values
                value = self.convert("trunc", number, kind) if kind == "i32" else number
                self.store(self.at(base, to, "i8"), value)
                inner.carry(self.op("add", number, get["inner_step"]), self.op("add", to, get["inner_apart"]))
            outer.carry(self.op("add", first, get["outer_step"]), self.op("add", at, get["outer_apart"]))


_OTHERS: Final[dict[Op, Callable[[_Run], None]]] = {
    Op.FLOOR_DIVIDE: lambda run: run.divide(gives_rest=False),
    Op.MODULO: lambda run: run.divide(gives_rest=True),
    Op.SELECT: _Run.choose_one,
    Op.REQUIRE: _Run.require_equal,
    Op.FLOAT: _Run.to_float,
    Op.BITS_OF_SINGLE: _Run.to_single,
    Op.ALLOCATE: _Run.allocate,
    Op.STORE: _Run.store_word,
    Op.FILL_SHORT: lambda run: run.fill("i32"),
    Op.FILL_LONG: lambda run: run.fill("i64"),
}
