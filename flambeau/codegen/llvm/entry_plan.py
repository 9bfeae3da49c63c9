"""What the native entry reads: the words of plans and of their records, and where objects have their fields."""

from __future__ import annotations

from flambeau.util.record import dataclass

PLAN = (
    "next", "kernel", "high", "step", "words", "template", "flags", "n_in", "n_out", "inputs", "outputs", "pieces",
    "pool", "size_at", "least", "most", "program", "geometry", "rank", "target",
)  # fmt: skip
"""Words of a plan. One for any size (see ``entry_sizes``) has the place of its block's word for the number of elements
in ``size_at``, and serves from ``least`` to ``most`` of them; its ``high`` and ``pieces`` follow from that number. That
of a pattern (see ``entry_patterns``) has a ``program``. One that goes over its arrays row by row (see
``entry_geometry``) says how in ``geometry``, for up to ``most`` elements.
"""
INPUT_WORDS = 4
"""descriptor, rank, dimensions, strides; for a Python number 0, 0 for a float and 1 for an int, its type, 0; for an
object that decides by being this very one 0, ``IDENTITY``, itself, 0"""
IDENTITY = 2
OUTPUT_WORDS = 7
"""descriptor, rank, dimensions, strides (0: row-major), bytes, whether it starts on a 64-byte boundary, ready storages
(see ``entry_ready``; 0 for none)"""
READY_PLACE = 6
"""The place of the last of them."""
RELEASE_GIL = 1
CELL = ("plans", "served", "looks")
"""Words of what a chain shows: the newest plan, how many calls were served, what inputs its patterns may have."""


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
    """In a native callable: the address of its words (``CELL``)."""
    slow: int
    """In a native callable: the callable for everything else."""


def plan_word(name: str, plan: str, register: str, kind: str = "i64") -> str:
    """LLVM text that loads a word of a plan into a register."""
    place = PLAN.index(name)
    return (
        f"  %{register}.p = getelementptr i64, ptr {plan}, i64 {place}\n  %{register} = load {kind}, ptr %{register}.p"
    )
