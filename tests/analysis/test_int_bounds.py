"""Bounds of ints hold for every call, and writes of what lies within a dtype are not looked at."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau.analysis.int_bounds import ANY_INT, Bounds, bounds_of, of_dtype
from flambeau.schema import dtype as dtypes

NUMBERS = [0, 1, -1, 2, 7, 255, 256, -256, 1 << 31, -(1 << 31), (1 << 62) + 5, -(1 << 63), (1 << 63) - 1]
SPREAD = 60
LIMITED = """
    if x > 300:
        x = 300
    elif x <= -5:
        x = a & 15
    return x
"""


def expression(rng: random.Random, depth: int) -> str:
    """An int of two ints, by operators of which the bounds are known or not."""
    if not depth:
        return rng.choice(("a", "b", str(rng.choice((0, 1, 3, 7, 255, -4)))))
    x, y = expression(rng, depth - 1), expression(rng, rng.randrange(depth))
    k = rng.choice((1, 3, 8, 255))
    return rng.choice((
        f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} & {k})", f"({x} | {y})", f"({x} ^ {k})", f"({x} % {k})",
        f"({x} // {k})", f"({x} >> {k % 8})", f"({x} << {k % 8})", f"min({x}, {y})", f"max({x}, {k})", f"abs({x})",
        f"(-{x})", f"({x} if {x} < {y} else {y})", f"({k} if {x} >= {k} else (0 if {x} < 0 else {x}))",
    ))  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_every_result_lies_within(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(7):
        text = expression(rng, 3)
        for body in (f"return {text}", f"x = {text}\n{LIMITED}"):
            function = flambeau.CompilationUnit(f"def f(a: int, b: int) -> int:\n    {body}\n").f
            bounds = bounds_of(function.graph.returns[0])
            for _ in range(SPREAD):
                a, b = (rng.choice((rng.choice(NUMBERS), rng.randrange(-300, 300))) for _ in range(2))
                result = function(a, b)
                assert bounds.low <= result <= bounds.high, (text, a, b)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("a", ANY_INT), ("a & 255", Bounds(0, 255)), ("(a & 255) - (b & 15)", Bounds(-15, 255)),
        ("abs(3 * (a & 255) - 255)", Bounds(0, 510)), ("min(255, max(0, a))", Bounds(0, 255)), ("a % 7", Bounds(0, 6)),
        ("a % -7", ANY_INT), ("(a & 3) % 7", Bounds(0, 3)), ("a * 2", ANY_INT), ("(a & 7) | (b & 8)", Bounds(0, 15)),
        ("255 if a > 255 else (0 if a < 0 else a)", Bounds(0, 255)), ("3 if a < b else 5", Bounds(3, 5)),
        ("a if 0 <= a else 0", Bounds(0, ANY_INT.high)), ("int(a > b) - 1", Bounds(-1, 0)),
        ("(a & 255) // 16 << 2", Bounds(0, 60)), ("-(a & 3)", Bounds(-3, 0)), ("a if 4 > (a & 3) else 9", ANY_INT),
        ("(a & 3) if (a & 3) < 9 else b", Bounds(0, 3)),
    ],
)  # fmt: skip
def test_bounds(text: str, bounds: Bounds) -> None:
    function = flambeau.CompilationUnit(f"def f(a: int, b: int) -> int:\n    return {text}\n").f
    assert bounds_of(function.graph.returns[0]) == bounds


def test_many_branches_take_no_time() -> None:
    lines = [f"    if a > {k}:\n        s += b & {k}\n" for k in range(60)]
    function = flambeau.CompilationUnit(f"def f(a: int, b: int) -> int:\n    s = 0\n{''.join(lines)}    return s\n").f
    assert bounds_of(function.graph.returns[0]).low <= 0


def test_dtypes() -> None:
    assert of_dtype(dtypes.int8) == (-128, 127)
    assert Bounds(0, 255).is_within(dtypes.uint8)
    assert not Bounds(-1, 255).is_within(dtypes.uint8)


def edges(image, result):
    h, w = image.shape
    for i in range(h):
        for j in range(1, w - 1):
            step = abs(int(image[i, j + 1]) - int(image[i, j - 1])) * 2
            result[i, j] = min(255, step)


def brighter(image, result):
    h, w = image.shape
    for i in range(h):
        for j in range(w):
            v = int(image[i, j]) + 30
            if v > 255:
                v = 255
            result[i, j] = v


def too_bright(image, result):
    h, w = image.shape
    for i in range(h):
        for j in range(w):
            result[i, j] = int(image[i, j]) + 30


@pytest.mark.parametrize(("function", "is_looked_at"), [(edges, False), (brighter, False), (too_bright, True)])
def test_what_fits_is_written_without_a_look(function: Callable[..., None], is_looked_at: bool) -> None:
    scripted = flambeau.script(function)
    for seed in range(3):
        image = np.random.RandomState(seed).randint(0, 220, (7, 70)).astype(np.uint8)
        expected, result = np.zeros_like(image), np.zeros_like(image)
        function(image, expected)
        scripted(image, result)
        assert np.array_equal(result, expected)
    assert (scripted.graph_for(image, result).find("python::within_uint8") is not None) == is_looked_at
    if is_looked_at:
        image[3, 5] = 250
        with pytest.raises(OverflowError, match="280 out of bounds for uint8"):
            scripted(image, result)
