"""Sums of squares that are only compared have the truth of CPython's: also next to the bound, where `pow` decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen.graph.numbers.compared_squares import MOST

SPECIAL = [
    0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -2.2250738585072014e-308, 2.0**-537, 2.0**-500, 1e-160,
    2.0**500, 1.3407807929942596e154, -1.3407807929942595e154, 1e200, 1 + 2.0**-52, 3.0,
]  # fmt: skip


def one(x, y, c):
    found = np.zeros((4, len(x)), np.bool_)
    for i in range(len(x)):
        found[0, i] = x[i] ** 2 < c[i]
        found[1, i] = x[i] ** 2.0 <= c[i]
        found[2, i] = x[i] ** 2 > c[i]
        found[3, i] = c[i] <= x[i] ** 2
    return found


def two(x, y, c):
    found = np.zeros((4, len(x)), np.bool_)
    for i in range(len(x)):
        found[0, i] = x[i] ** 2 + y[i] ** 2 < c[i]
        found[1, i] = x[i] ** 2 + y[i] ** 2 <= c[i]
        found[2, i] = c[i] < x[i] ** 2 + y[i] ** 2
        found[3, i] = x[i] ** 2 + y[i] ** 2 >= c[i]
    return found


def four(x, y, c):
    found = np.zeros((2, len(x)), np.bool_)
    for i in range(len(x)):
        found[0, i] = x[i] ** 2 + y[i] ** 2 + (x[i] - y[i]) ** 2 + (y[i] / 3) ** 2 <= c[i]
        found[1, i] = x[i] ** 2 + y[i] ** 2 + (x[i] - y[i]) ** 2 + (y[i] / 3) ** 2 > c[i]
    return found


def others(x, y, c):
    """Sums that are no sums of squares alone, squares that are read twice, and too many of them."""
    found = np.zeros((4, len(x)), np.bool_)
    for i in range(len(x)):
        found[0, i] = x[i] ** 2 - y[i] ** 2 < c[i]
        square = x[i] ** 2
        found[1, i] = square + y[i] ** 2 <= c[i] and square > 0.5
        found[2, i] = x[i] ** 2 + y[i] ** 2 + x[i] ** 2 + y[i] ** 2 + x[i] ** 2 <= c[i]
        found[3, i] = x[i] ** 3 + y[i] ** 2 >= c[i]
    return found


def counted(x, y, c):
    count = 0
    for i in range(len(x)):
        if (x[i] - 0.5) ** 2 + (y[i] - 0.5) ** 2 <= 0.25:
            count += 1
    return count


def escaped(x, y, c):
    steps = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        a, b, k = x[i], y[i], 0
        while k < 40 and a**2 + b**2 < 4:
            a, b = a * a - b * b + x[i], 2 * a * b + y[i]
            k += 1
        steps[i] = k
    return steps


def _numbers(fn: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers and bounds: what the sums of squares are themselves, of `pow` and of products, and those next to it."""
    draw = np.random.RandomState(7)
    x, y = draw.uniform(-3, 3, 6000), draw.uniform(-3, 3, 6000)
    x[:3000] *= 2.0 ** draw.randint(-540, 510, 3000)
    y[:2000] *= 2.0 ** draw.randint(-540, 510, 2000)
    special = np.array([(a, b) for a in SPECIAL for b in SPECIAL])
    x, y = np.concatenate((special[:, 0], x)), np.concatenate((special[:, 1], y))
    with np.errstate(all="ignore"):
        terms = x, y, x - y, y / 3
        powers = [np.array([math.pow(v, 2) if abs(v) < 1e154 else v * v for v in term]) for term in terms]
        sums = powers[0] if fn is one else powers[0] + powers[1]
        sums = sums + powers[2] + powers[3] if fn is four else sums
        products = x * x if fn is one else x * x + y * y
        bounds = [sums, np.nextafter(sums, np.inf), np.nextafter(sums, -np.inf), products, -sums]
        bounds += [draw.permutation(sums)]
        bounds += [sums * (1 + 2.0**-48), sums * (1 - 2.0**-49), np.zeros_like(sums), np.full_like(sums, np.inf)]
    return np.tile(x, len(bounds)), np.tile(y, len(bounds)), np.concatenate(bounds)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("fn", [one, two, four, others, counted, escaped], ids=lambda fn: fn.__name__)
def test_comparisons_have_the_truth_of_python(fn: Callable[..., Any], backend: Any) -> None:
    x, y, c = _numbers(fn)
    if backend == "interpreter" or fn is escaped:
        step = 97 if backend == "interpreter" else 11
        x, y, c = x[::step].copy(), y[::step].copy(), c[::step].copy()
    with np.errstate(all="ignore"):
        wanted = fn(x, y, c)
    scripted = flambeau.script(fn, backend=backend)
    for _ in range(2):
        np.testing.assert_array_equal(scripted(x, y, c), wanted)


def test_squares_of_floats_that_nothing_reads_are_late_functions() -> None:
    def inside(x: float, y: float, r: float) -> bool:
        return x**2 + y**2 <= r

    def kept(x: float, y: float) -> float:
        square = x**2 + y**2
        return square if square > 1 else 0.0

    scripted, other = flambeau.script(inside), flambeau.script(kept)
    for r in (1.0, 1 - 2.0**-53, 2.0):
        assert scripted(0.6, 0.8, r) == inside(0.6, 0.8, r)
    assert other(0.6, 0.9) == kept(0.6, 0.9)
    assert "flambeau_squares_2_ole" in scripted.llvm_ir
    assert "flambeau_squares" not in other.llvm_ir
    assert MOST == 4
