"""Writes a loop, or all of a code, as a Python function, instruction by instruction.

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
    unwritten,
    written_in,
)  # fmt: skip
from flambeau.interpreter.seldom import unpacked
from flambeau.interpreter.written_operators import (
    CALLS,
    DIVISIONS,
    FUSED_INTO,
    OF_CONTAINERS,
    PRODUCTS,
    SUMS,
    WRITTEN,
    is_in,
    is_sum,
    looks_twice,
)
from flambeau.ops.language import int64, lists
from flambeau.ops.language.int64 import MAX, MIN, wrap
from flambeau.program.instances import unset
from flambeau.program.object import UNSET

Registers = list[Any]
LARGEST, LARGEST_WHOLE, DEEPEST = 500, 2_000, 12
"""Instructions of a loop that is translated, those of a code, and loops and branches inside each other."""
MANY: Final = 50
"""Iterations of a loop for which it takes less to look at numbers once than at what is made of them."""
WHOLE: Final = -1
"""In place of the head of a loop: what is written is no loop."""


def write(code: Code, head: int, *, is_long: bool) -> tuple[Callable[[Registers], None], list[int]]:
    """The function of a loop, and the site of each of its lines; of a long one, it is worth knowing what stays small.

    Raises NotTranslatedError for a loop that does what only the machine can do.
    """
    writer = _Writer(code, LARGEST)
    return writer.loop(head, is_long=is_long), writer.sites


def write_whole(code: Code) -> tuple[Callable[..., tuple[Any, ...]], list[int]]:
    """The function of a code, from its arguments to the tuple of its results, and the site of each of its lines.

    Raises NotTranslatedError for a code that does what only the machine can do.
    """
    writer = _Writer(code, LARGEST_WHOLE)
    return writer.whole(), writer.sites


class _Writer:
    """Writes one function, line by line."""

    def __init__(self, code: Code, largest: int) -> None:
        self.code = code
        self.largest = largest
        self.lines: list[str] = []
        self.sites: list[int] = []
        self.site = 0
        self.depth = 1
        self.size = 0
        self.names: dict[str, Any] = {"wrap": wrap, "UNSET": UNSET, "unset": unset, "unpacked": unpacked}
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

    def loop(self, head: int, *, is_long: bool) -> Callable[[Registers], None]:
        """The function of a loop, which takes the registers and leaves in them what they hold at its end."""
        guard = self._guard(head) if is_long else ""
        self._guarded(guard, head, None)
        used, written = sorted(self.used | self.written), sorted(self.written)
        loads = ", ".join(f"regs[{r}]" for r in used)
        self.lines[0] = f" {_listed(used)} = {loads}," if used else " pass"
        stores = ", ".join(f"regs[{r}]" for r in written)
        self.line(f"{stores}, = {_listed(written)}" if written else "")
        return self._compiled("def run(regs):", f"<loop of {self.code.name}>")

    def whole(self) -> Callable[..., tuple[Any, ...]]:
        """The function of all of the code, whose parameters are its first registers."""
        template, parameters = self.code.template, range(len(self.code.parameters))
        for register in unwritten(self.code) - self.fixed.keys():
            self.fixed[register] = f"c{register}"
            self.names[f"c{register}"] = template[register]
        self._walk(0, -1, WHOLE)
        first = sorted(self.needed[0] - self.fixed.keys() - set(parameters))
        for register in first:
            self.names[f"c{register}"] = template[register]
        self.lines[0] = f" {_listed(first)} = {', '.join([f'c{r}' for r in first])}," if first else " pass"
        head = f"def run({', '.join([f'r{r}' for r in parameters])}):"
        return self._compiled(head, f"<function of {self.code.name}>")

    def _compiled(self, head: str, filename: str) -> Callable[..., Any]:
        self.sites.insert(0, 0)
        exec(compile("\n".join([head, *self.lines]), filename, "exec"), self.names)
        run: Callable[..., Any] = self.names.pop("run")
        return run

    def _guarded(self, guard: str, head: int, entry: Instruction | None) -> None:
        """A loop, twice where there is a condition under which it needs fewer checks."""
        if not guard:
            self._rounds(head, entry)
            return
        self.settle()
        size = self.size
        for start, small in ((f"if {guard}:", self.small), ("else:", frozenset[int]())):
            self.small, self.size = small, size
            self.line(start)
            self.enter()
            self._rounds(head, entry)
            self.settle()
            self.depth -= 1

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
            if self.size > self.largest:
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
                self._within(last, head)
                block = b[1]
            elif op is Op.RETURN and head == WHOLE and stop == -1:
                self.line(f"return ({''.join([self.read(r) + ', ' for r in a])})")
                return
            else:
                raise NotTranslatedError(op.name)

    def _within(self, entry: Instruction, head: int) -> None:
        """A loop inside what is written; of one that is in no other, many iterations are worth a look at numbers."""
        op, d, _, a, (inside, *_), _ = entry
        if head != WHOLE:
            self._rounds(inside, entry)
            return
        self.settle()
        guard = self._guard(inside)
        if guard and op is not Op.WHILE:
            guard = f"{self.raw(a)} - {self.raw(d)} > {MANY} and {guard}"
        self._guarded(guard, inside, entry)
        self.small = frozenset()

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
            if is_last and following[0] in FUSED_INTO and not looks_twice(following, d):
                fusible[id(instruction)] = following
            live.difference_update(written)
            live.update(read)
        return fusible

    # -- instructions -------------------------------------------------------------------------------------------------

    def _instruction(self, instruction: Instruction, next_: Instruction | None) -> None:
        op, d, f, a, b, self.site = instruction
        if op is Op.ADD or op in CALLS:
            self._call(instruction, next_)
        elif op is Op.MOVE:
            value = self.read(a)
            self.line(f"{self.write(d)} = {value}")
        elif op is Op.MOVES:
            values = ", ".join([self.read(r) for r in a])
            self.line(f"{', '.join([self.write(r) for r in d])} = {values}")
        elif op is Op.DROP:
            self.line(" = ".join([*[self.write(r) for r in a], "None"]))
        elif op in (Op.LIST, Op.TUPLE, Op.DICT, Op.UNPACK):
            self._container(instruction)
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

    def _container(self, instruction: Instruction) -> None:
        op, d, f, a, b, _ = instruction
        if op is Op.UNPACK:
            items = self.read(a)
            self.line(f"{''.join([self.write(r) + ', ' for r in d])}{'= ' if d else ''}unpacked({items}, {b})")
            return
        values = [self.read(r) for r in a]
        listed = "".join([v + ", " for v in values])
        if op is Op.DICT:
            display = f"{{{', '.join([f'{k}: {v}' for k, v in zip(values[::2], values[1::2], strict=True)])}}}"
        elif op is Op.LIST:
            display = f"[{listed}]"
        else:
            display = f"({listed})" if f is None else f"{self._name(f)}({listed})"
        self.line(f"{self.write(d)} = {display}")

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
        elif is_in(f, SUMS):
            self._wraps(instruction, SUMS[f].format(*[self.raw(r) for r in registers]), next_)
        elif is_in(f, PRODUCTS):
            self._wraps(instruction, PRODUCTS[f].format(*[self.read(r) for r in registers]), next_)
        elif is_in(f, DIVISIONS):
            self._division(instruction, next_)
        else:
            called = self._called(f, registers)
            self._result(d, called, next_ is not None and is_in(f, WRITTEN) and f is not operator.getitem)

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
        is_fused = next_ is not None and (is_small or is_sum(next_))
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
        if is_in(f, WRITTEN):
            return WRITTEN[f].format(*values)
        if is_in(f, OF_CONTAINERS):
            return OF_CONTAINERS[f].format(*values[:2], "".join(f", {v}" for v in values[2:]))
        return f"{self._name(f)}({', '.join(values)})"

    def _division(self, instruction: Instruction, next_: Instruction | None) -> None:
        """By zero, the operator says what it says."""
        _, d, f, dividend, divisor, _ = instruction
        a, b = self.read(dividend), self.read(divisor)
        text = DIVISIONS[f].format(a, b)
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


def _listed(registers: Sequence[int]) -> str:
    return ", ".join(f"r{r}" for r in registers) + ","
