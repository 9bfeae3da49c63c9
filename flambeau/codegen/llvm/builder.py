"""Builds LLVM modules of stubs: functions whose names, types and blocks are checked while they are built.

    m = ModuleBuilder(C_INTERFACE)
    f = m.function("i1 same", "ptr a", "ptr b", "i64 n")
    a, b, n = f.parameters
    with f.loop(n) as k:
        f.return_unless(f.icmp("eq", f.load_word(a, k), f.load_word(b, k)), FALSE)
    f.ret(TRUE)
    text = m.text()

Operands of the wrong type, calls that do not fit, and blocks without an end raise `BuildError` at the line that is
wrong, not when LLVM parses the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from flambeau.codegen.layouts import Layout
from flambeau.codegen.llvm.emitter import Emitter, Target, int_constant
from flambeau.codegen.llvm.emitter import Value as Value

NULL = Value("null", "ptr", 1)
TRUE, FALSE = Value("true", "i1", 1), Value("false", "i1", 1)
F = TypeVar("F", bound="FunctionBuilder")
Operand = Value | int
"""A value; an int stands for a literal of the type that is needed there."""


class BuildError(Exception):
    """An instruction that LLVM would refuse."""


class Signature:
    """The type of a function, ``"i64 (ptr, ptr)"``."""

    def __init__(self, text: str) -> None:
        self.result, _, parameters = text.partition(" ")
        self.parameters = tuple(p.strip() for p in parameters.strip("()").split(",") if p.strip())

    def declaration(self, symbol: str) -> str:
        """The declaration of a function of this type."""
        return f"declare {self.result} @{symbol}({', '.join(self.parameters)})"


def word(value: int) -> Value:
    """A 64-bit literal."""
    return int_constant(value, "i64", 1)


IMPORTED: Final = "flambeau_"
"""What symbols of imports begin with, unless a module says otherwise."""


class ModuleBuilder:
    """The functions of one module, and what they import."""

    def __init__(
        self, interface: Mapping[str, str], prefix: str = IMPORTED, own: Mapping[str, str] | None = None
    ) -> None:
        self.prefix = prefix
        """Of the symbols of what is imported."""
        self.interface = interface
        """The types of functions that may be imported, by name."""
        self.imported: dict[str, None] = {}
        """Names of the functions that are imported: those that are called."""
        self.symbols: dict[str, str] = {}
        """LLVM types of the external variables that are referred to, by name."""
        self.declarations: dict[str, None] = {}
        """Declarations of LLVM's own functions, and of variables of the module."""
        self.access = ""
        """What loads and stores say of themselves behind the address."""
        self.metadata: list[str] = []
        """Nodes of metadata, behind all functions."""
        self._defined: dict[str, Signature] = {name: Signature(kind) for name, kind in (own or {}).items()}
        self._functions: list[FunctionBuilder] = []

    def function(self, head: str, *parameters: str, exported: bool = False, attributes: str = "") -> FunctionBuilder:
        """A new function: ``"i1 same"``, ``"ptr a"``, ``"i64 n"``."""
        return self.special(FunctionBuilder, head, *parameters, exported=exported, attributes=attributes)

    def special(self, kind: type[F], head: str, *parameters: str, exported: bool = False, attributes: str = "") -> F:
        """A new function that is built by a class of its own."""
        result, name = head.split()
        pairs = [p.split() for p in parameters]
        self.own(name, f"{result} ({', '.join(t for t, _ in pairs)})")
        linkage = "" if exported else "internal "
        listed = ", ".join(f"{t} %{p}" for t, p in pairs)
        heading = f"define {linkage}{result} @{name}({listed}){attributes and ' ' + attributes} {{"
        f = kind(self, heading, result, [Value("%" + p, t, 1) for t, p in pairs])
        self._functions.append(f)
        return f

    def own(self, name: str, kind: str) -> None:
        """Say that the module defines a function of this type, here or later."""
        known = self._defined.setdefault(name, Signature(kind))
        if (known.result, known.parameters) != (Signature(kind).result, Signature(kind).parameters):
            raise BuildError(f"{name} is {kind} and something else")

    def callee(self, name: str) -> tuple[str, Signature]:
        """The symbol of a function by name, and its type."""
        if name in self._defined:
            return name, self._defined[name]
        if name not in self.interface:
            raise BuildError(f"nothing is called {name}")
        self.imported.setdefault(name)
        return self.prefix + name, Signature(self.interface[name])

    def address(self, name: str) -> Value:
        """The address of a function of the module."""
        return Value("@" + self.callee(name)[0], "ptr", 1)

    def symbol(self, name: str, kind: str = "i8") -> Value:
        """The address of an external object or variable."""
        self.symbols[name] = kind
        return Value(f"@{self.prefix}{name}", "ptr", 1)

    def text(self, behind: str = "") -> str:
        """The text of the module; of one that goes behind another text, without what that declares."""
        bodies = [f.text() for f in self._functions]
        imports = [Signature(self.interface[name]).declaration(self.prefix + name) for name in self.imported]
        symbols = [f"@{self.prefix}{name} = external global {kind}" for name, kind in self.symbols.items()]
        declared = set(behind.splitlines())
        head = [line for line in (*imports, *symbols, *self.declarations) if line not in declared]
        return "\n".join([*head, *bodies, *self.metadata, ""])


class FunctionBuilder(Emitter):
    """One function of a module."""

    def __init__(self, module: ModuleBuilder, heading: str, result: str, parameters: Sequence[Value]) -> None:
        super().__init__(Target(), declarations=module.declarations)
        self.module = module
        self.heading = heading
        self.result = result
        self.parameters = tuple(parameters)
        self._is_open = True
        """Whether the current block has no end yet."""

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
        return self.define(f"load {kind}, ptr {self.typed(address, 'ptr')}{access or self.module.access}", kind)

    def load_acquire(self, address: Value) -> Value:
        """An address that another thread may just have published."""
        return self.define(f"load atomic ptr, ptr {self.typed(address, 'ptr')} acquire, align 8", "ptr")

    def store(self, address: Value, value: Operand, kind: str = "", access: str = "") -> None:
        """Write to memory."""
        value = self.typed(value, kind or (value.full_type if isinstance(value, Value) else "i64"))
        self.raw(f"store {value.full_type} {value}, ptr {self.typed(address, 'ptr')}{access or self.module.access}")

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

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, name: str, *arguments: Operand) -> Value:
        """A call of a function of the module, or of an imported one."""
        symbol, signature = self.module.callee(name)
        return self._call(f"@{symbol}", signature, arguments)

    def call_address(self, address: Value, kind: str, *arguments: Operand) -> Value:
        """A call of the function at an address."""
        return self._call(str(self.typed(address, "ptr")), Signature(kind), arguments)

    def _call(self, target: str, signature: Signature, arguments: Sequence[Operand]) -> Value:
        if len(arguments) != len(signature.parameters):
            raise BuildError(f"{self.heading}: {target} takes {len(signature.parameters)} arguments")
        pairs = zip(arguments, signature.parameters, strict=True)
        listed = ", ".join(f"{kind} {self.typed(argument, kind)}" for argument, kind in pairs)
        text = f"call {signature.result} {target}({listed})"
        if signature.result == "void":
            self.raw(text)
            return Value("", "void", 1)
        return self.define(text, signature.result)

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

    def loop(self, count: Operand, *carried: Value) -> Loop:
        """``with f.loop(n) as k``: what is built inside runs for k = 0 .. n - 1; ``carried`` values change from one
        iteration to the next (`Loop.values`, `Loop.carry`).
        """
        return Loop(self, self.typed(count, "i64"), carried)

    def repeat(self, count: Operand, *carried: Value, note: str = "") -> Repetition:
        """``with f.repeat(n) as k``: as `loop`, for an ``n`` above 0; ``note``: what the branch back says of itself."""
        return Repetition(self, self.typed(count, "i64"), carried, note)

    def follow(self, first: Value, advance: Callable[[Value], Value]) -> Chain:
        """``with f.follow(first, next_of) as item``: what is built inside runs for each struct of a chain."""
        return Chain(self, first, advance)


class Loop:
    """A counted loop. Values that go from iteration to iteration stay in registers."""

    def __init__(self, f: FunctionBuilder, count: Value, carried: Sequence[Value]) -> None:
        self._f, self._count = f, count
        self._first = [word(0), *carried]
        self._following: list[Value] = list(carried)
        self.head, self.after, self.next = f.label("head"), f.label("done"), f.label("next")
        """Blocks: where an iteration is asked for, behind the loop, where an iteration ends early."""
        self._early: list[str] = []

    def __enter__(self) -> Value:
        f = self._f
        body, self._before = f.label("body"), f.block
        f.start(self.head)
        self._registers = [Value(f.name("k"), v.type, v.lanes) for v in self._first]
        self._line = len(f.lines)
        f.lines.extend("" for _ in self._registers)
        f.branch_if(f.compare("slt", self.index, self._count), body, self.after)
        f.start(body)
        return self.index

    @property
    def index(self) -> Value:
        """The number of the iteration."""
        return self._registers[0]

    @property
    def values(self) -> list[Value]:
        """The carried values at the start of the iteration; behind the loop, at its end."""
        return self._registers[1:]

    def carry(self, *values: Value) -> None:
        """Say what the next iteration starts with."""
        for value, first in zip(values, self._first[1:], strict=True):
            self._f.typed(value, first.full_type)
        self._following = list(values)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        f = self._f
        f.start(self.next)
        following = [f.op("add", self.index, 1), *(self._following or [])]
        for k, (register, first, after) in enumerate(zip(self._registers, self._first, following, strict=True)):
            pairs = f"[{first}, %{self._before}], [{after}, %{self.next}]"
            f.lines[self._line + k] = f"  {register} = phi {register.full_type} {pairs}"
        f.branch(self.head)
        f.start(self.after)


class Repetition:
    """A counted loop that asks whether to go on behind an iteration, not before."""

    def __init__(self, f: FunctionBuilder, count: Value, carried: Sequence[Value], note: str) -> None:
        self._f, self._count, self._note = f, count, note
        self._first = [word(0), *carried]
        self.values: list[Value] = []
        """The carried values at the start of the iteration; behind the loop, at its end."""
        self._following: list[Value] = list(carried)

    def __enter__(self) -> Value:
        f = self._f
        self._before, self._body = f.block, f.label("body")
        f.start(self._body)
        index, *self.values = self._registers = [Value(f.name("k"), v.type, v.lanes) for v in self._first]
        self._line = len(f.lines)
        f.lines.extend("" for _ in self._registers)
        return index

    def carry(self, *values: Value) -> None:
        """Say what the next iteration starts with."""
        for value, first in zip(values, self._first[1:], strict=True):
            self._f.typed(value, first.full_type)
        self._following = list(values)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        f, after = self._f, self._f.label("after")
        following = [f.op("add", self._registers[0], 1), *self._following]
        for k, (register, first, value) in enumerate(zip(self._registers, self._first, following, strict=True)):
            pairs = f"[{first}, %{self._before}], [{value}, %{f.block}]"
            f.lines[self._line + k] = f"  {register} = phi {register.full_type} {pairs}"
        f.branch_if(f.compare("slt", following[0], self._count), self._body, after, self._note)
        self.values = following[1:]
        f.start(after)


class Chain:
    """A loop over structs of which each knows the next."""

    def __init__(self, f: FunctionBuilder, first: Value, advance: Callable[[Value], Value]) -> None:
        self._f, self._first, self._advance = f, first, advance
        self.next, self.after = f.label("next"), f.label("end")
        """Blocks: where the next struct is asked for, and behind the loop."""

    def __enter__(self) -> Value:
        f = self._f
        self._head, inside, self._before = f.label("chain"), f.label("one"), f.block
        f.start(self._head)
        self.item = Value(f.name("item"), "ptr", 1)
        self._line = len(f.lines)
        f.lines.append("")
        f.branch_if(f.is_null(self.item), self.after, inside)
        f.start(inside)
        return self.item

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        f = self._f
        f.start(self.next)
        following = self._advance(self.item)
        f.lines[self._line] = f"  {self.item} = phi ptr [{self._first}, %{self._before}], [{following}, %{self.next}]"
        f.branch(self._head)
        f.start(self.after)
