"""How a kernel runs, apart from what it means: the choices that change speed and never a value."""

from __future__ import annotations

from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Pack:
    """An input copied so that it is contiguous along the vector axis."""

    buffer: str
    along: str
    """The axis along which the input itself is contiguous."""
    whole: bool
    """Copied once, at the start; otherwise a block of iterations of ``along`` at a time."""
    tiles: int = 1
    """Tiles side by side that a block has: where steps between iterations of the vector axis are large, the cache keeps
    nothing of a line that a tile leaves over."""

    def key(self) -> str:
        """It as part of a schedule's line."""
        tiles = f"*{self.tiles}" if self.tiles > 1 else ""
        return f"{self.buffer}:{self.along}{'!' if self.whole else ''}{tiles}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """One set of choices for one specialised kernel."""

    vector_axis: str | None = None
    """Axis whose iterations are taken ``lanes`` at a time."""
    lanes: int = 1
    """Elements per vector value; several machine vectors in lockstep hide latency."""
    unit: frozenset[str] = frozenset()
    """Buffers whose stride along the vector axis is one element; others there are gathered."""
    nontemporal: bool = False
    """Outputs bypass the caches; they start on 64-byte boundaries in every row."""
    prefetch: int = 0
    """Iterations ahead of which a fold along a strided axis asks for memory: the processor follows rows, not
    columns.
    """
    packs: tuple[Pack, ...] = ()
    """Inputs to copy; they count as ``unit``."""
    fixed: tuple[tuple[str, int], ...] = ()
    """Sizes of short axes, whose loops are unrolled."""
    narrow: bool = False
    """Places that argmax and argmin remember fit 32 bits."""
    jam: int = 1
    """Rows computed side by side, statement by statement, so that one waits while others go on."""
    next_row: bool = False
    """The last pass over a row asks for the next row, which the processor does not do past the end of a page."""
    dense: frozenset[tuple[str, str]] = frozenset()
    """Buffers and axes along which elements lie side by side: a constant of the code, where loops go one by one."""
    rest_lanes: int = 0
    """Elements per vector value for what a row has beyond whole vectors of ``lanes``; 0 for a masked iteration."""
    fastmath: bool = False
    """Allow the user's own arithmetic to be regrouped."""

    def key(self) -> str:
        """A line of text that tells schedules apart."""
        flags = ("n" if self.nontemporal else "") + ("s" if self.narrow else "") + ("f" if self.fastmath else "")
        ahead = f" ahead={self.prefetch}" if self.prefetch else ""
        packs = "".join(f" pack={p.key()}" for p in self.packs)
        ahead += " next" if self.next_row else ""
        ahead += f" jam={self.jam}" if self.jam > 1 else ""
        packs += f" dense={','.join(f'{b}.{a}' for b, a in sorted(self.dense))}" if self.dense else ""
        fixed = "".join(f" {axis}={size}" for axis, size in self.fixed)
        lanes = f"{self.lanes}+{self.rest_lanes}" if self.rest_lanes else str(self.lanes)
        return f"{self.vector_axis} x{lanes} unit={','.join(sorted(self.unit))} {flags}{ahead}{packs}{fixed}"


@dataclass(frozen=True, slots=True)
class Split:
    """How the iterations of a call are shared out."""

    axis: str | None
    """Of the specialised kernel; None where there is but one iteration."""
    unit: int = 1
    """Iterations of that axis that count as one."""
    grain: int = 1
    most_pieces: int = 0
    """0: one thread takes all."""
    each: int = 3000
    """Nanoseconds of a piece."""

    def of(self, iterations: int, nanoseconds: float) -> tuple[int, int, int]:
        """(size of the range of a call, what a piece has of it, pieces); nothing: one thread does it all."""
        high = -(-iterations // self.unit)
        pieces = min(self.most_pieces, max(1, int(nanoseconds / self.each)))
        if pieces < 1:
            return high, 0, 1
        step = -(-high // pieces)
        step = -(-step // self.grain) * self.grain
        return (high, step, -(-high // step)) if step < high else (high, 0, 1)
