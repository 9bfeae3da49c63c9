"""Classes of sizes: what a schedule is chosen for, so that calls of a class share code, launch and order of sums.

A class is all sizes with one number of bits, but for 0 and 1, and for short innermost axes of calls with many
elements, whose loops may be unrolled: each of those is a class of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from flambeau.codegen.kernel.nest import ONE, Kernel, Loop, main_loops, walk
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


def classes(
    kernel: Kernel, sizes: Mapping[str, int], spans: Sequence[Span] = (), loop_order: Sequence[str] = (),
    strides: Mapping[tuple[str, str], int] | None = None,
) -> dict[str, Range]:  # fmt: skip
    """The class of each axis's size; one that an operator names is alone in its class. Parallel axes are gone through
    in the `loop_order`; `strides`, of buffers along axes, say which of them are walked as one.
    """
    named = {s.axis for s in spans if s.size is not None}
    alone = dict.fromkeys(sizes, 1)
    if is_product(kernel):
        alone = dict.fromkeys(sizes, MOST_EXACT_ROWS)
    elif math.prod(sizes.values()) >= LARGE:
        outermost = {loop.axes[0] for loop in main_loops(kernel) if loop.axes}
        short = _short_axes(kernel, sizes, loop_order, strides or {}) - outermost
        alone = {a: EXACT_UP_TO if a in short else 1 for a in sizes}
    return {a: class_of(n, n if a in named else alone[a]) for a, n in sizes.items()}


def _short_axes(
    kernel: Kernel, sizes: Mapping[str, int], loop_order: Sequence[str], strides: Mapping[tuple[str, str], int]
) -> set[str]:
    """Axes of loops that hold no others, from the innermost out as long as they have few iterations together: loops may
    go through them as one.
    """
    short: set[str] = set()
    parallel = set(loop_order)
    for loop in walk(kernel.body):
        if not isinstance(loop, Loop) or any(isinstance(s, Loop) for s in loop.body):
            continue
        axes = [a for a in loop_order if a in loop.axes] if set(loop.axes) <= parallel else list(loop.axes)
        count, together = 1, set[str]()
        while axes:
            inner = axes.pop()
            count *= sizes[inner]
            together.add(inner)
            if count > EXACT_UP_TO:
                break
            if not axes or not strides or not _are_walked_as_one(kernel, sizes, strides, axes[-1], inner):
                short |= together
                together = set()
    return short


def _are_walked_as_one(
    kernel: Kernel, sizes: Mapping[str, int], strides: Mapping[tuple[str, str], int], outer: str, inner: str
) -> bool:
    """Whether an axis goes on where another ends, in all buffers."""
    return all(
        strides.get((b.name, outer), 0) == strides.get((b.name, inner), 0) * sizes[inner]
        for b in (*kernel.inputs, *kernel.outputs)
    )


def are_short_ends_alone(kernel: Kernel, sizes: Mapping[str, int], ranges: Mapping[str, Range]) -> bool:
    """Whether short last axes of all inputs are classes of their own."""
    ends = [b.axes[-1] for b in kernel.inputs if b.axes and b.axes[-1] != ONE]
    return all(ranges[a][0] == ranges[a][1] for a in ends if sizes[a] <= EXACT_UP_TO)


def bucket_of(arrays: Sequence[npt.NDArray[np.generic] | None], *, exactly: bool) -> int:
    """Where native code looks for launches of calls with these arrays; None stands for a number. `exactly`: those whose
    short last axes have these very sizes.
    """
    total = 0
    for a in arrays:
        if a is None:
            continue
        is_large = a.size >= LARGE
        for dim, (size, step) in enumerate(zip(a.shape, a.strides, strict=True)):
            is_short = exactly and is_large and size <= EXACT_UP_TO and dim == a.ndim - 1
            code = size if is_short else EXACT_UP_TO + size.bit_length()
            total = (total * FACTOR + code + (step == a.itemsize)) % (1 << 64)
    return (total ^ (total >> 7)) & (BUCKETS - 1)
