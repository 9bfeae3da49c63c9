"""How a kernel runs, apart from what it means: the choices that change speed and never a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """One set of choices for one specialised kernel."""

    vector_axis: str | None = None
    """Axis whose turns are taken ``lanes`` at a time."""
    lanes: int = 1
    """Elements per vector value; several machine vectors in lockstep hide latency."""
    unit: frozenset[str] = frozenset()
    """Buffers whose stride along the vector axis is one element; others there are gathered."""
    nontemporal: bool = False
    """Outputs bypass the caches; they start on 64-byte boundaries in every row."""
    prefetch: int = 0
    """Turns ahead of which a fold along a strided axis asks for memory: the processor follows rows, not columns."""
    contract: bool = False
    """Allow a product and a sum of the user's to fuse into one rounding."""

    def key(self) -> str:
        """A line of text that tells schedules apart."""
        flags = ("n" if self.nontemporal else "") + ("c" if self.contract else "")
        ahead = f" ahead={self.prefetch}" if self.prefetch else ""
        return f"{self.vector_axis} x{self.lanes} unit={','.join(sorted(self.unit))} {flags}{ahead}"
