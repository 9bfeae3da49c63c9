"""Instructions of one function whose types and blocks are checked while they are written: see `llvm.builder`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from flambeau.codegen.layouts import Layout
from flambeau.codegen.llvm.emitter import Emitter, Target, Value, int_constant

NULL = Value("null", "ptr", 1)
TRUE, FALSE = Value("true", "i1", 1), Value("false", "i1", 1)
Operand = Value | int
"""A value; an int stands for a literal of the type that is needed there."""


class BuildError(Exception):
    """An instruction that LLVM would refuse."""


def word(value: int) -> Value:
    """A 64-bit literal."""
    return int_constant(value, "i64", 1)


class CheckedEmitter(Emitter):
    """The instructions of a function: raises `BuildError` for what LLVM would refuse."""

    def __init__(
        self, declarations: dict[str, None], heading: str, result: str, parameters: Sequence[Value]
    ) -> None:
        super().__init__(Target(), declarations=declarations)
        self.heading = heading
        self.result = result
        self.parameters = tuple(parameters)
        self._is_open = True
        """Whether the current block has no end yet."""

    def access_note(self) -> str:
        """What loads and stores say of themselves behind the address."""
        return ""

    def text(self) -> str:
        """The text of the function."""
        if self._is_open:
            raise BuildError(f"{self.heading}: the block {self.block} has no end")
        return "\n".join([self.heading, "entry:", *self.entry, *self.lines, "}"])

    # -- checked operands ---------------------------------------------------------------------------------------------

    def typed(self, operand: Operand, kind: str) -> Value:
        """An operand where a type is needed."""
        if isinstance(operand, int):
            return int_constant(operand, kind, 1)
        if operand.full_type != kind:
            raise BuildError(f"{self.heading}: {operand} is {operand.full_type}, not {kind}")
        return operand

    def raw(self, text: str) -> None:
        """An instruction as text."""
        if not self._is_open:
            raise BuildError(f"{self.heading}: an instruction behind the end of {self.block}: {text}")
        self.lines.append("  " + text)

    def define(self, text: str, element: str, lanes: int = 1) -> Value:
        """An instruction as text, and its result."""
        if not self._is_open:
            raise BuildError(f"{self.heading}: an instruction behind the end of {self.block}: {text}")
        self.counter += 1
        self.lines.append(f"  %v{self.counter} = {text}")
        return Value(f"%v{self.counter}", element, lanes)

    def op(self, name: str, a: Value, b: Operand) -> Value:
        """Arithmetic: ``add``, ``and``, ``shl`` and their like."""
        return self.binary(name, a, self.typed(b, a.full_type))

    def compare(self, predicate: str, a: Value, b: Operand) -> Value:
        """A comparison of ints or addresses."""
        return self.icmp(predicate, a, self.typed(b, a.full_type))

    def is_null(self, address: Value) -> Value:
        """Whether an address is null."""
        return self.compare("eq", address, NULL)

    def negated(self, condition: Value) -> Value:
        """The opposite of a condition."""
        return self.op("xor", condition, TRUE)

    def all_of(self, *conditions: Value) -> Value:
        """Whether all conditions hold; each is computed."""
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.op("and", result, condition)
        return result

    def pick(self, condition: Value, a: Operand, b: Operand, kind: str = "i64") -> Value:
        """One of two values."""
        return self.select(self.typed(condition, "i1"), self.typed(a, kind), self.typed(b, kind))

    # -- memory -------------------------------------------------------------------------------------------------------

    def at(self, base: Value, index: Operand, element: str = "i64") -> Value:
        """The address of an element of an array; of words where nothing else is said."""
        if index == 0:
            return base
        number = index if isinstance(index, int) else self.typed(index, "i64")
        return self.define(f"getelementptr {element}, ptr {self.typed(base, 'ptr')}, i64 {number}", "ptr")

    def load(self, address: Value, kind: str = "i64", access: str = "") -> Value:
        """What is in memory; ``access`` is what the load says of itself, if not what all of the module say."""
        return self.define(f"load {kind}, ptr {self.typed(address, 'ptr')}{access or self.access_note()}", kind)

    def load_acquire(self, address: Value) -> Value:
        """An address that another thread may just have published."""
        return self.define(f"load atomic ptr, ptr {self.typed(address, 'ptr')} acquire, align 8", "ptr")

    def store(self, address: Value, value: Operand, kind: str = "", access: str = "") -> None:
        """Write to memory."""
        value = self.typed(value, kind or (value.full_type if isinstance(value, Value) else "i64"))
        self.raw(f"store {value.full_type} {value}, ptr {self.typed(address, 'ptr')}{access or self.access_note()}")

    def clear(self, address: Value, words: int) -> None:
        """Set words to 0."""
        self.raw(f"store [{words} x i64] zeroinitializer, ptr {self.typed(address, 'ptr')}")

    def word_of(self, base: Value, index: Operand, kind: str = "i64") -> Value:
        """A word of an array of words."""
        return self.load(self.at(base, index), kind)

    def set_word(self, base: Value, index: Operand, value: Operand) -> None:
        """Write a word of an array of words."""
        self.store(self.at(base, index), value)

    def field(self, base: Value, layout: Layout, name: str) -> Value:
        """The address of a field of a struct."""
        offset = layout.offset(name)
        return base if offset == 0 else self.at(base, offset, "i8")

    def get(self, base: Value, layout: Layout, name: str, kind: str = "") -> Value:
        """A field of a struct; as the type that its layout says, or as another of the same size."""
        return self.load(self.field(base, layout, name), kind or layout[name].type)

    def fields(self, base: Value, layout: Layout) -> dict[str, Value]:
        """All fields of a struct, by name: those that nobody uses are gone from machine code."""
        return {name: self.get(base, layout, name) for name in layout.fields}

    def put(self, base: Value, layout: Layout, /, **values: Operand) -> None:
        """Write fields of a struct."""
        for name, value in values.items():
            self.store(self.field(base, layout, name), self.typed(value, layout[name].type))

    def variable(self, value: Operand, kind: str = "i64") -> Value:
        """A stack slot of its own, with a first value."""
        value = self.typed(value, value.type if isinstance(value, Value) else kind)
        slot = self.slot(value.type, 8)
        self.store(slot, value)
        return slot

    def array(self, kind: str, count: Operand, align: int = 8) -> Value:
        """An array on the stack, of a size that only the call tells."""
        return self.define(f"alloca {kind}, i64 {self.typed(count, 'i64')}, align {align}", "ptr")

    def copy(self, target: Value, source: Value, count: Operand, align: int = 1) -> None:
        """Copy bytes between addresses that are multiples of ``align``."""
        aligned = f"ptr align {align}"
        self.declare("declare void @llvm.memcpy.p0.p0.i64(ptr noalias, ptr noalias, i64, i1)")
        count = self.typed(count, "i64")
        self.raw(f"call void @llvm.memcpy.p0.p0.i64({aligned} {target}, {aligned} {source}, i64 {count}, i1 false)")

    # -- blocks -------------------------------------------------------------------------------------------------------

    def start(self, label: str, *, falls_through: bool = True) -> None:
        """Go on in a new block; a block before it that has no end goes there, unless none may be."""
        if self._is_open:
            if not falls_through:
                raise BuildError(f"{self.heading}: the block {self.block} has no end before {label}")
            self.branch(label)
        super().start(label)
        self._is_open = True

    def _end(self, text: str) -> None:
        self.raw(text)
        self._is_open = False

    def branch(self, label: str) -> None:
        """Go to a block."""
        self._end(f"br label %{label}")

    def branch_if(self, condition: Value, yes: str, no: str, note: str = "") -> None:
        """Go to one of two blocks; ``note`` is what the branch says of itself."""
        self._end(f"br i1 {self.typed(condition, 'i1')}, label %{yes}, label %{no}{note}")

    def switch(self, value: Value, otherwise: str, cases: Mapping[int, str]) -> None:
        """Go to the block of a number."""
        listed = " ".join(f"{value.type} {number}, label %{label}" for number, label in cases.items())
        self._end(f"switch {value.type} {value}, label %{otherwise} [ {listed} ]")

    def ret(self, value: Operand | None = None) -> None:
        """Return from the function."""
        self._end("ret void" if value is None else f"ret {self.result} {self.typed(value, self.result)}")

    def require(self, condition: Value, otherwise: str) -> None:
        """Go on where a condition holds, to a block where not."""
        fine = self.label("fine")
        self.branch_if(condition, fine, otherwise)
        self.start(fine)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """What is built inside runs if a condition holds; it may end the function."""
        inside, after = self.label("inside"), self.label("after")
        self.branch_if(condition, inside, after)
        self.start(inside)
        yield
        self.start(after)

    def return_if(self, condition: Value, value: Operand | None = None) -> None:
        """Return where a condition holds."""
        with self.when(condition):
            self.ret(value)

    def return_unless(self, condition: Value, value: Operand | None = None) -> None:
        """Return where a condition does not hold."""
        out, on = self.label("out"), self.label("on")
        self.branch_if(condition, on, out)
        self.start(out)
        self.ret(value)
        self.start(on)

    def choose(self, condition: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """The value of one of two ways, of which only one is run."""
        labels, after = [self.label("yes"), self.label("no")], self.label("chosen")
        self.branch_if(condition, *labels)
        incoming = []
        for label, way in zip(labels, (yes, no), strict=True):
            self.start(label)
            value = way()
            incoming.append((value, self.block))
            self.branch(after)
        self.start(after)
        return self.joined_value(incoming)

    def joined_value(self, incoming: Sequence[tuple[Value, str]]) -> Value:
        """The value that came with the block from which this one was reached."""
        first = incoming[0][0]
        for value, _ in incoming:
            self.typed(value, first.full_type)
        joined = Value(self.name(), first.type, first.lanes)
        self.phi(joined.text, joined, list(incoming))
        return joined
