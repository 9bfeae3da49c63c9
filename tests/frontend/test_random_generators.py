"""Generators that programs make, `np.random.default_rng(seed)`, draw what NumPy's draw, natively."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError
from tests.codegen.graph.one_meaning import assert_native


def numbers(seed):
    rng = np.random.default_rng(seed)
    drawn = np.zeros(60)
    for i in range(0, 60, 6):
        drawn[i] = rng.random()
        drawn[i + 1] = rng.standard_normal() + rng.normal(3.0, 0.5)
        drawn[i + 2] = rng.uniform(-2.0, 5.0)
        drawn[i + 3] = rng.exponential(2.0) + rng.standard_exponential()
        drawn[i + 4] = rng.integers(0, 6) + rng.integers(2**40) + rng.integers(-3, 3, endpoint=True)
        drawn[i + 5] = rng.integers(7, 8)
    return drawn


def arrays(seed):
    rng = np.random.default_rng(seed)
    x = np.arange(10)
    rng.shuffle(x)
    return (
        rng.random(3), rng.random((2, 3)), rng.normal(size=4), rng.normal(1.0, 2.0, (2, 2)), rng.uniform(0, 2, size=3),
        rng.integers(0, 10, 5), rng.integers(5, size=(2, 2), endpoint=True), rng.permutation(5), rng.permutation(x), x,
        rng.choice(x, 4, replace=False), rng.choice(10, size=(2, 2)), rng.choice(4, 3, p=np.full(4, 0.25)),
        rng.poisson(3.0, 4), rng.binomial(10, 0.5, size=3), rng.gamma(2.0, size=2), rng.standard_normal((3, 1)),
    )  # fmt: skip


def single(seed):
    rng = np.random.default_rng(seed=seed)
    x = np.arange(5) * 1.5
    return rng.choice(x), rng.choice(5), rng.poisson(2.5), rng.gamma(2.0), rng.beta(1.0, 2.0), rng.binomial(9, 0.3)


def two(seed):
    first = np.random.default_rng(seed)
    second = np.random.default_rng(seed + 1)
    return drawn_by(first, 3) + drawn_by(second, 2), first.random() - second.random()


def drawn_by(rng, count):
    total = 0.0
    for _ in range(count):
        total += rng.random()
    return total


@pytest.mark.parametrize("program", [numbers, arrays, single, two])
def test_programs_draw_what_numpy_draws(program: Callable[..., Any]) -> None:
    for options in ({}, {"backend": "interpreter"}):
        function = flambeau.script(program, **options)
        for seed in (0, 42, 42, 2**63 - 1 if program is not two else 5):
            results, wanted = function(seed), program(seed)
            pairs = zip(results, wanted, strict=True) if isinstance(wanted, tuple) else [(results, wanted)]
            for result, number in pairs:
                np.testing.assert_array_equal(result, number)
                if isinstance(number, np.ndarray):
                    assert result.dtype == number.dtype


def test_numbers_one_at_a_time_are_native() -> None:
    function = flambeau.script(numbers)
    function(1)
    assert_native(function)


def test_generators_without_a_seed_differ() -> None:
    def program(n: int):
        return np.random.default_rng().random(n)

    function = flambeau.script(program)
    assert not np.array_equal(function(4), function(4))


def test_what_numpy_refuses_is_refused() -> None:
    def scale(s):
        return np.random.default_rng(1).normal(0.0, s)

    def empty(n):
        return np.random.default_rng(1).integers(n)

    for program, value, text in ((scale, -1.0, "scale < 0"), (empty, 0, "high <= 0|low >= high")):
        function = flambeau.script(program)
        for _ in range(2):
            with pytest.raises(ValueError, match=text):
                function(value)


def test_what_generators_have_not_says_what_to_write() -> None:
    def seed(x: np.ndarray):
        return np.random.default_rng(x).random(2)

    def method(x: np.ndarray):
        return np.random.default_rng(1).multivariate_normal(x, x)

    def result(x: np.ndarray):
        return np.random.default_rng(1)

    def dtype(x: np.ndarray):
        return np.random.default_rng(1).integers(0, 5, 3, dtype=np.int32) + x

    def many(x: np.ndarray):
        return np.random.default_rng(1).integers(x)

    def list_(x: np.ndarray):
        return np.random.default_rng(1).permutation([1.0, 2.0]) + x

    for program, text in (
        (seed, "takes an int, or nothing"), (method, "have no 'multivariate_normal' in programs, where"),
        (result, "stays in the function that makes it"), (dtype, r"write rng.integers\(low, high, size\).astype"),
        (many, "rng.integers takes ints here"), (list_, "rng.permutation takes an int or an array here"),
    ):  # fmt: skip
        with pytest.raises(CompileError, match=text):
            flambeau.script(program)


def test_generators_from_outside_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"pass a seed, and write rng = np.random.default_rng\(seed\) inside"):
        flambeau.script(drawn_by)(np.random.default_rng(1), 3)
