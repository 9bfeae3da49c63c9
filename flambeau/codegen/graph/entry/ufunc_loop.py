"""One loop over strided elements around a scalar function; see `ufunc`, whose module it goes into."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph.function import SYMBOL
from flambeau.codegen.layouts import CONTEXT
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import TRUE, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.util.record import dataclass

BLOCK = 256
"""Elements that go through together."""
Kind = str
"""An element type: ``float`` and ``double`` as in LLVM, ``i64``, and ``i8`` for a bool."""
_SIZES = {"float": 4, "double": 8, "i64": 8, "i8": 1}
PARAMETERS = ("ptr args", "ptr dims", "ptr steps", "ptr data")
_ACCESS_GROUP = "!30"
"""Metadata of loads and stores of elements that no other iteration touches."""


def add_loop(
    m: ModuleBuilder, name: str, number: int, inputs: Sequence[Kind], outputs: Sequence[Kind], *, polls: bool
) -> None:
    """Add a loop to a module. `polls`: the function looks for signals, for which it needs the GIL."""
    f = m.function(f"void {name}", *PARAMETERS, exported=True, attributes="#0")
    _Loop(f, number, inputs, outputs, polls=polls).build()
    group = f"{_ACCESS_GROUP} = distinct !{{}}"
    m.metadata += [group] * (group not in m.metadata)
    m.metadata.append(f"!{40 + number} = distinct !{{!{40 + number}, !{60 + number}}}")
    m.metadata.append(f'!{60 + number} = !{{!"llvm.loop.parallel_accesses", {_ACCESS_GROUP}}}')


@dataclass(slots=True, eq=False)
class _Column:
    """One operand or result: where its elements lie."""

    kind: Kind
    start: Value
    """The address of the first."""
    step: Value
    """Bytes from one to the next."""
    buffer: Value
    """Room for a block of elements, side by side."""
    is_beside: Value
    """Whether they lie side by side themselves."""
    first: Value
    """The address of the first, as a number."""
    low: Value
    high: Value
    """The bytes that all of them lie in."""

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return _SIZES[self.kind]

    def access(self, group: str = "") -> str:
        """What loads and stores of elements say of themselves."""
        return f", align {self.size}{group}"


class _Loop:
    """Builds one loop."""

    def __init__(
        self, f: FunctionBuilder, number: int, inputs: Sequence[Kind], outputs: Sequence[Kind], *, polls: bool
    ) -> None:
        self.f, self.number, self.polls = f, number, polls
        self.args, dims, self.steps, _ = f.parameters
        self.context = f.slot(f"[{CONTEXT.words} x i64]", 16)
        self.words = f.slot(f"[{max(1, len(inputs))} x i64]", 16)
        self.answers = f.slot(f"[{len(outputs)} x i64]", 16)
        self.count = f.load(dims)
        last = f.op("sub", self.count, 1)
        columns = [self.column(k, kind, last) for k, kind in enumerate((*inputs, *outputs))]
        self.inputs, self.outputs = columns[: len(inputs)], columns[len(inputs) :]

    def column(self, k: int, kind: Kind, last: Value) -> _Column:
        """Operand number ``k``; ``last`` is the number of the last element."""
        f, size = self.f, _SIZES[kind]
        buffer = f.slot(f"[{BLOCK} x {kind}]", 64)
        start, step = f.load(f.at(self.args, k, "ptr"), "ptr"), f.word_of(self.steps, k)
        first = f.convert("ptrtoint", start, "i64")
        end = f.op("add", first, f.op("mul", last, step))
        low, top = f.intrinsic("umin", first, end), f.intrinsic("umax", first, end)
        high = f.op("add", top, size)
        return _Column(kind, start, step, buffer, f.compare("eq", step, size), first, low, high)

    def build(self) -> None:
        """The whole function."""
        f = self.f
        apart, fine = self.relations()
        self.gil = f.call("take_gil") if self.polls else None
        blocks, single = f.label("blocks"), f.label("single")
        f.branch_if(fine, blocks, single)
        f.start(blocks)
        self.by_blocks([f.op("and", apart, y.is_beside) for y in self.outputs])
        self.leave(clears_flags=True)
        f.start(single)
        self.one_by_one()
        self.leave(clears_flags=True)

    def relations(self) -> tuple[Value, Value]:
        """Whether all results lie away from all operands, and whether each lies away or exactly upon them."""
        f, apart, fine = self.f, TRUE, TRUE
        for y in self.outputs:
            moves = f.compare("ne", y.step, 0)
            for x in self.inputs:
                is_apart = f.op("or", f.compare("ule", y.high, x.low), f.compare("ule", x.high, y.low))
                is_same = f.all_of(f.compare("eq", y.first, x.first), f.compare("eq", y.step, x.step), moves)
                apart, fine = f.op("and", is_apart, apart), f.op("and", f.op("or", is_apart, is_same), fine)
        return apart, fine

    # -- elements in blocks -------------------------------------------------------------------------------------------

    def by_blocks(self, direct: Sequence[Value]) -> None:
        """All elements, a block at a time; `direct`: which results go where they belong at once."""
        f = self.f
        blocks = f.op("udiv", f.op("add", self.count, BLOCK - 1), BLOCK)
        with f.loop(blocks) as k:
            at = f.op("mul", k, BLOCK)
            count = f.intrinsic("smin", f.op("sub", self.count, at), word(BLOCK))
            sources = [self.gathered(x, at, count) for x in self.inputs]
            targets = [
                f.pick(is_direct, self.address(y, at), y.buffer, "ptr")
                for y, is_direct in zip(self.outputs, direct, strict=True)
            ]
            self.compute(at, count, sources, targets)
            for y, is_direct in zip(self.outputs, direct, strict=True):
                with f.when(f.negated(is_direct)):
                    self.copy(y, at, count, to_buffer=False)

    def address(self, column: _Column, index: Value) -> Value:
        """Where an element lies."""
        return self.f.at(column.start, self.f.op("mul", index, column.step), "i8")

    def gathered(self, x: _Column, at: Value, count: Value) -> Value:
        """The elements of a block side by side: where they are, or copied together."""
        f = self.f
        with f.when(f.negated(x.is_beside)):
            self.copy(x, at, count, to_buffer=True)
        return f.pick(x.is_beside, self.address(x, at), x.buffer, "ptr")

    def copy(self, column: _Column, at: Value, count: Value, *, to_buffer: bool) -> None:
        """Copy elements between where they lie apart and a buffer."""
        f, far_start = self.f, self.address(column, at)
        with f.repeat(count) as k:
            far, near = f.at(far_start, f.op("mul", k, column.step), "i8"), f.at(column.buffer, k, column.kind)
            source, target = (far, near) if to_buffer else (near, far)
            value = f.load(source, column.kind, column.access())
            f.store(target, value, access=column.access())

    def compute(self, at: Value, count: Value, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        """The elements of a block, in a loop that nothing leaves; Python runs the block again if one failed."""
        f, group = self.f, f", !llvm.access.group {_ACCESS_GROUP}"
        loop = f.repeat(count, word(0), note=f", !llvm.loop !{40 + self.number}")
        with loop as k:
            code = self.run(self.at_index(self.inputs, sources, k), group)
            self.store(self.at_index(self.outputs, targets, k), group)
            loop.carry(f.op("or", loop.values[0], code))
        self.leave_if_failed(loop.values[0], at, count)

    def at_index(self, columns: Sequence[_Column], starts: Sequence[Value], k: Value) -> list[Value]:
        """The addresses of an element of each."""
        return [self.f.at(start, k, column.kind) for column, start in zip(columns, starts, strict=True)]

    # -- elements one by one ------------------------------------------------------------------------------------------

    def one_by_one(self) -> None:
        """All elements, each after what the ones before have written."""
        with self.f.loop(self.count) as k:
            code = self.run([self.address(x, k) for x in self.inputs], "")
            self.leave_if_failed(code, k, word(1))
            self.store([self.address(y, k) for y in self.outputs], "")

    # -- one element --------------------------------------------------------------------------------------------------

    def run(self, addresses: Sequence[Value], group: str) -> Value:
        """Call the function on an element of each operand; its code."""
        f = self.f
        f.clear(self.context, CONTEXT.words)
        for k, (x, address) in enumerate(zip(self.inputs, addresses, strict=True)):
            value = f.load(address, x.kind, x.access(group))
            if x.kind == "float":
                value = f.convert("fpext", value, "double")
            elif x.kind == "i8":
                value = f.convert("zext", f.compare("ne", value, 0), "i64")
            f.set_word(self.words, k, value)
        return f.call(SYMBOL, self.context, self.words, self.answers)

    def store(self, addresses: Sequence[Value], group: str) -> None:
        """Write an element of each result."""
        f = self.f
        for k, (y, address) in enumerate(zip(self.outputs, addresses, strict=True)):
            value = f.word_of(self.answers, k, {"float": "double", "i8": "i64"}.get(y.kind, y.kind))
            if value.type != y.kind:
                value = f.convert("fptrunc" if y.kind == "float" else "trunc", value, y.kind)
            f.store(address, value, access=y.access(group))

    # -- ways out -----------------------------------------------------------------------------------------------------

    def leave_if_failed(self, code: Value, start: Value, count: Value) -> None:
        """Where the function failed, have Python run some elements again, which says why, and return."""
        f = self.f
        with f.when(f.compare("ne", code, 0)):
            f.call("run_in_python", self.number, self.args, self.steps, start, count)
            self.leave()

    def leave(self, *, clears_flags: bool = False) -> None:
        """Return."""
        if self.gil is not None:
            self.f.call("give_gil", self.gil)
        if clears_flags:
            self.f.call("forget_flags")
        self.f.ret()
