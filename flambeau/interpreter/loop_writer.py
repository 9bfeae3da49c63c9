"""Writes a loop as a Python function, instruction by instruction.

    CALL2 r8 = aten::mul.int(r6, r3)
    ADD   r8 = r8 + r7                  ->  r6 = ((r6 * 31) + r7) % 1000003
    CALL2 r6 = aten::remainder(r8, r4)

A number that the next instruction takes, and nothing else, is written where it is taken, if what makes it cannot fail.
Sums and products wrap where somebody looks at them: the operations in between agree modulo 2**64. Where the operands
are small enough (`loop_ranges`), nothing is left to wrap, and nobody looks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

from flambeau.interpreter import loop_ranges
from flambeau.interpreter.code import LOOPS, Code, Instruction, Op
from flambeau.interpreter.loop_structure import (
    NotTranslatedError,
    Straight,
    constants,
    end_of_round,
    ends_round,
    operands,
    read_first,
    results,
    successors,
    written_in,
)  # fmt: skip
from flambeau.ops.language import float64, int64, lists
from flambeau.ops.language.int64 import MAX, MIN, wrap
from flambeau.ops.language.scalars import int_div
from flambeau.ops.language.structural import derive_index
from flambeau.program.instances import unset
from flambeau.program.object import UNSET

Registers = list[Any]
LARGEST, DEEPEST = 500, 12
"""Instructions of a loop that is translated, and loops and branches inside each other."""

_SUMS: Final[dict[Any, str]] = {int64.add: "{} + {}", int64.sub: "{} - {}", int64.neg: "-{}"}
"""What agrees modulo 2**64, whether its operands have been wrapped or not, and grows by a bit at most."""
_PRODUCTS: Final[dict[Any, str]] = {int64.mul: "{} * {}", derive_index: "{1} + {0} * {2}"}
"""What agrees as well, but takes wrapped operands, or numbers would grow without bound."""
_WRITTEN: Final[dict[Any, str]] = {
    operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}", operator.neg: "-{}",
    operator.lt: "{} < {}", operator.le: "{} <= {}", operator.gt: "{} > {}", operator.ge: "{} >= {}",
    operator.eq: "{} == {}", operator.ne: "{} != {}", operator.and_: "{} & {}", operator.or_: "{} | {}",
    operator.xor: "{} ^ {}", operator.not_: "not {}", operator.getitem: "{}[{}]",
}  # fmt: skip
"""Python's functions as Python writes them."""
_OF_CONTAINERS: Final[dict[Any, str]] = {operator.contains: "{1} in {0}", dict.get: "{0}.get({1}{2})"}
"""Looks into containers as Python writes them: they may fail."""
_DIVISIONS: Final[dict[Any, str]] = {
    int64.remainder: "{} % {}", int64.floordiv: "{} // {}", float64.div: "{} / {}", int_div: "float({}) / {}",
}  # fmt: skip
"""What Python refuses for a divisor of zero, and the language does not, or in other words."""
_CALLS: Final = frozenset({Op.CALL0, Op.CALL1, Op.CALL2, Op.CALL3, Op.CALL, Op.CALL_MANY, Op.DO, Op.DO2})
_FUSED_INTO: Final = frozenset({*_CALLS, Op.ADD, Op.MOVE, Op.MOVES, Op.BRANCH, Op.WHILE})
"""What a number may be written into: it is read before anything is written."""


def write(code: Code, head: int, *, is_long: bool) -> tuple[Callable[[Registers], None], list[int]]:
    """The function of a loop, and the site of each of its lines; of a long one, it is worth knowing what stays small.

    Raises NotTranslatedError for a loop that does what only the machine can do.
    """
    writer = _Writer(code, head, is_long=is_long)
    return writer.function(), writer.sites


class _Writer:
    """Writes the function of one loop, line by line."""

    def __init__(self, code: Code, head: int, *, is_long: bool) -> None:
        self.code = code
        self.lines: list[str] = []
        self.sites: list[int] = []
        self.site = 0
        self.depth = 1
        self.size = 0
        self.names: dict[str, Any] = {"wrap": wrap, "UNSET": UNSET, "unset": unset}
        self.used: set[int] = set()
        self.written: set[int] = set()
        self.unwrapped: set[int] = set()
        """Registers with integers that may have more than 64 bits."""
        self.small: frozenset[int] = frozenset()
        """Identities of the instructions whose results have no more."""
        self.fixed = {r: f"({v})" if type(v) is int and v < 0 else str(v) for r, v in constants(code).items()}
        self.needed = read_first(code)
        """What is read from a block on, for each block."""
        self.fused: dict[int, str] = {}
        """What the next instruction takes in place of a register."""
        self.line("")  # what is loaded, once it is known
        guard = self._guard(head) if is_long else ""
        if guard:
            for start, small in ((f"if {guard}:", self.small), ("else:", frozenset[int]())):
                self.small, self.size = small, 0
                self.line(start)
                self.enter()
                self._rounds(head, None)
                self.depth -= 1
        else:
            self._rounds(head, None)

    def function(self) -> Callable[[Registers], None]:
        """The function itself."""
        used, written = sorted(self.used | self.written), sorted(self.written)
        loads = ", ".join(f"regs[{r}]" for r in used)
        self.lines[0] = f" {_listed(used)} = {loads}," if used else " pass"
        stores = ", ".join(f"regs[{r}]" for r in written)
        text = "\n".join(["def loop(regs):", *self.lines, f" {stores}, = {_listed(written)}" if written else ""])
        self.sites.insert(0, 0)
        exec(compile(text, f"<loop of {self.code.name}>", "exec"), self.names)
        loop: Callable[[Registers], None] = self.names.pop("loop")
        return loop

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)
        self.sites.append(self.site)

    def _guard(self, head: int) -> str:
        """Under which condition sums and products need fewer checks; "" where there is none."""
        small = loop_ranges.prove(self.code, head)
        if small is None:
            return ""
        self.small = small.unchecked
        bound = small.bound
        tested = [self.raw(r) for r in sorted(small.numbers & self.needed[head])]
        return " and ".join([f"type({r}) is int and -{bound} <= {r} <= {bound}" for r in tested])

    # -- registers ----------------------------------------------------------------------------------------------------

    def raw(self, register: int) -> str:
        """A register as it is."""
        if register in self.fused:
            return self.fused.pop(register)
        if register in self.fixed:
            return self.fixed[register]
        self.used.add(register)
        return f"r{register}"

    def read(self, register: int) -> str:
        """A register whose integer is wrapped by now."""
        if register in self.unwrapped:
            self.unwrapped.discard(register)
            name = f"r{register}"
            self.line(f"if {name} > {MAX} or {name} < {MIN}: {name} = wrap({name})")
        return self.raw(register)

    def write(self, register: int) -> str:
        self.written.add(register)
        self.unwrapped.discard(register)
        return f"r{register}"

    def settle(self) -> None:
        """Wrap what has not been wrapped: control goes where that is not known."""
        for register in sorted(self.unwrapped):
            self.read(register)

    # -- control ------------------------------------------------------------------------------------------------------

    def enter(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotTranslatedError("too deep")

    def leave(self, start: int) -> None:
        """The end of what was indented, which began at a line."""
        self.settle()
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1

    def _rounds(self, head: int, entry: Instruction | None) -> None:
        """A loop: all of it with the test at its `entry`, or from the head of its body on."""
        self.settle()
        back, _ = end_of_round(self.code, head)
        op, d, _, a, _, _ = back
        if op is Op.FOR and not {d, a} & written_in(self.code, head):
            self.used.update({d})
            first = f"r{d}" if entry is None else f"r{d} + 1"
            self.line(f"for {self.write(d)} in range({first}, {self.raw(a)}):")
            self._body(head)
            return
        if entry is not None:
            self.line(f"if {self._test(entry)}:")
            self.enter()
        start = len(self.lines)
        self.line("while True:")
        self._body(head, back)
        if entry is not None:
            self.leave(start)

    def _body(self, head: int, back: Instruction | None = None) -> None:
        self.enter()
        start = len(self.lines)
        self._walk(head, -1, head)
        if back is not None:
            self.settle()
            self.line(f"if not ({self._test(back)}): break")
        self.leave(start)

    def _test(self, instruction: Instruction) -> str:
        """The test of a loop, after a line that counts."""
        op, d, f, a, _, self.site = instruction
        if op is Op.WHILE:
            return self.read(d)
        self.used.add(d)
        self.line(f"{self.write(d)} += 1")
        return f"r{d} < {self.raw(a)}" + (f" and {self.read(f)}" if op is Op.LOOP else "")

    def _walk(self, block: int, stop: int, head: int) -> None:
        """Blocks from one on, up to another or to the end of an iteration."""
        while block != stop:
            straight, last = self.code.blocks[block]
            self.size += len(straight) + 1
            if self.size > LARGEST:
                raise NotTranslatedError("too large")
            fusible = self._fusible(straight, last)
            for instruction in straight:
                self._instruction(instruction, fusible.get(id(instruction)))
            op, _, f, a, b, self.site = last
            if op is Op.JUMP:
                block = a
            elif op is Op.BRANCH:
                self._arms(last, head)
                block = f
            elif op in LOOPS:
                if ends_round(last, head):
                    return
                self._rounds(b[0], last)
                block = b[1]
            else:
                raise NotTranslatedError(op.name)

    def _arms(self, branch: Instruction, head: int) -> None:
        _, d, join, a, b, _ = branch
        condition = self.read(d)
        self.settle()
        for start_of_arm, block in ((f"if {condition}:", a), ("else:", b)):
            self.line(start_of_arm)
            self.enter()
            start = len(self.lines)
            self._walk(block, join, head)
            self.leave(start)

    def _fusible(self, straight: Straight, last: Instruction) -> dict[int, Instruction]:
        """By identity, instructions whose result the next one takes, once, and nothing else: the next one."""
        live = set[int]().union(*[self.needed[block] for block in successors(last)])
        fusible: dict[int, Instruction] = {}
        for instruction, following in reversed(list(pairwise((*straight, last)))):
            written, read = results(following), operands(following)
            d = instruction[1]
            is_last = (d not in live or d in written) and list(read).count(d) == 1
            if is_last and following[0] in _FUSED_INTO and not _looks_twice(following, d):
                fusible[id(instruction)] = following
            live.difference_update(written)
            live.update(read)
        return fusible

    # -- instructions -------------------------------------------------------------------------------------------------

    def _instruction(self, instruction: Instruction, next_: Instruction | None) -> None:
        op, d, f, a, b, self.site = instruction
        if op is Op.ADD or op in _CALLS:
            self._call(instruction, next_)
        elif op is Op.MOVE:
            value = self.read(a)
            self.line(f"{self.write(d)} = {value}")
        elif op is Op.MOVES:
            values = ", ".join([self.read(r) for r in a])
            self.line(f"{', '.join([self.write(r) for r in d])} = {values}")
        elif op is Op.DROP:
            self.line(" = ".join([*[self.write(r) for r in a], "None"]))
        elif op in (Op.LIST, Op.TUPLE) and f is None:
            values = "".join([self.read(r) + ", " for r in a])
            self.line(f"{self.write(d)} = " + (f"[{values}]" if op is Op.LIST else f"({values})"))
        elif op is Op.GET_ATTR:
            owner = self.read(a)
            target = self.write(d)
            self.line(f"_value = {owner}.values[{b}]")
            self.line(f"if _value is UNSET: raise unset({f!r}, {owner}.type.name)")
            self.line(f"{target} = _value")
        elif op is Op.SET_ATTR:
            value, owner = self.read(d), self.read(a)
            self.line(f"{owner}.values[{b}] = {value}")
        else:
            raise NotTranslatedError(op.name)

    def _call(self, instruction: Instruction, next_: Instruction | None) -> None:
        op, d, f, _, _, _ = instruction
        registers = operands(instruction)
        if op is Op.ADD:
            f = int64.add
        if op in (Op.DO, Op.DO2):
            self._effect(f, registers)
        elif op is Op.CALL_MANY:
            called = self._called(f, registers)
            self.line(f"{', '.join([self.write(r) for r in d])}, = {called}")
        elif _is_in(f, _SUMS):
            self._wraps(instruction, _SUMS[f].format(*[self.raw(r) for r in registers]), next_)
        elif _is_in(f, _PRODUCTS):
            self._wraps(instruction, _PRODUCTS[f].format(*[self.read(r) for r in registers]), next_)
        elif _is_in(f, _DIVISIONS):
            self._division(instruction, next_)
        else:
            called = self._called(f, registers)
            self._result(d, called, next_ is not None and _is_in(f, _WRITTEN) and f is not operator.getitem)

    def _effect(self, f: Any, registers: Sequence[int]) -> None:
        """A call whose result nobody needs."""
        if f is lists.append:
            items, value = (self.read(r) for r in registers)
            self.line(f"{items}.append({value})")
        elif f is lists.setitem:
            items, index, value = (self.read(r) for r in registers)
            self.line("try:")
            self.line(f" {items}[{index}] = {value}")
            self.line("except IndexError:")
            self.line(f" {self._name(f)}({items}, {index}, {value})")  # says it in the language's words
        elif f is operator.setitem:
            items, key, value = (self.read(r) for r in registers)
            self.line(f"{items}[{key}] = {value}")
        else:
            self.line(self._called(f, registers))

    def _wraps(self, instruction: Instruction, text: str, next_: Instruction | None) -> None:
        """A number that may have more than 64 bits, if it is not known to be small."""
        is_small = id(instruction) in self.small
        is_fused = next_ is not None and (is_small or _is_sum(next_))
        self._result(instruction[1], text, is_fused)
        if not is_small and not is_fused:
            self.unwrapped.add(instruction[1])

    def _result(self, d: int, text: str, is_fused: bool) -> None:
        if is_fused:
            self.fused[d] = f"({text})"
            self.unwrapped.discard(d)
        else:
            self.line(f"{self.write(d)} = {text}")

    def _called(self, f: Any, registers: Sequence[int]) -> str:
        values = [self.read(r) for r in registers]
        if _is_in(f, _WRITTEN):
            return _WRITTEN[f].format(*values)
        if _is_in(f, _OF_CONTAINERS):
            return _OF_CONTAINERS[f].format(*values[:2], "".join(f", {v}" for v in values[2:]))
        return f"{self._name(f)}({', '.join(values)})"

    def _division(self, instruction: Instruction, next_: Instruction | None) -> None:
        """By zero, the operator says what it says."""
        _, d, f, dividend, divisor, _ = instruction
        a, b = self.read(dividend), self.read(divisor)
        text = _DIVISIONS[f].format(a, b)
        may_fail = divisor not in self.fixed or self.code.template[divisor] == 0
        if divisor not in self.fixed:
            text = f"{text} if {b} else {self._name(f)}({a}, {b})"
        elif may_fail:
            text = f"{self._name(f)}({a}, {b})"
        if f is int64.floordiv:
            self._wraps(instruction, text, None if may_fail else next_)
        else:
            self._result(d, text, next_ is not None and not may_fail)

    def _name(self, f: Any) -> str:
        name = f"f{id(f)}"
        self.names[name] = f
        return name


def _is_in(f: Any, table: dict[Any, str]) -> bool:
    """Whether a function is one of a table's: others may compare in ways of their own, or not be hashable."""
    return any(f is known for known in table)


def _looks_twice(instruction: Instruction, register: int) -> bool:
    """Whether an instruction is written with two mentions of a register: a divisor is compared with zero."""
    op, _, f, _, b, _ = instruction
    return op is Op.CALL2 and b == register and _is_in(f, _DIVISIONS)


def _is_sum(instruction: Instruction) -> bool:
    op, _, f, _, _, _ = instruction
    return op is Op.ADD or (op in (Op.CALL1, Op.CALL2) and _is_in(f, _SUMS))


def _listed(registers: Sequence[int]) -> str:
    return ", ".join(f"r{r}" for r in registers) + ","
