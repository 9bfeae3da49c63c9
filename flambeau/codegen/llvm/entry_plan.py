"""What the native entry reads: the words of plans and of their records, and where objects have their fields."""

from __future__ import annotations

from flambeau.codegen.layouts import PLAN
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where fields stand, in bytes from the start of an object."""

    type: int
    data: int
    rank: int
    dims: int
    strides: int
    descr: int
    flags: int
    cell: int
    """In a native callable: the address of its words (`layouts.CELL`)."""
    slow: int
    """In a native callable: the callable for everything else."""


def plan_word(name: str, plan: str, register: str, kind: str = "i64") -> str:
    """LLVM text that loads a word of a plan into a register."""
    place = PLAN.word(name)
    return (
        f"  %{register}.p = getelementptr i64, ptr {plan}, i64 {place}\n  %{register} = load {kind}, ptr %{register}.p"
    )
