"""Functions without annotations: of arrays for calls with arrays, of tensors for those with tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.jit.array_meaning import Meaning, meaning_of
from flambeau.util.errors import CompileError


def doubled(x):
    return x * 2


def spread(x):
    return x.std()


def mean_of_rows(x):
    return x.mean(0)


def differences(x):
    return x[1:] - x[:-1]


def large(x):
    return x[x > 1]


def first(x):
    return x[0]


def itself(x):
    return x


def shape(x):
    return x.shape


def quotient(x):
    return x // 2, x / 2, x % 2


def filled(x):
    x[0] = 9
    return x


def by_helper(x):
    return doubled(x) + 1


OF_ARRAYS = (doubled, spread, mean_of_rows, differences, large, first, itself, shape, quotient, filled, by_helper)


@pytest.mark.parametrize("function", OF_ARRAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_calls_with_arrays_mean_what_numpy_means(function: Callable[..., Any], dtype: str) -> None:
    x = np.array([1, 2, 3, 4], dtype)
    expected = function(x.copy())
    scripted = flambeau.script(function)
    for _ in range(3):
        got = scripted(x.copy())
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected)), strict=True):
            assert isinstance(a, np.ndarray) == isinstance(b, np.ndarray)
            assert getattr(a, "dtype", None) == getattr(b, "dtype", None) or np.ndim(b) == 0
            assert np.array_equal(a, b), (a, b)


def test_arrays_and_tensors_take_turns() -> None:
    scripted = flambeau.script(spread)
    x = np.array([1.0, 2.0, 4.0])
    for _ in range(3):
        assert scripted(x) == x.std()
        t = scripted(flambeau.tensor([1.0, 2.0, 4.0]))
        assert isinstance(t, flambeau.Tensor)
        assert float(t) == pytest.approx(x.std(ddof=1))
    wide = np.ones((2, 3), np.float32)
    assert scripted(wide) == 0.0


def test_the_fast_path_of_tensors_is_given_no_arrays() -> None:
    scripted = flambeau.script(doubled)
    t, x = flambeau.ones(3), np.ones(3, np.float32)
    for _ in range(5):
        assert isinstance(scripted(t), flambeau.Tensor)
    assert type(scripted(x)) is np.ndarray
    assert type(scripted(x=x)) is np.ndarray
    assert isinstance(scripted(t), flambeau.Tensor)


def test_numbers_and_lists_mean_what_they_mean_in_python() -> None:
    scripted = flambeau.script(doubled)
    assert (scripted(3), scripted(2.5), scripted([1.0])) == (6, 5.0, [1.0, 1.0])
    with pytest.raises(RuntimeError, match="Inferred 'x' to be of type 'Tensor'"):
        scripted(b"ab")


def names_a_function(x):
    return flambeau.relu(x)


def names_a_method(x):
    return x.unsqueeze(0)


def names_a_keyword(x):
    return x.sum(dim=0)


def annotated(x: flambeau.Tensor):
    return x * 2


def names_one_of_tensors(x):
    return annotated(x) + 1


SCRIPTED = flambeau.script(annotated)


def names_a_script(x):
    return SCRIPTED(x)


OF_TENSORS = (
    names_a_function, names_a_method, names_a_keyword, annotated, names_one_of_tensors, names_a_script,
)  # fmt: skip


@pytest.mark.parametrize("function", OF_TENSORS, ids=lambda f: f.__name__)
def test_what_names_tensors_is_of_tensors_on_the_memory_of_arrays(function: Callable[..., Any]) -> None:
    assert meaning_of(function) is Meaning.TENSORS
    x = np.ones(3, np.float32)
    assert isinstance(flambeau.script(function)(x), flambeau.Tensor)


def runs_over(x):
    s = 0.0
    for i in flambeau.prange(len(x)):
        s += x[i]
    return s


def corrected(x):
    return np.std(x, correction=1)


def test_keywords_that_numpy_has_too_say_nothing_of_tensors() -> None:
    assert meaning_of(corrected) is Meaning.NUMPY


def test_prange_says_nothing_of_tensors() -> None:
    assert meaning_of(runs_over) is Meaning.ANY
    assert meaning_of(spread_of_roots) is Meaning.NUMPY
    assert flambeau.script(runs_over)(np.arange(4.0)) == 6.0


def spread_of_roots(x):
    return np.sqrt(x).std()


@pytest.mark.parametrize("function", [spread, spread_of_roots], ids=lambda f: f.__name__)
def test_what_is_looked_at_is_the_program_on_arrays(function: Callable[..., Any]) -> None:
    scripted = flambeau.script(function)
    x = np.arange(4.0)
    for looked_at in (scripted.graph_for(x), scripted.graph):
        assert "aten::std" in str(looked_at)
        assert "prim::Constant[value=0]" in str(looked_at)  # NumPy divides by n
    scripted.compile(x)
    assert scripted.profile(x).result == function(x)
    assert scripted.explain().compilations


def test_programs_on_declared_arrays_are_looked_at_before_a_call() -> None:
    def doubled_deviation(x: np.ndarray, n: int = 2):
        return (x * n).std()

    scripted = flambeau.script(doubled_deviation)
    x = np.arange(4.0)
    scripted.compile(x[::-1])
    assert len(scripted.explain().compilations) == 1
    assert scripted.profile(x, n=3).result == doubled_deviation(x, 3)


def mean_by_size(x):
    s = 0
    for i in range(x.shape[0]):
        s += x[i]
    return s / x.size


def test_what_tensors_do_not_have_is_compiled_when_a_call_brings_arrays() -> None:
    scripted = flambeau.script(mean_by_size)
    for dtype in ("uint8", "int64", "float32"):
        x = np.arange(5, dtype=dtype)
        assert scripted(x) == mean_by_size(x)
    with pytest.raises(CompileError, match="cannot be used as a value"):

        @flambeau.script
        def of_tensors(x: flambeau.Tensor):
            return x.sum() / x.size
