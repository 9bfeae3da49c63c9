"""Chooses which inputs of a kernel are copied so that they are contiguous along the vector axis."""

from __future__ import annotations

import math

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Buffer, index_axes
from flambeau.codegen.schedule import Pack
from flambeau.codegen.specialize import Specialized, parallel_group

WHOLE = 1 << 18
"""Bytes up to which an input is copied at once."""
BLOCK = 1 << 19
"""Bytes up to which a block of rows is: it should stay in the second cache."""
TILES = 4
"""Tiles side by side in a block of rows, where the lines of a column meet in the same places of a cache."""
MEETING = 1024
"""Steps of so many bytes, or multiples, meet in the first cache after few iterations."""
FEWEST = 4
"""Iterations that make copying worth it: of both axes of a tile, and times that a copy is read."""


def packs_for(special: Specialized, axis: str) -> tuple[Pack, ...]:
    """The inputs to copy when ``axis`` is the vector axis."""
    indexed = index_axes(special.kernel)
    plain = [b for b in special.kernel.inputs if not indexed & set(b.axes)]
    return tuple(p for b in plain if (p := _pack_for(special, b, axis)) is not None)


def _pack_for(special: Specialized, b: Buffer, axis: str) -> Pack | None:
    """A copy of one input, if it lies side by side along another axis than the vector axis."""
    t = element_type(b.dtype)
    size = t.itemsize
    if size < 4 or t.kind == "complex" or axis not in b.axes or special.strides[b.name, axis] == size:
        return None
    along = next((a for a in b.axes if special.strides[b.name, a] == size), None)
    if along is None or special.sizes[axis] < FEWEST:
        return None
    return _whole(special, b, axis, along) or _block_of_rows(special, b, axis, along)


def _whole(special: Specialized, b: Buffer, axis: str, along: str) -> Pack | None:
    """A copy of a small matrix that is read again and again."""
    bytes_ = element_type(b.dtype).itemsize * math.prod(special.sizes[a] for a in b.axes)
    reads = math.prod(n for a, n in special.sizes.items() if a not in b.axes)
    return Pack(b.name, along, True) if set(b.axes) == {along, axis} and bytes_ <= WHOLE and reads >= FEWEST else None


def _block_of_rows(special: Specialized, b: Buffer, axis: str, along: str) -> Pack | None:
    """A copy of some rows at a time, in the parallel loop along which they lie."""
    outer = parallel_group(special.kernel)
    if along not in outer or special.sizes[along] < FEWEST or 64 * special.sizes[axis] > BLOCK:
        return None
    around = outer[: outer.index(along) + 1]
    if [a for a in b.axes if a not in around] != [axis]:
        return None
    meets = special.strides[b.name, axis] % MEETING == 0
    fits = TILES * 64 * special.sizes[axis] <= BLOCK
    is_long = special.sizes[along] >= TILES * 64 // element_type(b.dtype).itemsize
    return Pack(b.name, along, False, TILES if meets and fits and is_long else 1)
