"""Launches that serve any size: for pointwise kernels of arrays that lie row-major and all have one shape.

Such a call has one axis, that of all elements in order, so that code, strides and all decisions but a few are the same
for any number of elements. For those few, how many threads run it and whether they hold the GIL, there are several.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen import threads
from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.choose_schedule import PARALLEL_FROM, last_level_cache
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.kernel.nest import Buffer, Const, Kernel, Let, Load, Loop, Store, walk
from flambeau.codegen.launches import RELEASE_FROM, Launch, make_launch
from flambeau.codegen.llvm.abi import block_layout
from flambeau.codegen.schedules import KeptSchedules
from flambeau.codegen.shapes import Span
from flambeau.util import thread_count
from flambeau.util.record import dataclass, replace

EXAMPLE = 4096
"""Elements of the call that the launch is made from."""


@dataclass(frozen=True, slots=True)
class SizedLaunch:
    """A launch for numbers of elements from `least` to `most`."""

    launch: Launch
    size_at: int
    """The word of its block that says how many."""
    least: int
    most: int
    releases: bool
    """Whether it runs without the GIL."""
    step: int
    """Elements that a thread takes at a time; 0: all by one thread."""
    threads: int


def sized_launches(
    kernel: Kernel, spans: tuple[Span, ...], arrays: Sequence[npt.NDArray[Any]], choices: Choices = USUAL,
    kept: KeptSchedules | None = None,
) -> list[SizedLaunch]:  # fmt: skip
    """Launches for calls like one with these arrays but of other sizes; none where it has another form."""
    rank = max((a.ndim for a in arrays), default=0)
    if not rank or not _is_plain(kernel, rank) or any(s.size is not None for s in spans):
        return []
    shape = (*[2] * (rank - 1), max(EXAMPLE >> (rank - 1), 2))
    examples = [np.empty(shape if a.ndim else (), a.dtype) for a in arrays]
    try:
        launch = make_launch(kernel, spans, examples, replace(choices, num_threads=1), kept)
    except KernelError:
        return []
    if launch.variant is None:
        return []
    [*words] = block_layout(launch.variant.kernel).sizes.values()
    return _ranges(launch, words[0], math.prod(shape), choices.num_threads) if len(words) == 1 else []


def _is_plain(kernel: Kernel, rank: int) -> bool:
    """Whether a kernel takes each element of its arrays by itself, wherever it stands."""
    loops = [s for s in kernel.body if isinstance(s, Loop)]
    if len(loops) != 1 or len(loops[0].axes) != rank or kernel.scratch:
        return False
    if not all(isinstance(s, Loop | Const | Load | Let | Store) for s in walk(kernel.body)):
        return False

    def fits(b: Buffer) -> bool:
        return b.axes == kernel.axes or (b.role == "in" and not b.axes)

    return len(kernel.axes) == rank and not loops[0].carries and all(fits(b) for b in kernel.buffers)


def _ranges(launch: Launch, word: int, count: int, num_threads: int | None) -> list[SizedLaunch]:
    """The launch for few elements, for those without the GIL, and for those worth several threads.

    What is empty has none: NumPy gives it other strides than we do.
    """
    assert launch.variant is not None
    each = launch.nanoseconds / count
    released = math.ceil(RELEASE_FROM / each)
    shared = math.ceil(PARALLEL_FROM / each)
    # What does not fit the cache is written past it, by other code.
    end = max(last_level_cache() * 3 // 4 * count // launch.bytes_moved, released)
    ranges = [SizedLaunch(launch, word, 1, released - 1, False, 0, 1)]
    if threads.threads_for(num_threads) == 1 or not launch.variant.native.splits:
        return [*ranges, SizedLaunch(launch, word, released, end - 1, True, 0, 1)]
    lanes = launch.variant.schedule.lanes
    step = -(-shared // (2 * lanes)) * lanes
    shared = min(shared, end)
    ranges.append(SizedLaunch(launch, word, released, shared - 1, True, 0, 1))
    return [*ranges, SizedLaunch(launch, word, shared, end - 1, True, step, num_threads or thread_count.ANY)]


def is_row_major(arrays: Sequence[npt.NDArray[Any]]) -> bool:
    """Whether those that have axes are of one shape and lie in one piece, as new arrays do."""
    shapes = {a.shape for a in arrays if a.ndim}
    return len(shapes) == 1 and all(a.strides == _steps(a.shape, a.itemsize) for a in arrays)


def _steps(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    steps, step = [], itemsize
    for size in reversed(shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))
