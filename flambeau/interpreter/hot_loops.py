"""Loops that run often, as Python functions: CPython runs its own bytecode several times faster than ours.

    for i in range(n): s = s * 31 + i        def loop(regs):
                                                 r0, r6, r7 = regs[0], regs[6], regs[7]
    block 1:                                     for r7 in range(r7, r0):
      CALL2 r8 = aten::mul.int(r6, r3)               r8 = r6 * 31
      ADD   r6 = r8 + r7                  ->         r6 = r8 + r7
      FOR   r7 below r0: block 1                     if not MIN <= r6 <= MAX: r6 = wrap(r6)
                                                 regs[6], regs[7], regs[8] = r6, r7, r8

A function starts at the head of the body, from any round on, and comes back when the loop is done; registers are its
local variables meanwhile. It has a line for each instruction that may fail, by which the instruction's site is found
again. Sums and products wrap where somebody looks at them: the operations in between agree modulo 2**64. Loops that
call programs' functions, return from inside or enter contexts are left to the machine.

A `HotLoop` belongs to its code, for all threads: it counts rounds and keeps the function, which like all code has no
state of any run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final

from flambeau.interpreter.code import LOOPS, Code, Instruction, Op
from flambeau.ops.language import int64
from flambeau.ops.language.int64 import MAX, MIN, wrap
from flambeau.program.instances import unset
from flambeau.program.object import UNSET
from flambeau.util.locks import Lock

Registers = list[Any]
HOT: Final = 200
"""Rounds after which a loop is translated: what that takes is as long as they took."""
LARGEST, DEEPEST = 500, 12
"""Instructions of a loop that is translated, and loops and branches inside each other."""

_RING: Final[dict[Any, str]] = {int64.add: "{} + {}", int64.sub: "{} - {}", int64.mul: "{} * {}"}
"""What agrees modulo 2**64, whether its operands have been wrapped or not."""
_WRITTEN: Final[dict[Any, str]] = {
    operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}", operator.neg: "-{}",
    operator.lt: "{} < {}", operator.le: "{} <= {}", operator.gt: "{} > {}", operator.ge: "{} >= {}",
    operator.eq: "{} == {}", operator.ne: "{} != {}", operator.and_: "{} & {}", operator.or_: "{} | {}",
    operator.xor: "{} ^ {}", operator.not_: "not {}",
}  # fmt: skip
"""Python's functions as Python writes them."""
_DIVISIONS: Final[dict[Any, str]] = {int64.remainder: "{} % {}", int64.floordiv: "{} // {}"}
_CALLS: Final = frozenset({Op.CALL0, Op.CALL1, Op.CALL2, Op.CALL3, Op.CALL, Op.CALL_MANY, Op.DO, Op.DO2})


_translating = Lock()


class NotTranslatedError(Exception):
    """A loop does what only the machine can do."""


class HotLoop:
    """What is known of one loop of a code."""

    __slots__ = ("_sites", "heat", "inside", "run")

    def __init__(self, inside: int) -> None:
        self.inside = inside
        """The block at the head of its body."""
        self.heat = 0
        """Rounds that the machine went; below zero if it always will."""
        self.run: Callable[[Registers], None] | None = None
        self._sites: Sequence[int] = ()

    def function(self, code: Code) -> Callable[[Registers], None] | None:
        """The function, made when a hot loop first asks for it; None where there is none."""
        if self.run is None:
            with _translating:
                if self.run is None and self.heat > 0:
                    self._translate(code)
        return self.run

    def _translate(self, code: Code) -> None:
        try:
            writer = _Writer(code, self)
            made = writer.function()
            self._sites = writer.sites
            self.run = made
        except NotTranslatedError:
            self.heat = -(1 << 62)

    def site_of(self, traceback: TracebackType | None) -> int:
        """The site of the instruction at which the function failed."""
        while traceback is not None and traceback.tb_frame.f_code is not getattr(self.run, "__code__", None):
            traceback = traceback.tb_next
        return 0 if traceback is None else self._sites[traceback.tb_lineno - 1]


class _Writer:
    """Writes the function of one loop, line by line."""

    def __init__(self, code: Code, loop: HotLoop) -> None:
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
        self.fixed = _constants(code)
        self.line("")  # what is loaded, once it is known
        self._rounds(loop, None)

    def function(self) -> Callable[[Registers], None]:
        """The function itself."""
        used, written = sorted(self.used | self.written), sorted(self.written)
        loads = ", ".join(f"regs[{r}]" for r in used)
        self.lines[0] = f" {_listed(used)} = {loads}," if used else " pass"
        stores = ", ".join(f"regs[{r}]" for r in written)
        text = "\n".join(["def loop(regs):", *self.lines, f" {stores}, = {_listed(written)}" if written else ""])
        self.sites.insert(0, 0)
        exec(compile(text, f"<loop of {self.code.name}>", "exec"), self.names)
        made: Callable[[Registers], None] = self.names.pop("loop")
        return made

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)
        self.sites.append(self.site)

    # -- registers ----------------------------------------------------------------------------------------------------

    def raw(self, register: int) -> str:
        """A register as it is."""
        if register in self.fixed:
            return self.fixed[register]
        self.used.add(register)
        return f"r{register}"

    def read(self, register: int) -> str:
        """A register whose integer is wrapped by now."""
        if register in self.unwrapped:
            self.unwrapped.discard(register)
            name = f"r{register}"
            self.line(f"if not {MIN} <= {name} <= {MAX}: {name} = wrap({name})")
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

    def _rounds(self, loop: HotLoop, entry: Instruction | None) -> None:
        """A loop: all of it with the test at its `entry`, or from the head of its body on."""
        self.settle()
        back = _back(self.code, loop)
        op, d, _, a, _, _ = back
        if op is Op.FOR and not {d, a} & _written_in(self.code, loop):
            self.used.update({d})
            first = f"r{d}" if entry is None else f"r{d} + 1"
            self.line(f"for {self.write(d)} in range({first}, {self.raw(a)}):")
            self._body(loop)
            return
        if entry is not None:
            self.line(f"if {self._test(entry)}:")
            self.enter()
        start = len(self.lines)
        self.line("while True:")
        self._body(loop, back)
        if entry is not None:
            self.leave(start)

    def _body(self, loop: HotLoop, back: Instruction | None = None) -> None:
        self.enter()
        start = len(self.lines)
        self._walk(loop.inside, -1, loop)
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

    def _walk(self, block: int, stop: int, loop: HotLoop) -> None:
        """Blocks from one on, up to another or to the end of a round."""
        while block != stop:
            straight, last = self.code.blocks[block]
            self.size += len(straight) + 1
            if self.size > LARGEST:
                raise NotTranslatedError("too large")
            for instruction in straight:
                self._instruction(instruction)
            op, _, f, a, b, self.site = last
            if op is Op.JUMP:
                block = a
            elif op is Op.BRANCH:
                self._arms(last, loop)
                block = f
            elif op in LOOPS:
                if b[2] is loop:
                    return
                self._rounds(b[2], last)
                block = b[1]
            else:
                raise NotTranslatedError(op.name)

    def _arms(self, branch: Instruction, loop: HotLoop) -> None:
        _, d, join, a, b, _ = branch
        condition = self.read(d)
        self.settle()
        for head, block in ((f"if {condition}:", a), ("else:", b)):
            self.line(head)
            self.enter()
            start = len(self.lines)
            self._walk(block, join, loop)
            self.leave(start)

    # -- instructions -------------------------------------------------------------------------------------------------

    def _instruction(self, instruction: Instruction) -> None:
        op, d, f, a, b, self.site = instruction
        if op is Op.ADD:
            self._ring(d, "{} + {}", (a, b), is_product=False)
        elif op in _CALLS:
            self._call(op, d, f, _operands(instruction))
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

    def _ring(self, d: int, text: str, operands: Sequence[int], *, is_product: bool) -> None:
        """Sums take what is not wrapped yet; products do not, or numbers would grow without bound."""
        values = [self.read(r) if is_product else self.raw(r) for r in operands]
        self.line(f"{self.write(d)} = {text.format(*values)}")
        self.unwrapped.add(d)

    def _call(self, op: Op, d: Any, f: Any, operands: Sequence[int]) -> None:
        if op in (Op.DO, Op.DO2):
            self.line(self._called(f, operands))
        elif op is Op.CALL_MANY:
            called = self._called(f, operands)
            self.line(f"{', '.join([self.write(r) for r in d])}, = {called}")
        elif _is_in(f, _RING):
            self._ring(d, _RING[f], operands, is_product=f is int64.mul)
        elif _is_in(f, _DIVISIONS):
            self._division(d, f, operands)
        else:
            called = self._called(f, operands)
            self.line(f"{self.write(d)} = {called}")

    def _called(self, f: Any, operands: Sequence[int]) -> str:
        values = [self.read(r) for r in operands]
        if _is_in(f, _WRITTEN):
            return _WRITTEN[f].format(*values)
        return f"{self._name(f)}({', '.join(values)})"

    def _division(self, d: int, f: Any, operands: Sequence[int]) -> None:
        """By zero, the operator says what it says."""
        a, b = [self.read(r) for r in operands]
        text = _DIVISIONS[f].format(a, b)
        if operands[1] not in self.fixed:
            text = f"{text} if {b} else {self._name(f)}({a}, {b})"
        elif self.code.template[operands[1]] == 0:
            text = f"{self._name(f)}({a}, {b})"
        self.line(f"{self.write(d)} = {text}")
        if f is int64.floordiv:
            self.unwrapped.add(d)

    def _name(self, f: Any) -> str:
        name = f"f{id(f)}"
        self.names[name] = f
        return name


def _is_in(f: Any, table: dict[Any, str]) -> bool:
    """Whether a function is one of a table's: others may compare in ways of their own, or not be hashable."""
    return any(f is known for known in table)


def _operands(instruction: Instruction) -> tuple[int, ...]:
    op, _, _, a, b, _ = instruction
    match op:
        case Op.CALL0:
            return ()
        case Op.CALL1:
            return (a,)
        case Op.CALL2 | Op.DO2:
            return (a, b)
        case Op.CALL3:
            return (a, *b)
    operands: tuple[int, ...] = a
    return operands


def _results(instruction: Instruction) -> tuple[int, ...]:
    """The registers that an instruction writes."""
    op, d, _, a, _, _ = instruction
    if op is Op.DROP:
        dropped: tuple[int, ...] = a
        return dropped
    if op in (Op.JUMP, Op.BRANCH, Op.WHILE, Op.RETURN, Op.DO, Op.DO2, Op.SET_ATTR, Op.WARN, Op.ENTERED, Op.LEFT):
        return ()
    return d if isinstance(d, tuple) else (d,)


def _constants(code: Code) -> dict[int, str]:
    """Registers that hold the same int or bool in every run, as Python writes it."""
    changed = set(range(len(code.parameters)))
    for straight, last in code.blocks:
        for instruction in (*straight, last):
            changed.update(_results(instruction))
    return {
        k: f"({value})" if type(value) is int and value < 0 else str(value)
        for k, value in enumerate(code.template)
        if k not in changed and type(value) in (int, bool)
    }


def _inside(code: Code, loop: HotLoop) -> list[Instruction]:
    """The instructions of a loop, those of loops inside it included; its own end comes last."""
    found: list[Instruction] = []
    back: list[Instruction] = []
    seen: set[int] = set()
    waiting = [loop.inside]
    while waiting:
        block = waiting.pop()
        if block in seen:
            continue
        seen.add(block)
        straight, last = code.blocks[block]
        found += straight
        op, _, _, a, b, _ = last
        if op in LOOPS and b[2] is loop:
            back.append(last)
            continue
        found.append(last)
        if op is Op.JUMP:
            waiting.append(a)
        elif op is Op.BRANCH:
            waiting += [a, b]
        elif op in LOOPS:
            waiting += b[:2]
        else:
            raise NotTranslatedError(op.name)
    if len(back) != 1:
        raise NotTranslatedError("it ends in several places")
    return [*found, *back]


def _back(code: Code, loop: HotLoop) -> Instruction:
    """The instruction that ends a round."""
    return _inside(code, loop)[-1]


def _written_in(code: Code, loop: HotLoop) -> set[int]:
    return {r for instruction in _inside(code, loop)[:-1] for r in _results(instruction)}


def _listed(registers: Sequence[int]) -> str:
    return ", ".join(f"r{r}" for r in registers) + ","
