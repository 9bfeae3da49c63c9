"""Long sums of floats, one iteration after another, folded piece by piece: rounding errors grow with the number of
pieces and with the length of one, not with the product of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Carry, Loop
from flambeau.codegen.llvm import reduce
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Emitter, Value, int_constant

PIECE: Final = 256
"""Iterations of a piece."""

Counted = Callable[[Value, Value, int, Scope, Callable[[Scope], None] | None], None]
"""Emits a loop from one index to another by steps, with a body of its own or the loop's."""


def sums_of(loop: Loop) -> list[Carry]:
    """The carried states of a loop that are sums of floats."""
    return [c for c in loop.carries if c.reducer == "sum" and element_type(c.dtype).is_float]


def fold(
    e: Emitter, axis: str, sums: Sequence[Carry], low: Value, high: Value, scope: Scope, counted: Counted
) -> None:
    """The iterations of a loop along an axis, whose `sums` start at 0 for each piece and are added to those of the
    pieces before.
    """

    def piece(child: Scope) -> None:
        start, before = child.index[axis], {c.name: child.carries[c.name] for c in sums}
        end = e.binary("add", start, int_constant(PIECE, "i64", 1))
        end = e.select(e.icmp("slt", end, high), end, high)
        for c in sums:
            child.carries[c.name] = reduce.identity(c.reducer, element_type(c.dtype), before[c.name][0].lanes)
        counted(start, end, 1, child, None)
        for c in sums:
            state = reduce.combine(e, c.reducer, element_type(c.dtype), before[c.name], child.carries[c.name])
            child.carries[c.name] = state

    counted(low, high, PIECE, scope, piece)
