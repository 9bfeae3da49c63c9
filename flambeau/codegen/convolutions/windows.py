"""The largest numbers of windows of arrays by machine code: one module for each dtype, whatever the sizes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from flambeau.codegen.convolutions import largest
from flambeau.codegen.convolutions.lines import Window
from flambeau.codegen.convolutions.planes import Planes
from flambeau.codegen.convolutions.problem import (
    FOLDED_POSITIONS,
    LARGEST_OFFSET,
    Array,
    Filters,
    Input,
    Problem,
    Results,
    Strides,
    make_problem,
)
from flambeau.codegen.convolutions.run import TYPES, Code, address
from flambeau.codegen.convolutions.words import PROBLEM
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Filling, Memory

BEHIND: Final = 64
"""Numbers that vectors may read behind the last."""
NANOSECONDS: Final = 0.15
"""Of an element of a window, about."""
_X, _W, _PLACES, _Y = (PROBLEM.word(name) for name in ("x", "w", "bias", "y"))


@cache
def largest_code(character: str) -> Code:
    """The code for a dtype."""
    return Code(largest.largest_text, character, largest.SYMBOL, "", largest.OF_LAUNCH)


class LargestOfWindows:
    """The largest numbers of windows of arrays of such sizes and strides."""

    __slots__ = ("_memory", "_problem", "code", "nanoseconds")

    def __init__(self, code: Code, problem: Problem, nanoseconds: float, memory: Memory) -> None:
        """`memory` has what the problem's words point to."""
        self.code, self._problem, self.nanoseconds, self._memory = code, problem, nanoseconds, memory

    def __call__(self, x: Array, y: Array, indices: Array | None) -> None:
        """Fill `y`, and `indices` with where its numbers are in their planes, row by row; it is row-major."""
        words = array("q", self._problem.words)
        words[_X], words[_Y] = address(x), address(y)
        words[_PLACES] = 0 if indices is None else address(indices)
        self.code.run(words, self._problem.units, self.nanoseconds)


def prepare_largest(
    x: Array, y: Array, kernel: Sequence[int], stride: Sequence[int], before: Sequence[int], dilation: Sequence[int]
) -> LargestOfWindows | None:
    """What fills `y` (images, channels, rows, columns) with the largest numbers of windows of `x`, for arrays that lie
    as these do; None where there is no code for it.
    """
    if y.dtype != x.dtype:
        return None
    memory = Memory()
    problem = largest_problem(Lying.of(x), Lying.of(y), (kernel, stride, before, dilation), memory)
    if problem is None:
        return None
    return LargestOfWindows(largest_code(x.dtype.char), problem, problem.nanoseconds, memory)


def largest_problem(x: Lying, y: Lying, numbers: Sequence[Sequence[int]], memory: Memory) -> Problem | None:
    """The same as a problem, whose weights are where windows have their first elements; `numbers` are those of kernel,
    stride, padding and dilation.
    """
    rows, columns = x.shape[2], x.shape[3]
    if x.dtype.char not in TYPES or y.size == 0 or rows * columns > LARGEST_OFFSET:
        return None
    ways = [(v[0], v[1]) for v in numbers]
    window = Window(ways[0], ways[1], ways[2], ways[3], is_transposed=False)
    problem = make_problem(
        x.dtype,
        Input(
            x.shape[0], rows, columns, Strides(x.strides[0], x.strides[1], x.strides[2], x.strides[3]), Planes(1, 0)
        ),
        Filters(1, Planes(1, 0), 0, 0, window.dilation[0] * columns, window.dilation[1]),
        Results(y.shape[2], y.shape[3], (y.strides[0], y.strides[1], y.strides[2], y.strides[3])),
        window, x.shape[1], memory, may_be_in_place=False, positions=FOLDED_POSITIONS,
    )  # fmt: skip
    fillings, count = [], 0
    for dim in (0, 1):
        fillings += _first_inside(window, dim, y.shape[2 + dim], count)
        count = count + y.shape[2 + dim]
    fillings.append(Filling(count, 0, BEHIND))
    problem.words[_W] = memory.table(np.int32, count + BEHIND, fillings)
    problem.nanoseconds = NANOSECONDS * y.size * window.kernel[0] * window.kernel[1]
    return problem


def _first_inside(window: Window, dim: int, count: Any, at: Any) -> list[Filling]:
    """For each of so many windows along a dimension, where its first element inside of the image is."""
    stride, before, dilation = window.stride[dim], window.before[dim], window.dilation[dim]
    fillings = [Filling(at, -before, count, stride)]
    for k in range(-(-before // stride)):
        if k < count:
            start = k * stride - before
            fillings.append(Filling(at + k, start + -(start // dilation) * dilation))
    return fillings
