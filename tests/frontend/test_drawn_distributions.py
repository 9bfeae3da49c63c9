"""Single numbers of distributions that programs draw themselves: NumPy's, and its errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.frontend.library import distributions

COUNT = 60
PARAMETERS: dict[str, list[tuple[float, ...]]] = {
    "poisson": [(0.0,), (0.3,), (9.99,), (10.0,), (47.5,), (1e6,), (3e18,)],
    "binomial": [(0, 0.3), (1, 0.5), (10, 0.3), (100, 0.98), (60, 0.5), (1000, 0.4), (7, 0.0), (7, 1.0)],
    "standard_gamma": [(0.0,), (0.2,), (0.99,), (1.0,), (2.5,), (1e4,), (np.inf,), (np.nan,)],
    "gamma": [(0.3, 2.0), (4.0, 0.25), (1.0, 0.0), (np.nan, 1.0)],
    "chisquare": [(1.0,), (2.0,), (7.5,), (np.nan,)],
    "beta": [(0.5, 0.5), (1.0, 1.0), (0.002, 0.003), (0.4, 3.0), (20.0, 5.0), (1e-4, 1e-4), (np.nan, 2.0)],
}
REFUSED = [
    ("poisson", (-1.0,), "lam < 0 or lam is NaN"), ("poisson", (np.nan,), "lam < 0 or lam is NaN"),
    ("poisson", (1e300,), "lam value too large"), ("standard_gamma", (-0.0,), "shape < 0"),
    ("gamma", (1.0, -2.0), "scale < 0"), ("chisquare", (0.0,), "df <= 0"), ("beta", (1.0, 0.0), "b <= 0"),
    ("binomial", (-1, 0.5), "n < 0"), ("binomial", (4, 1.5), "p < 0, p > 1 or p is NaN"),
]  # fmt: skip


def draw_poisson(seed: int, n: int, lam: float):
    np.random.seed(seed)
    return [np.random.poisson(lam) for _ in range(n)], np.random.random_sample()


def draw_binomial(seed: int, n: int, k: int, p: float):
    np.random.seed(seed)
    return [np.random.binomial(k, p) for _ in range(n)], np.random.random_sample()


def draw_standard_gamma(seed: int, n: int, shape: float):
    np.random.seed(seed)
    return [np.random.standard_gamma(shape) for _ in range(n)], np.random.random_sample()


def draw_gamma(seed: int, n: int, shape: float, scale: float):
    np.random.seed(seed)
    return [np.random.gamma(shape, scale=scale) for _ in range(n)], np.random.random_sample()


def draw_chisquare(seed: int, n: int, df: float):
    np.random.seed(seed)
    return [np.random.chisquare(df) for _ in range(n)], np.random.random_sample()


def draw_beta(seed: int, n: int, a: float, b: float):
    np.random.seed(seed)
    return [np.random.beta(a, b) for _ in range(n)], np.random.random_sample()


DRAWS: dict[str, Callable[..., Any]] = {name: globals()[f"draw_{name}"] for name in PARAMETERS}


@pytest.mark.parametrize("name", PARAMETERS)
def test_they_are_numbers_of_numpy(name: str) -> None:
    draw = DRAWS[name]
    native, interpreted = flambeau.script(draw), flambeau.script(draw, backend="interpreter")
    for seed, parameters in enumerate(PARAMETERS[name]):
        expected, last = draw(seed, COUNT, *parameters)
        for scripted in (native, interpreted):
            numbers, then = scripted(seed, COUNT, *parameters)
            assert then == last, parameters
            assert np.array_equal(numbers, expected, equal_nan=True), parameters
            assert {type(v) for v in numbers} == {int if name in ("poisson", "binomial") else float}


@pytest.mark.parametrize(("name", "parameters", "message"), REFUSED)
def test_what_numpy_refuses(name: str, parameters: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DRAWS[name](0, 2, *parameters)
    with pytest.raises(ValueError, match=rf"(?s)test_drawn_distributions.py.*np.random.{name}.*{message}"):
        flambeau.script(DRAWS[name])(0, 2, *parameters)


def test_the_functions_themselves_draw_as_numpy_does() -> None:
    rng = np.random.RandomState(7)
    for _ in range(40):
        x, y, n, p = 10.0 ** rng.uniform(-2, 4), 10.0 ** rng.uniform(-2, 2), rng.randint(1, 300), rng.rand()
        calls = [("poisson", (x,)), ("gamma", (y, x)), ("beta", (y, x)), ("chisquare", (y,)), ("binomial", (n, p))]
        for name, parameters in calls:
            drawn = []
            for module in (np.random, distributions):
                np.random.seed(n)
                drawn.append([*[getattr(module, name)(*parameters) for _ in range(10)], np.random.random_sample()])
            assert drawn[0] == drawn[1], (name, parameters)


def defaults(seed):
    np.random.seed(seed)
    x = np.zeros(4)
    x[0] = np.random.poisson()
    x[1] = np.random.gamma(2)
    x[2] = np.random.poisson(lam=3)
    x[3] = np.random.binomial(n=9, p=0.5)
    return x, np.random.poisson(2.0, 3)


def test_defaults_keywords_and_sizes() -> None:
    (x, many), (y, more) = flambeau.script(defaults)(5), defaults(5)
    assert np.array_equal(x, y)
    assert np.array_equal(many, more)
