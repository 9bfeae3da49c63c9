"""Functions over machine words, as LLVM text: a small language of loops, conditions, and words in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod

from flambeau.codegen.llvm.emitter import Emitter, Target, int_constant
from flambeau.codegen.llvm.emitter import Value as Register


class Words:
    """Writes a function that reads words one after another."""

    def __init__(self, declared: dict[str, None]) -> None:
        self.e = Emitter(Target(), declarations=declared)

    def const(self, value: int) -> Register:
        return int_constant(value, "i64", 1)

    def slot(self, value: Register | int) -> Register:
        place = self.e.slot("i64", 8)
        self.put(place, value)
        return place

    def put(self, place: Register, value: Register | int) -> None:
        kind = value.type if isinstance(value, Register) else "i64"
        self.e.raw(f"store {kind} {value}, ptr {place}, align 8")

    def get(self, place: Register, kind: str = "i64") -> Register:
        return self.e.define(f"load {kind}, ptr {place}, align 8", kind, 1)

    def at(self, base: Register, index: Register | int) -> Register:
        return self.e.define(f"getelementptr i64, ptr {base}, i64 {index}", "ptr", 1)

    def op(self, name: str, a: Register, b: Register | int) -> Register:
        return self.e.binary(name, a, b if isinstance(b, Register) else self.const(b))

    def is_(self, predicate: str, a: Register, b: Register | int) -> Register:
        return self.e.icmp(predicate, a, b if isinstance(b, Register) else self.const(b))

    def times(self, count: Register) -> Times:
        return Times(self, count)

    def require(self, condition: Register, otherwise: str) -> None:
        fine = self.e.label("fine")
        self.e.branch_if(condition, fine, otherwise)
        self.e.start(fine)

    def when(self, condition: Register) -> When:
        return When(self, condition)

    def call(self, text: str) -> Register:
        return self.e.define(f"call ptr {text}", "ptr", 1)

    def function(self, head: str) -> str:
        e = self.e
        return "\n".join([f"define internal {head} {{", "entry:", *e.entry, *e.lines, "}\n"])


class Function(Words, ABC):
    """A function of a module, written with words."""

    @abstractmethod
    def text(self) -> str:
        """Its LLVM text."""


class Times:
    """``with w.times(n) as k``: what is written inside runs for k = 0 .. n - 1."""

    def __init__(self, w: Words, count: Register) -> None:
        self.w, self.count = w, count
        self.counter = w.e.slot("i64", 8)

    def __enter__(self) -> Register:
        w, e = self.w, self.w.e
        w.put(self.counter, 0)
        self.head, self.after, iteration = e.label("head"), e.label("after"), e.label("iteration")
        e.branch(self.head)
        e.start(self.head)
        index = w.get(self.counter)
        e.branch_if(w.is_("slt", index, self.count), iteration, self.after)
        e.start(iteration)
        return index

    def __exit__(self, *_: object) -> None:
        w = self.w
        w.put(self.counter, w.op("add", w.get(self.counter), 1))
        w.e.branch(self.head)
        w.e.start(self.after)


class When:
    """``with w.when(c):`` what is written inside runs if the condition holds."""

    def __init__(self, w: Words, condition: Register) -> None:
        self.w, self.condition = w, condition

    def __enter__(self) -> None:
        e = self.w.e
        inside, self.after = e.label("inside"), e.label("after")
        e.branch_if(self.condition, inside, self.after)
        e.start(inside)

    def __exit__(self, *_: object) -> None:
        self.w.e.branch(self.after)
        self.w.e.start(self.after)
