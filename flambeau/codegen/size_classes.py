"""Classes of sizes: what a schedule is chosen for, so that calls of a class share code, launch and order of sums.

A class is all sizes with one number of bits, but for 0 and 1, and for short axes of calls with many elements, whose
loops may be unrolled: each of those is a class of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flambeau.codegen.kernel.nest import Kernel, main_loops
from flambeau.codegen.llvm.entry_patterns import BUCKETS, EXACT_UP_TO, FACTOR, LARGE
from flambeau.codegen.products import is_product
from flambeau.codegen.products.tiling import MOST_EXACT_ROWS
from flambeau.codegen.shapes import Span

Range = tuple[int, int]
"""The least and the most of a class."""


def class_of(size: int, alone: int = 1) -> Range:
    """The class that a size is in; sizes up to `alone` are classes of their own."""
    if size <= alone:
        return size, size
    least = 1 << size.bit_length() - 1
    return max(least, alone + 1), 2 * least - 1


def classes(kernel: Kernel, sizes: dict[str, int], spans: Sequence[Span] = ()) -> dict[str, Range]:
    """The class of each axis's size; one that an operator names is alone in its class."""
    named = {s.axis for s in spans if s.size is not None}
    alone = dict.fromkeys(sizes, 1)
    if is_product(kernel):
        alone = dict.fromkeys(sizes, MOST_EXACT_ROWS)
    elif math.prod(sizes.values()) >= LARGE:
        outermost = {loop.axes[0] for loop in main_loops(kernel) if loop.axes}
        alone = {a: 1 if a in outermost else EXACT_UP_TO for a in sizes}
    return {a: class_of(n, n if a in named else alone[a]) for a, n in sizes.items()}


def bucket_of(arrays: Sequence[npt.NDArray[np.generic] | None]) -> int:
    """Where native code looks for launches of calls with these arrays; None stands for a number."""
    total = 0
    for a in arrays:
        if a is None:
            continue
        is_large = a.size >= LARGE
        for size, step in zip(a.shape, a.strides, strict=True):
            code = size if is_large and size <= EXACT_UP_TO else EXACT_UP_TO + size.bit_length()
            total = (total * FACTOR + code + (step == a.itemsize)) % (1 << 64)
    return (total ^ (total >> 7)) & (BUCKETS - 1)
