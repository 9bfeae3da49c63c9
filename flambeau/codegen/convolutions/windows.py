"""The largest numbers of windows of arrays by machine code: one module for each dtype, whatever the sizes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np

from flambeau.codegen.convolutions import largest
from flambeau.codegen.convolutions.lines import Window
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

NANOSECONDS: Final = 0.15
"""Of an element of a window, about."""
_X, _W, _PLACES, _Y = (PROBLEM.word(name) for name in ("x", "w", "bias", "y"))


@cache
def largest_code(character: str) -> Code:
    """The code for a dtype."""
    return Code(largest.largest_text, character, largest.SYMBOL, "", largest.OF_LAUNCH)


class LargestOfWindows:
    """The largest numbers of windows of arrays of such sizes and strides."""

    __slots__ = ("code", "inside", "nanoseconds", "problem")

    def __init__(self, code: Code, problem: Problem, inside: Array, nanoseconds: float) -> None:
        self.code, self.problem, self.inside, self.nanoseconds = code, problem, inside, nanoseconds

    def __call__(self, x: Array, y: Array, indices: Array | None) -> None:
        """Fill `y`, and `indices` with where its numbers are in their planes, row by row; it is row-major."""
        words: array[int] = self.problem.words[:]
        words[_X], words[_W], words[_Y] = address(x), address(self.inside), address(y)
        words[_PLACES] = 0 if indices is None else address(indices)
        self.code.run(words, self.problem.units, self.nanoseconds)


def prepare_largest(
    x: Array, y: Array, kernel: Sequence[int], stride: Sequence[int], before: Sequence[int], dilation: Sequence[int]
) -> LargestOfWindows | None:
    """What fills `y` (images, channels, rows, columns) with the largest numbers of windows of `x`, for arrays that lie
    as these do; None where there is no code for it.
    """
    character, rows, columns = x.dtype.char, x.shape[2], x.shape[3]
    if character not in TYPES or y.dtype.char != character or not y.size or rows * columns > LARGEST_OFFSET:
        return None
    ways = [(v[0], v[1]) for v in (kernel, stride, before, dilation)]
    window = Window(ways[0], ways[1], ways[2], ways[3], is_transposed=False)
    problem = make_problem(
        x.dtype, Input(x.shape[0], rows, columns, Strides(x.strides[0], x.strides[1], x.strides[2], x.strides[3]), [0]),
        Filters(1, [0], 0, 0, window.dilation[0] * columns, window.dilation[1]),
        Results(y.shape[2], y.shape[3], (y.strides[0], y.strides[1], y.strides[2], y.strides[3])),
        window, x.shape[1], may_be_in_place=False, positions=FOLDED_POSITIONS,
    )  # fmt: skip
    firsts = [_first_inside(window, dim, y.shape[2 + dim]) for dim in (0, 1)]
    inside = np.concatenate([*firsts, np.zeros(64, np.int32)])  # vectors may be read behind the last
    elements = y.size * window.kernel[0] * window.kernel[1]
    return LargestOfWindows(largest_code(character), problem, inside, NANOSECONDS * elements)


def _first_inside(window: Window, dim: int, count: int) -> Array:
    """For each of so many windows along a dimension, where its first element inside of the image is."""
    starts = np.arange(count) * window.stride[dim] - window.before[dim]
    dilation = window.dilation[dim]
    return np.asarray(starts + -(np.minimum(starts, 0) // dilation) * dilation, np.int32)
