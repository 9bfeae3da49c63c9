"""The block of 64-bit words through which a native kernel gets its arrays.

``[error flag address, data addresses of inputs and outputs, sizes of axes, strides in bytes of (buffer, axis) pairs,
address of the pool's run function or 0, iterations in a piece, address of partial states]``; the last two are the
kernel's own to write. A kernel function is ``void (ptr block, i64 low, i64 high)``; low and high bound its outermost
axis.
"""

from __future__ import annotations

from flambeau.codegen.kernel.nest import Kernel
from flambeau.util.record import dataclass

NO_MEMORY, ZERO_DIVISOR, OUTSIDE, REFUSED = -1, 1, 2, 3
"""What stands in the error flag after a call for which there was no memory to work in, in which an integer was divided
by zero, an index lay outside, or the numbers of a tensor were not what the operator takes."""
OUT_OF_MEMORY = "there is not enough memory for what operators keep while they run"


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Where each word of a kernel's block stands."""

    data: dict[str, int]
    sizes: dict[str, int]
    strides: dict[tuple[str, str], int]
    pool: int
    step: int
    partials: int
    words: int


def block_layout(kernel: Kernel) -> BlockLayout:
    """The layout for ``kernel``; scratch buffers have no place in it."""
    at = 1
    data: dict[str, int] = {}
    sizes: dict[str, int] = {}
    strides: dict[tuple[str, str], int] = {}
    outside = kernel.inputs + kernel.outputs
    for buffer in outside:
        data[buffer.name] = at
        at += 1
    for axis in kernel.axes:
        sizes[axis] = at
        at += 1
    for buffer in outside:
        for axis in buffer.moving_axes:
            strides[buffer.name, axis] = at
            at += 1
    return BlockLayout(data, sizes, strides, at, at + 1, at + 2, at + 3)
