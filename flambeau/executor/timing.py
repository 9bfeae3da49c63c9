"""Times a kernel on arrays of its own, so that nobody's data is touched and calls stay as fast as they are."""

from __future__ import annotations

import ctypes
import time
from array import array
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen.call_geometry import empty_aligned
from flambeau.codegen.launches import Launch
from flambeau.codegen.runtime import CompiledKernel, block_of, start
from flambeau.util.record import replace

BUDGET = 4e-3
"""Seconds that the timing of one kernel takes, if a run takes less."""
FEWEST = 3
SHORTEST, MOST = 2e-5, 1024
"""Seconds that the clock tells apart well; runs are taken together, up to so many, until they last that long."""


OVERHEAD_UP_TO = 1e-4
"""Seconds up to which the time of a call from Python counts, and is subtracted."""


def best_seconds(kernel: CompiledKernel, launch: Launch) -> float | None:
    """The best time of a few runs of a launch on ones; None where the kernel refuses those, and zeros."""
    layouts = next(layouts for layouts, known in kernel.launches if known is launch)
    for number in (1, 0):
        flag = ctypes.c_int32(0)
        arrays = [*(_filled(*layout, number) for layout in layouts), *(o.allocate() for o in launch.outputs)]
        words = block_of(launch, arrays, flag)
        start(launch, words)
        if not flag.value:
            return _net_seconds(launch, words)
    return None


def _filled(
    dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...], number: int
) -> npt.NDArray[Any]:
    """An array that lies in memory as told, and holds one number everywhere."""
    reach = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    below = -sum(r for r in reach if r < 0)
    size = below + sum(r for r in reach if r > 0) + dtype.itemsize
    memory = empty_aligned((-(-size // dtype.itemsize),), dtype)
    memory[...] = number
    return np.ndarray(shape, dtype, memory.view(np.uint8).data, below, strides)


def _net_seconds(launch: Launch, words: array[int]) -> float:
    """The time of a run, less that of a call which does nothing."""
    assert launch.variant is not None
    run: Callable[[], None] = partial(start, launch, words)
    seconds = _best(run)
    if launch.step == 0 and launch.variant.native.splits and seconds < OVERHEAD_UP_TO:
        nothing = replace(launch, high=0)
        seconds = max(seconds - _best(partial(start, nothing, words)), 1e-9)
    return seconds


def _best(run: Callable[[], None]) -> float:
    best, spent, runs, batch = float("inf"), 0.0, 0, 1
    while spent < BUDGET or runs < FEWEST:
        before = time.perf_counter()
        for _ in range(batch):
            run()
        taken = time.perf_counter() - before
        if taken < SHORTEST and batch < MOST:
            batch *= 4
            continue
        best, spent, runs = min(best, taken / batch), spent + taken, runs + 1
    return best
