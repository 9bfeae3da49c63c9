"""Elements that one iteration of a loop loads, and that the next one loads again.

    for j in range(1, w - 1):
        out[i, j] = x[i, j - 1] + x[i, j] + x[i, j + 1]      # x[i, j + 1] is x[i, j] of the next iteration

Carried over in a register an element is loaded once; but vectors of iterations then have to be put together of two, and
LLVM makes none for the iterations that long vectors leave over, which in short rows are all. So such loops load each
time, unless another loop reads what its own last iteration wrote (`d[i, j] = d[i, j - 1] + 1`): that one waits for
memory if it does.
"""

from __future__ import annotations

from flambeau.codegen.graph.loops.lanes_emitter import Accesses, Part
from flambeau.codegen.graph.parts import Parts

_Key = tuple[str, tuple[str, ...]]
"""Where an address starts, and its indexes but for how far they are from the loop's own."""


def note(parts: Parts, accesses: Accesses) -> None:
    """Remember what an innermost loop does of both kinds."""
    read, written = _offsets(accesses, accesses.read), _offsets(accesses, accesses.written)
    starts = {start for start, _ in written}
    parts.repeats_loads |= any(len(offsets) > 1 and key[0] not in starts for key, offsets in read.items())
    parts.reads_what_it_wrote |= any(read.get(key, offsets) != offsets for key, offsets in written.items())


def _offsets(accesses: Accesses, addresses: dict[str, None] | dict[str, int]) -> dict[_Key, set[int]]:
    """At which distances from each other elements of one row lie, of addresses that move with the iterations."""
    result: dict[_Key, set[int]] = {}
    for address in addresses:
        start, parts = accesses.paths.get(address, ("", ()))
        moving = [part for part in parts if _moves(part)]
        if len(moving) == 1:
            fixed = tuple([str(part) for part in parts if part is not moving[0]])
            affine, stride = moving[0]
            key = start, (*fixed, f"{affine.invariants} {affine.slope} {affine.step} {stride}")
            result.setdefault(key, set()).add(affine.offset)
    return result


def _moves(part: Part) -> bool:
    return part[0].slope != 0 or part[0].step is not None
