"""Single numbers of distributions that programs draw themselves: NumPy's, and its errors."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.frontend.library import distributions, inverted_distributions

COUNT = 60
PARAMETERS: dict[str, list[tuple[float, ...]]] = {
    "poisson": [(0.0,), (0.3,), (9.99,), (10.0,), (47.5,), (1e6,), (3e18,)],
    "binomial": [(0, 0.3), (1, 0.5), (10, 0.3), (100, 0.98), (60, 0.5), (1000, 0.4), (7, 0.0), (7, 1.0)],
    "standard_gamma": [(0.0,), (0.2,), (0.99,), (1.0,), (2.5,), (1e4,), (np.inf,), (np.nan,)],
    "gamma": [(0.3, 2.0), (4.0, 0.25), (1.0, 0.0), (np.nan, 1.0)],
    "chisquare": [(1.0,), (2.0,), (7.5,), (np.nan,)],
    "geometric": [(0.1,), (0.4,), (1.0,), (1e-20,)],
    "negative_binomial": [(3.0, 0.2), (0.7, 0.9), (2.0, 1.0)],
    "lognormal": [(0.5, 0.3), (0.0, 0.0)],
    "laplace": [(1.0, 2.0), (0.0, 0.0)],
    "logistic": [(1.0, 2.0), (-1.0, 0.1)],
    "gumbel": [(1.0, 2.0), (0.0, np.nan)],
    "rayleigh": [(1.5,), (0.0,)],
    "weibull": [(1.7,), (0.2,), (0.0,)],
    "pareto": [(2.2,), (0.5,)],
    "power": [(1.7,), (0.4,)],
    "triangular": [(-1.0, 0.5, 2.0), (0.0, 0.0, 1.0)],
    "standard_cauchy": [()],
    "standard_t": [(4.0,), (0.5,)],
    "f": [(3.0, 5.0), (0.5, 20.0)],
    "beta": [(0.5, 0.5), (1.0, 1.0), (0.002, 0.003), (0.4, 3.0), (20.0, 5.0), (1e-4, 1e-4), (np.nan, 2.0)],
}
REFUSED = [
    ("poisson", (-1.0,), "lam < 0 or lam is NaN"), ("poisson", (np.nan,), "lam < 0 or lam is NaN"),
    ("poisson", (1e300,), "lam value too large"), ("standard_gamma", (-0.0,), "shape < 0"),
    ("gamma", (1.0, -2.0), "scale < 0"), ("chisquare", (0.0,), "df <= 0"), ("beta", (1.0, 0.0), "b <= 0"),
    ("binomial", (-1, 0.5), "n < 0"), ("binomial", (4, 1.5), "p < 0, p > 1 or p is NaN"),
]  # fmt: skip


COUNTS = ("poisson", "binomial", "geometric", "negative_binomial")


def drawing(name: str) -> str:
    """A program that draws numbers of a distribution, and one more to see where the generator is."""
    parameters = "abc"[: len(PARAMETERS[name][0])]
    typed = "".join([f", {p}: {'int' if (name, p) == ('binomial', 'a') else 'float'}" for p in parameters])
    return f"""def draw(seed: int, n: int{typed}):
    np.random.seed(seed)
    return [np.random.{name}({", ".join(parameters)}) for _ in range(n)], np.random.random_sample()
"""


@pytest.fixture(scope="module")
def draws(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[..., Any]]:
    """The programs, in a file, where those who compile and those who read errors find them."""
    path = tmp_path_factory.mktemp("draws") / "draws_of_numpy.py"
    functions = [drawing(name).replace("def draw", f"def draw_{name}") for name in PARAMETERS]
    path.write_text("import numpy as np\n\n" + "\n\n".join(functions))
    spec = importlib.util.spec_from_file_location("draws_of_numpy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(module, f"draw_{name}") for name in PARAMETERS}


@pytest.mark.parametrize("name", PARAMETERS)
def test_they_are_numbers_of_numpy(draws: dict[str, Callable[..., Any]], name: str) -> None:
    draw = draws[name]
    native, interpreted = flambeau.script(draw), flambeau.script(draw, backend="interpreter")
    for seed, parameters in enumerate(PARAMETERS[name]):
        expected, last = draw(seed, COUNT, *parameters)
        for scripted in (native, interpreted):
            numbers, then = scripted(seed, COUNT, *parameters)
            assert then == last, parameters
            assert np.array_equal(numbers, expected, equal_nan=True), parameters
            assert {type(v) for v in numbers} == {int if name in COUNTS else float}


@pytest.mark.parametrize(("name", "parameters", "message"), REFUSED)
def test_what_numpy_refuses(
    draws: dict[str, Callable[..., Any]], name: str, parameters: tuple[float, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        draws[name](0, 2, *parameters)
    with pytest.raises(ValueError, match=rf"(?s)draws_of_numpy.py.*np.random.{name}.*{message}"):
        flambeau.script(draws[name])(0, 2, *parameters)


def test_the_functions_themselves_draw_as_numpy_does() -> None:
    rng = np.random.RandomState(7)
    for _ in range(40):
        x, y, n, p = 10.0 ** rng.uniform(-2, 4), 10.0 ** rng.uniform(-2, 2), rng.randint(1, 300), rng.rand()
        calls = [
            ("poisson", (x,)), ("gamma", (y, x)), ("beta", (y, x)), ("chisquare", (y,)), ("binomial", (n, p)),
            ("geometric", (p,)), ("negative_binomial", (x, p)), ("f", (y, x)), ("power", (y,)), ("laplace", (y, x)),
        ]  # fmt: skip
        for name, parameters in calls:
            drawn = []
            ours = getattr(distributions, name, None) or getattr(inverted_distributions, name)
            for function in (getattr(np.random, name), ours):
                np.random.seed(n)
                drawn.append([*[function(*parameters) for _ in range(10)], np.random.random_sample()])
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


def vectors(seed, n):
    np.random.seed(seed)
    one = np.random.dirichlet(np.array([0.2, 1.5, 3.0])), np.random.multinomial(n, np.array([0.2, 0.5, 0.3]))
    rows = np.random.dirichlet([2.0, 3.0], 2), np.random.multinomial(n * 20, [0.1, 0.9], 3)
    more = np.random.dirichlet(np.array([1.0, 2.0]), size=(2, n)), np.random.multinomial(n, [1 / 6.0] * 6, (n, 2))
    return *one, *rows, *more, np.random.random()


def others(seed, n):
    np.random.seed(seed)
    rng = np.random.default_rng(seed)
    counts = np.random.hypergeometric(5, 6, 4), np.random.hypergeometric(50, 60, n, 3)
    floats = np.random.noncentral_chisquare(3.0, 1.0), np.random.noncentral_f(3.0, 2.0, 1.0, n)
    own = rng.hypergeometric(5, 6, 4), rng.noncentral_chisquare(3.0, 1.0, 2), rng.negative_binomial(2.5, 0.4, n)
    return *counts, *floats, *own, np.random.negative_binomial(2.5, 0.4, 3), np.random.random()


@pytest.mark.parametrize("program", [vectors, others])
def test_vectors_and_rare_distributions(program: Callable[..., Any]) -> None:
    scripted = flambeau.script(program)
    for seed, n in ((0, 3), (1, 3), (2, 5)):
        for one, other in zip(scripted(seed, n), program(seed, n), strict=True):
            assert np.shape(one) == np.shape(other)
            np.testing.assert_allclose(one, other, rtol=1e-14)


def weights(alpha):
    return np.random.dirichlet(alpha)


def chances(pvals):
    return np.random.multinomial(3, pvals)


@pytest.mark.parametrize(
    ("program", "bad", "message"),
    [
        (weights, [1.0, 0.0], "alpha <= 0"), (chances, [0.5, -0.1, 0.6], "pvals < 0, pvals > 1 or pvals contains NaNs"),
        (chances, [0.9, 0.9, 0.1], r"sum\(pvals\[:-1\]\) > 1.0"),
    ],
)  # fmt: skip
def test_vectors_that_numpy_refuses(program: Callable[..., Any], bad: list[float], message: str) -> None:
    scripted = flambeau.script(program)
    scripted(np.array([0.5, 0.5]))
    for function in (program, scripted):
        with pytest.raises(ValueError, match=message):
            function(np.array(bad))


def test_vectors_need_a_program_of_arrays() -> None:
    def of_tensors(x: flambeau.Tensor):
        return np.random.dirichlet([1.0, 2.0])

    text = r"np\.random\.dirichlet makes an array, and this program has none"
    with pytest.raises(flambeau.jit.CompileError, match=text):
        flambeau.script(of_tensors)
