"""Where in a compiled graph code is being emitted: in which loop, and behind which branches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.codegen.graph.native_values import Affine
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Value
from flambeau.util.record import dataclass, field


@dataclass(frozen=True, slots=True)
class DrawSlot:
    """Where a function keeps the address of NumPy's generator while it has it."""

    slot: Register
    draws_normals: bool
    """Whether it draws normal numbers, of which one may be kept between calls."""


@dataclass(slots=True)
class Iterations:
    """The fast copy of a counted loop."""

    index: Register
    before: int
    """The number of the last register made before the loop."""
    moving: tuple[Value, Affine] | None = None
    """A carried value that moves evenly too, and how."""
    needs: dict[tuple[Affine, Register], None] = field(default_factory=dict)
    """Indexes and the sizes they must stay within."""
    refusals: list[Register] = field(default_factory=list)
    """Conditions that no iteration changes, and under which each would leave the function; set by `ahead`."""
    ahead: list[str] = field(default_factory=list)
    """Instructions to be put before the loop."""
    is_straight: bool = True
    """Whether every iteration comes by here, so that what is needed here may be needed of all iterations."""
    is_rare: bool = False
    """Whether what comes by here ends in an exception."""

    def is_outside(self, register: Register) -> bool:
        """Whether a register was set before the loop. Registers are numbered as they are made."""
        digits = register.text.lstrip("%abcdefghijklmnopqrstuvwxyz")
        return not register.text.startswith("%") or not digits or int(digits) <= self.before

    @property
    def are_checked(self) -> bool:
        """Whether some iterations may be for the copy that checks everything."""
        return bool(self.needs or self.refusals)

    @property
    def strides(self) -> bool:
        """Whether the carried value moves by more than one: of such loops LLVM makes vectors that gain nothing."""
        return self.moving is not None and (self.moving[1].step is not None or abs(self.moving[1].slope) > 1)

    def may_need(self, affine: Affine) -> bool:
        """Whether the iterations of the fast copy may be those in which an index here is within its size.

        Of a branch, which not every iteration takes, only where the iterations in question are found exactly: `x[i -
        1]` behind `if i > 0` leaves out the first iteration.
        """
        return self.is_straight or (is_simple(affine) and not self.is_rare)


def is_simple(affine: Affine) -> bool:
    """Whether the iterations in which the index is within a size are found in 64 bits, whatever its parts are.

    The first index is what the program computes, wrapped or not; the iterations are then found by one difference.
    """
    return affine.step is None and len(affine.invariants) <= 1 and affine.slope in (-1, 0, 1)


@dataclass(slots=True)
class Scope:
    """Where code is being put."""

    has_loops: bool
    """Whether there is a loop anywhere in the graph."""
    iterations: Iterations | None = None
    """The innermost counted loop, if this is its fast copy."""
    loop_depth: int = 0

    @contextmanager
    def within_branch(self, *, is_rare: bool) -> Iterator[None]:
        """What is put meanwhile is not reached by every iteration; `is_rare` if it ends in an exception."""
        iterations = self.iterations
        if iterations is None:
            yield
            return
        before = iterations.is_straight, iterations.is_rare
        iterations.is_straight = False
        iterations.is_rare |= is_rare
        try:
            yield
        finally:
            iterations.is_straight, iterations.is_rare = before
