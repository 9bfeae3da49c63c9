"""Loops of functions that are built: what stands within `with` is an iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.llvm.checked_emitter import CheckedEmitter, word
from flambeau.codegen.llvm.emitter import Value


class CountedLoop:
    """What loops with a count share: a number and carried values, in registers from iteration to iteration."""

    def __init__(self, f: CheckedEmitter, count: Value, carried: Sequence[Value]) -> None:
        self._f, self._count = f, count
        self._first = [word(0), *carried]
        self._following: list[Value] = list(carried)

    def carry(self, *values: Value) -> None:
        """Say what the next iteration starts with."""
        for value, first in zip(values, self._first[1:], strict=True):
            self._f.typed(value, first.full_type)
        self._following = list(values)

    def _start(self, label: str) -> None:
        """Begin the block in which each register is what came before, or what the last iteration carried."""
        f = self._f
        self._before = f.block
        f.start(label)
        self._registers = [Value(f.name("k"), v.type, v.lanes) for v in self._first]
        self._line = len(f.lines)
        f.lines.extend("" for _ in self._registers)

    def _close(self) -> list[Value]:
        """Say what the registers are when an iteration comes back from this block: the values, which are returned."""
        f = self._f
        following = [f.op("add", self._registers[0], 1), *self._following]
        for k, (register, first, value) in enumerate(zip(self._registers, self._first, following, strict=True)):
            pairs = f"[{first}, %{self._before}], [{value}, %{f.block}]"
            f.lines[self._line + k] = f"  {register} = phi {register.full_type} {pairs}"
        return following


class Loop(CountedLoop):
    """A counted loop. Values that go from iteration to iteration stay in registers."""

    def __init__(self, f: CheckedEmitter, count: Value, carried: Sequence[Value]) -> None:
        super().__init__(f, count, carried)
        self.head, self.after, self.next = f.label("head"), f.label("done"), f.label("next")
        """Blocks: where an iteration is asked for, behind the loop, where an iteration ends early."""

    def __enter__(self) -> Value:
        f = self._f
        body = f.label("body")
        self._start(self.head)
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

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        f = self._f
        f.start(self.next)
        self._close()
        f.branch(self.head)
        f.start(self.after)


class Repetition(CountedLoop):
    """A counted loop that asks whether to go on behind an iteration, not before."""

    def __init__(self, f: CheckedEmitter, count: Value, carried: Sequence[Value], note: str) -> None:
        super().__init__(f, count, carried)
        self._note = note
        self.values: list[Value] = []
        """The carried values at the start of the iteration; behind the loop, at its end."""

    def __enter__(self) -> Value:
        self._body = self._f.label("body")
        self._start(self._body)
        index, *self.values = self._registers
        return index

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        f, after = self._f, self._f.label("after")
        following = self._close()
        f.branch_if(f.compare("slt", following[0], self._count), self._body, after, self._note)
        self.values = following[1:]
        f.start(after)


class Chain:
    """A loop over structs of which each knows the next."""

    def __init__(self, f: CheckedEmitter, first: Value, advance: Callable[[Value], Value]) -> None:
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
