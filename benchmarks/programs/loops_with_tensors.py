"""Loops that go on until their tensors say so."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def power_iteration(a: Tensor, start: Tensor, tolerance: float, limit: int) -> Tensor:
    v = start
    change = 1.0
    steps = 0
    while change > tolerance and steps < limit:
        w = a @ v
        w = w / flambeau.sqrt((w * w).sum())
        change = float((w - v).abs().max())
        v = w
        steps += 1
    return v


def newton(c: Tensor, tolerance: float) -> Tensor:
    x = c.clone()
    while bool((x * x * x - c).abs().max() > tolerance):
        x = x - (x * x * x - c) / (3.0 * x * x)
    return x


def kmeans(points: Tensor, start: Tensor, tolerance: float) -> Tensor:
    centres = start
    moved = 1.0
    while moved > tolerance:
        distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(-1)
        nearest = distance.argmin(1)
        sums = flambeau.zeros_like(centres).index_add(0, nearest, points)
        ones = flambeau.ones([points.size(0)])
        counts = flambeau.zeros([centres.size(0)]).index_add(0, nearest, ones)
        after = sums / flambeau.clamp(counts, min=1.0)[:, None]
        moved = float((after - centres).abs().max())
        centres = after
    return centres


def life(board: Tensor, limit: int) -> Tensor:
    """Generations until nothing moves any more, or `limit`; cells outside the board are dead."""
    cells = board
    changing = True
    steps = 0
    while changing and steps < limit:
        padded = flambeau.zeros([cells.size(0) + 2, cells.size(1) + 2], dtype=flambeau.int32)
        padded[1:-1, 1:-1] = cells
        around = (
            padded[:-2, :-2] + padded[:-2, 1:-1] + padded[:-2, 2:]
            + padded[1:-1, :-2] + padded[1:-1, 2:]
            + padded[2:, :-2] + padded[2:, 1:-1] + padded[2:, 2:]
        )  # fmt: skip
        after = ((around == 3) | ((around == 2) & (cells == 1))).to(flambeau.int32)
        changing = bool((after != cells).any())
        cells = after
        steps += 1
    return cells
