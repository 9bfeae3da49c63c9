"""Functions of NumPy on numbers give what NumPy gives, in programs with arrays and without."""

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError
from tests.random_programs.tensors.check import compile_source

NAN, INF = float("nan"), float("inf")
ONE = (
    "floor", "ceil", "trunc", "rint", "sqrt", "exp", "log", "abs", "absolute", "fabs", "sign", "square", "reciprocal",
    "negative", "positive", "sin", "arctan", "isnan", "isinf", "isfinite", "log2", "log10", "log1p", "expm1", "exp2",
    "degrees", "radians", "signbit",
)  # fmt: skip
TWO = (
    "hypot", "arctan2", "minimum", "maximum", "power", "mod", "remainder", "fmod", "add", "subtract", "multiply",
    "divide", "floor_divide", "copysign", "logaddexp", "fmax", "fmin",
)  # fmt: skip
NUMBERS = (0.6, -0.6, 2.5, -2.5, NAN, INF, -0.0, 1e300)


def numbers_alone(call: str) -> str:
    return f"def main(v: float, w: float):\n    return {call}\n"


def elements(call: str) -> str:
    return f"def main(x: np.ndarray):\n    v = x[0]\n    w = x[1]\n    return {call}\n"


def agrees(source: str, name: str, *, of_array: bool) -> None:
    function = compile_source(source, f"<{name} {of_array}>", {"np": np})
    scripted = flambeau.script(function)
    for v in NUMBERS:
        for w in (0.5, NAN, -3.0):
            given: list[Any] = [np.array([v, w])] if of_array else [v, w]
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                expected = function(*(given if of_array else map(np.float64, given)))
            got = scripted(*given)
            np.testing.assert_allclose(float(got), float(expected), rtol=1e-12, equal_nan=True)
    scripted.compile(*([np.ones(2)] if of_array else [1.0, 2.0]))
    assert "interpreted" not in str(scripted.explain())


@pytest.mark.parametrize("name", ONE + TWO)
def test_functions_of_numbers_are_numpys(name: str) -> None:
    call = f"np.{name}(v)" if name in ONE else f"np.{name}(v, w)"
    agrees(numbers_alone(call), name, of_array=False)
    agrees(elements(call), name, of_array=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8])
@pytest.mark.parametrize("name", ["sign", "floor", "rint", "degrees", "signbit"])
def test_functions_of_arrays_are_numpys(name: str, dtype: type) -> None:
    function = compile_source(f"def main(x: np.ndarray):\n    return np.{name}(x)\n", f"<{name}>", {"np": np})
    with np.errstate(all="ignore"):
        x = np.array([0.6, -2.5, NAN, INF, -0.0, 3]).astype(dtype) if dtype().dtype.kind == "f" else np.arange(-2, 3)
        x = x.astype(dtype)
        expected = function(x)
    got = flambeau.script(function)(x)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6, equal_nan=True)


SHAPES = [((2, 3), (4, 3, 5)), ((3,), (4, 3, 5)), ((6, 2, 3), (3, 2)), ((6, 2, 3), (4, 3, 5)), ((3,), (3,))]


@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_dot_pairs_all_leading_axes(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    def dot(x: np.ndarray, y: np.ndarray):
        return np.dot(x, y)

    rng = np.random.default_rng(0)
    x, y = rng.random(first), rng.random(second)
    np.testing.assert_allclose(flambeau.script(dot)(x, y), dot(x, y))


def test_outer_takes_arrays_of_any_shape_as_lists() -> None:
    def outer(x: np.ndarray, y: np.ndarray):
        return np.outer(x, y), np.outer(x, x)

    x, y = np.arange(6.0).reshape(2, 3), np.arange(3)
    for got, expected in zip(flambeau.script(outer)(x, y), outer(x, y), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_additions_at_indexes_say_what_they_take() -> None:
    def three(x: np.ndarray):
        np.add.at(x, 0)
        return x

    def tensors(x: flambeau.Tensor):
        np.add.at(x, 0, 1)
        return x

    for function in (three, tensors):
        with pytest.raises(CompileError) as caught:
            flambeau.script(function)(np.zeros(3) if function is three else flambeau.zeros(3))
        assert "np.add.at takes an array, its indexes and what is added, written out:" in str(caught.value)


def test_conjugates_of_elements() -> None:
    def norms(z: np.ndarray, x: np.ndarray):
        s, t = 0.0, 0j
        for i in range(len(z)):
            s += (z[i] * z[i].conj()).real + x[i].conjugate()
            t += z[i].conjugate() * x[i].conj()
        return s, t

    z, x = np.array([1 + 2j, 3j, complex(-0.0, np.inf)]), np.array([0.5, -2.0, 3.0])
    scripted = flambeau.script(norms)
    for _ in range(2):
        np.testing.assert_equal(scripted(z[:2], x), norms(z[:2], x))
    assert "interpreted" not in str(scripted.explain())
