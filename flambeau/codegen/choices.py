"""What a function asks of its native code."""

from __future__ import annotations

from flambeau.util.record import dataclass

FASTMATH = "reassoc nsz arcp contract"
"""Flags of LLVM for arithmetic that may be regrouped: sums in any order, reciprocals, fused multiply-adds, and the sign
of a zero left open. nan and infinities keep their meaning (LLVM Language Reference, "Fast-Math Flags")."""


@dataclass(frozen=True, slots=True)
class Choices:
    """How native code is made and run."""

    num_threads: int | None = None
    """Threads that one kernel may use, the caller's included; None: as `set_num_threads` says."""
    fastmath: bool = False
    """Whether the user's own arithmetic may be regrouped."""
    optimise: bool = True
    """Whether LLVM's passes run over whole graphs; without them code is made in a third of the time."""


USUAL = Choices()
