"""Loops that run often, as Python functions: CPython runs its own bytecode several times faster than ours.

    for i in range(n): s = s * 31 + i        def loop(regs):
                                                 r0, r6, r7 = regs[0], regs[6], regs[7]
    block 1:                                     for r7 in range(r7, r0):
      CALL2 r8 = aten::mul.int(r6, r3)               r6 = r6 * 31 + r7
      ADD   r6 = r8 + r7                  ->         if r6 > MAX or r6 < MIN: r6 = wrap(r6)
      FOR   r7 below r0: block 1                 regs[6], regs[7] = r6, r7

A function starts at the head of the body, from any iteration on, and comes back when the loop is done; registers are
its local variables meanwhile (`loop_writer`). It has a line for each instruction that may fail, by which the
instruction's site is found again. Where small numbers at the start mean that sums stay within 64 bits, there are two
loops, and the numbers decide which one runs. Loops that call programs' functions, return from inside or enter contexts
are left to the machine.

A `HotLoop` belongs to its code, for all threads: it counts iterations and keeps the function, which like all code has
no state of any run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final

from flambeau.interpreter.code import Code, Instruction, Op
from flambeau.interpreter.loop_structure import NotTranslatedError
from flambeau.interpreter.loop_writer import write
from flambeau.util.at_hand import TakesLongError, is_trial
from flambeau.util.locks import Lock

Registers = list[Any]
HOT: Final = 200
"""Iterations after which a loop is translated: what that takes is as long as they took."""
MANY: Final = 10_000
"""Iterations to come for which it is worth finding out what stays small."""
AGAIN: Final = 400
"""Heat of a loop with few iterations for which it is: once it is translated, it grows with calls."""

_translating = Lock()


class HotLoop:
    """What is known of one loop of a code."""

    __slots__ = ("_is_short", "_sites", "heat", "inside", "run")

    def __init__(self, inside: int) -> None:
        self.inside = inside
        """The block at the head of its body."""
        self.heat = 0
        """Iterations that the machine went; below zero if it always will."""
        self.run: Callable[[Registers], None] | None = None
        self._is_short = False
        """Whether the function was made in haste, for few iterations."""
        self._sites: dict[Any, Sequence[int]] = {}

    def function(self, code: Code, regs: Registers, last: Instruction) -> Callable[[Registers], None] | None:
        """The function, made when a hot loop first asks for it, at `last`; None where there is none."""
        if self.run is None or (self._is_short and (self.heat > AGAIN or _iterations_left(regs, last) >= MANY)):
            with _translating:
                if self.heat > 0 and (self.run is None or self._is_short):
                    self._translate(code, is_long=self.heat > AGAIN or _iterations_left(regs, last) >= MANY)
        return self.run

    def _translate(self, code: Code, *, is_long: bool) -> None:
        try:
            run, sites = write(code, self.inside, is_long=is_long)
        except NotTranslatedError:
            self.heat = -(1 << 62)
            return
        self._sites = {**self._sites, run.__code__: sites}
        self._is_short = not is_long
        self.run = run

    def site_of(self, traceback: TracebackType | None) -> int:
        """The site of the instruction at which the function failed."""
        while traceback is not None and traceback.tb_frame.f_code not in self._sites:
            traceback = traceback.tb_next
        return 0 if traceback is None else self._sites[traceback.tb_frame.f_code][traceback.tb_lineno - 1]


class WatchedLoop:
    """A loop of runs in which every instruction is seen: it never becomes a function."""

    __slots__ = ("heat",)

    def __init__(self) -> None:
        self.heat = 0
        """Iterations that the machine went."""

    def function(self, code: Code, regs: Registers, last: Instruction) -> None:
        """None, asked by a hot loop. Raises TakesLongError in a trial."""
        if is_trial():
            raise TakesLongError


def _iterations_left(regs: Registers, last: Instruction) -> int:
    """How many iterations there may still be, as the end of an iteration or the way into the loop says."""
    op, d, _, a, _, _ = last
    return MANY if op is Op.WHILE else regs[a] - regs[d]
