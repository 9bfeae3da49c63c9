"""The formulas of reading images at the places of a grid: in terms of operators, place by place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

from flambeau.schema.dtype import bool_
from flambeau.schema.gradient import decomposed

_LINEAR, _NEAREST, _CUBIC = 0, 1, 2
_ZEROS, _REFLECTION = 0, 2
_SHARPNESS = -0.75
"""The parameter of the cubic convolution (Keys, 1981)."""


def _bounded(f: Any, coordinate: Any, size: int, padding: int, align_corners: bool) -> Any:
    """Coordinates outside brought inside, as the padding says; each moves with the one given only inside."""
    if padding == _REFLECTION:
        low, high = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        least, span = low / 2, (high - low) / 2
        if not span:
            return f.zeros_like(coordinate)
        away = f.where(coordinate < least, least - coordinate, coordinate - least)
        extra = f.fmod(away, span)
        is_there = f.eq(f.fmod(f.floor(f.detach(away) / span), 2), 0)
        coordinate = f.where(is_there, extra + least, (span + least) - extra)
    if padding == _ZEROS:
        return coordinate
    return f.where(coordinate <= 0, 0, f.where(coordinate >= size - 1, float(size - 1), coordinate))


def _offset(f: Any, coordinates: Sequence[Any], sizes: Sequence[int]) -> Any:
    """(N, points): where integral coordinates are among all elements, -1 where one is outside or nan."""
    inside, offset = None, None
    for coordinate, size in zip(coordinates, sizes, strict=True):
        is_in = (coordinate >= 0) & (coordinate < size)
        inside = is_in if inside is None else inside & is_in
        whole = f.to(f.where(is_in, coordinate, 0), f.arange(1).dtype)
        offset = whole if offset is None else offset * size + whole
    return f.where(inside, offset, -1)


def _read(f: Any, flat: Any, offsets: Sequence[Any], weights: Sequence[Any]) -> Any:
    """(N, C, points): sums of weighted elements, one of each term."""
    return f.own("read_weighted", flat, f.stack(list(offsets), 1), f.stack(list(weights), 1))


@decomposed("flambeau::tilt_between")
def _tilt_between(f: Any, numbers: Any, rows: Any, places: Any, height: int, width: int) -> Any:
    """Corner by corner, what it would give to a place, times how its weight changes with the place."""
    own = [f.select(places, 1, 0), f.select(places, 1, 1)]
    below = [f.floor(f.detach(coordinate)) for coordinate in own]
    tilts: list[Any] = [0.0, 0.0]
    for corner in product((0, 1), repeat=2):
        offset = _offset(f, [b + side for b, side in zip(below, corner, strict=True)], [height, width])
        contribution = f.select(f.own("weigh", numbers, rows, f.unsqueeze(offset, 1)), 1, 0)
        for at, other in ((0, 1), (1, 0)):
            away = own[other] - below[other]
            share = contribution * (away if corner[other] else 1 - away)
            tilts[at] = tilts[at] + (share if corner[at] else -share)
    return f.where(f.isfinite(places), f.stack(tilts, 1), 0)


def _linear(f: Any, flat: Any, coordinates: Sequence[Any], sizes: Sequence[int]) -> Any:
    below = [f.floor(f.detach(coordinate)) for coordinate in coordinates]
    offsets, weights = [], []
    for corner in product((0, 1), repeat=len(sizes)):
        weight = None
        for coordinate, base, side in zip(coordinates, below, corner, strict=True):
            part = coordinate - base if side else base + 1 - coordinate
            weight = part if weight is None else weight * part
        offsets.append(_offset(f, [b + side for b, side in zip(below, corner, strict=True)], sizes))
        weights.append(weight)
    return _read(f, flat, offsets, weights)


def _cubic_weights(t: Any) -> list[Any]:
    """The weights of the four elements around a coordinate, `t` behind the second of them."""
    a = _SHARPNESS

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(
    f: Any, flat: Any, coordinates: Sequence[Any], sizes: Sequence[int], padding: int, align_corners: bool
) -> Any:
    below = [f.floor(f.detach(coordinate)) for coordinate in coordinates]
    weights = [_cubic_weights(coordinate - base) for coordinate, base in zip(coordinates, below, strict=True)]
    offsets, factors = [], []
    for i, j in product(range(4), repeat=2):
        indices = [
            f.floor(_bounded(f, base + (k - 1), size, padding, align_corners))
            for base, k, size in zip(below, (i, j), sizes, strict=True)
        ]
        offsets.append(_offset(f, indices, sizes))
        factors.append(weights[0][i] * weights[1][j])
    return _read(f, flat, offsets, factors)


def _ones(f: Any, rounded: Any) -> Any:
    """Ones that depend on the places, by gradients of zero."""
    return f.masked_fill(rounded, f.ones_like(rounded, dtype=bool_), 1)


def _coordinates(f: Any, rows: Any, sizes: Sequence[int], align_corners: bool) -> list[Any]:
    """From -1 .. 1 to coordinates of elements, axis by axis: a grid has that of the last one first."""
    coordinates = []
    for at, size in enumerate(sizes):
        coordinate = f.select(rows, 2, len(sizes) - 1 - at)
        coordinates.append((coordinate + 1) / 2 * (size - 1) if align_corners else ((coordinate + 1) * size - 1) / 2)
    return coordinates


def _places(f: Any, rows: Any, sizes: Sequence[int], padding: int, align_corners: bool) -> Any:
    """The same side by side, those outside brought inside."""
    coordinates = _coordinates(f, rows, sizes, align_corners)
    bounded = [_bounded(f, p, n, padding, align_corners) for p, n in zip(coordinates, sizes, strict=True)]
    return f.stack(bounded, 1)


@decomposed("aten::grid_sampler", "aten::grid_sampler_2d", "aten::grid_sampler_3d")
def _grid_sampler(
    f: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    rank = input.dim() - 2
    sizes = list(input.shape[2:])
    flat = f.reshape(input, [*input.shape[:2], math.prod(sizes)])
    rows = f.reshape(grid, [grid.shape[0], math.prod(grid.shape[1:-1]), rank])
    if interpolation_mode == _LINEAR and rank == 2:
        places = f.in_a_loop("grid_places", _places, rows, sizes, padding_mode, align_corners)
        return f.reshape(f.own("read_between", flat, places, *sizes), [*input.shape[:2], *grid.shape[1:-1]])
    coordinates = _coordinates(f, rows, sizes, align_corners)
    if interpolation_mode == _CUBIC:
        result = _cubic(f, flat, coordinates, sizes, padding_mode, align_corners)
    else:
        coordinates = [_bounded(f, p, n, padding_mode, align_corners) for p, n in zip(coordinates, sizes, strict=True)]
        if interpolation_mode == _NEAREST:
            rounded = [f.round(p) for p in coordinates]
            result = _read(f, flat, [_offset(f, [f.detach(p) for p in rounded], sizes)], [_ones(f, rounded[0])])
        else:
            result = _linear(f, flat, coordinates, sizes)
    return f.reshape(result, [*input.shape[:2], *grid.shape[1:-1]])
