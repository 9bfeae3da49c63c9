"""Windows along one dimension: which elements of a kernel each result takes, and how their input is copied."""

from __future__ import annotations

from typing import Any

from flambeau.codegen.routines.numbers import chosen
from flambeau.util.record import dataclass

Pair = tuple[int, int]
FILTERS_FOR_SHIFTS, MOST_SHIFTED = 32, 3
"""Filters from which, and columns of kernels up to which, bands are copied once for each column of a kernel."""
SAVED, SAVED_BEYOND_CACHE = 1.05, 1.2
"""How many times as many vectors there must be otherwise, and where such copies do not stay in the second cache."""
MOST_CHEAP = 8
"""Places left over behind whole vectors that take as long as a vector, about."""
TILE_VECTORS, LEFT_OVER_COST, WEIGHTS_COST = 3, 1.4, 0.5
"""Vectors of a whole tile, what one takes beside those, and what weights take, in vectors of whole tiles, about."""


@dataclass(frozen=True, slots=True)
class Window:
    """How windows lie over two dimensions."""

    kernel: Pair
    stride: Pair
    before: Pair
    """Zeros in front of the rows and columns."""
    dilation: Pair
    is_transposed: bool


@dataclass(frozen=True, slots=True)
class Tap:
    """An element of a kernel along one dimension: which, of which shift of the input, how far along it."""

    number: int
    shift: int
    offset: int


@dataclass(frozen=True, slots=True)
class Line:
    """The parts of the results along one dimension, and how their input is copied."""

    parts: tuple[tuple[Tap, ...], ...]
    """The elements of the kernel of each part: one, or those of a transposed convolution, by the stride."""
    sizes: tuple[int, ...]
    """How many results each has."""
    step: int
    before: int
    shifts: tuple[int, ...]
    reach: int
    """How far the elements lie from the result at most."""


def shifted_line(window: Window, dim: int, size: int) -> Line:
    """One dimension of `size` results, of which each element of the kernel has a copy of its own."""
    taps = tuple([Tap(k, k * window.dilation[dim], 0) for k in range(window.kernel[dim])])
    return Line((taps,), (size,), window.stride[dim], window.before[dim], tuple([t.shift for t in taps]), 0)


def line_of(window: Window, dim: int, size: int) -> Line:
    """One dimension of `size` results."""
    kernel, stride = window.kernel[dim], window.stride[dim]
    before, dilation = window.before[dim], window.dilation[dim]
    if not window.is_transposed:
        taps = tuple([Tap(k, k * dilation % stride, k * dilation // stride) for k in range(kernel)])
        shifts = tuple(sorted({t.shift for t in taps}))
        return Line((taps,), (size,), stride, before, shifts, max(t.offset for t in taps))
    taps_of_outputs = [
        [(k, (part + before - k * dilation) // stride) for k in range(kernel)
         if (part + before - k * dilation) % stride == 0]
        for part in range(min(stride, size))
    ]  # fmt: skip
    offsets = [offset for taps in taps_of_outputs for _, offset in taps] or [0]
    least = min(offsets)
    parts = tuple([tuple([Tap(k, 0, offset - least) for k, offset in taps]) for taps in taps_of_outputs])
    sizes = tuple([-(-(size - part) // stride) for part in range(len(taps_of_outputs))])
    return Line(parts, sizes, 1, -least, (0,), max(offsets) - least)


def saved_by_shifts(window: Window, filters: int, rows: Any, columns: Any, lanes: int) -> Any:
    """How many times as many vectors there are without copies shifted by each column of the kernel; 0 where these are
    not worth a thought. With them no vector has places between rows of results, and results are written where they
    lie. It takes rows so short that whole vectors are saved, and filters enough to make up for copying.
    """
    if window.is_transposed or not 1 < window.kernel[1] <= MOST_SHIFTED or filters < FILTERS_FOR_SHIFTS:
        return 0.0
    reach = (window.kernel[1] - 1) * window.dilation[1] // window.stride[1]
    apart, together = (vectors_of(n, lanes) for n in (rows * (columns + reach) - reach, rows * columns))
    return apart / together


def vectors_of(count: Any, lanes: int) -> Any:
    """How many vectors take as long as so many places: few left over are cheaper than one more."""
    left = count % lanes
    return count // lanes + chosen(left <= lanes // 2, left / MOST_CHEAP, 1.0)


def vector_cost(count: Any, lanes: int) -> Any:
    """What the tiles for so many places cost, in vectors of whole tiles, about: vectors that tiles leave over have the
    weights for themselves, and each time weights come from a cache further away.
    """
    vectors = vectors_of(count, lanes)
    whole = count // lanes + chosen(vectors - count // lanes >= 1, 1, 0)
    over = vectors - whole // TILE_VECTORS * TILE_VECTORS
    return vectors - over + LEFT_OVER_COST * over + WEIGHTS_COST
