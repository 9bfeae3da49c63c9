"""Loops that load elements which lie apart, and do little with them: vectors of such elements cost more than they gain.

for j in range(w):
    out[i, j] = 0.3 * img[i, j, 0] + 0.7 * img[i, j, 1]      # neighbours in j are 24 bytes apart, and loaded one by one

With AVX-512 LLVM gathers them, by its own costs: on Zen 4 a vector of eight takes some fourteen cycles, in which a
core does two operations for each of them. So a loop gains by vectors only if there is more than that to do for each
load. Measured by sums of one to four elements with up to sixteen products and sums behind them.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.loops.lanes_emitter import Accesses, Part
from flambeau.codegen.llvm.emitter import Target

LINES_FOR_ONE: Final = 8
"""Instructions of LLVM for each such load, its address among them, beyond which a loop gains by vectors."""
_GATHERING: Final = 512
"""Bits of the vectors that LLVM gathers."""


def gains_by_vectors(target: Target, accesses: Accesses, lines: int) -> bool:
    """Whether a loop of so many instructions gains by vectors in spite of what it loads."""
    if target.vector_bits < _GATHERING:
        return True
    apart = sum(_lies_apart(accesses.paths[address][1]) for address in accesses.read if address in accesses.paths)
    return not apart or lines > apart * LINES_FOR_ONE


def _lies_apart(parts: tuple[Part, ...]) -> bool:
    """Whether an address moves from one iteration to the next, by more than an element or by nobody knows how much."""
    moving = [(affine, stride) for affine, stride in parts if affine.slope or affine.step is not None]
    if not moving:
        return False
    affine, stride = moving[0]
    is_next = len(moving) == 1 and affine.step is None and affine.slope in (-1, 1)
    return not is_next or memory.literal(stride) is None
