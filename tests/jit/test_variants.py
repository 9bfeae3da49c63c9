"""Functions that are compiled for more kinds of calls than code is kept for give the same, in whichever order."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.func import grad
from flambeau.jit import array_function, by_types
from flambeau.jit.array_function import ArrayFunction


def doubled(x: np.ndarray, y: np.ndarray):
    return x * 2 + y


def of_pairs(pairs, x):
    total = x.sum()
    for pair in pairs:
        total = total + pair * pair
    return total


ARRAYS = [(np.ones(3, a), np.full(3, 2, b)) for a in ("f4", "f8", "i4") for b in ("f4", "f8")]
"""Six combinations of dtypes."""
PAIRS = [((1.0,) * n, flambeau.ones(2, dtype=flambeau.float64)) for n in range(1, 7)]
"""Six types of tuples."""


def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_function, "MAX_VARIANTS", 3)
    monkeypatch.setattr(by_types, "MOST", 3)


def scripted(kind: str) -> tuple[Callable[..., Any], list[tuple[Any, ...]], Callable[..., Any]]:
    if kind == "arrays":
        return flambeau.script(doubled), ARRAYS, doubled
    return flambeau.script(of_pairs), PAIRS, of_pairs


@pytest.mark.parametrize("kind", ["arrays", "types"])
def test_more_kinds_than_are_kept(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch)
    function, calls, plain = scripted(kind)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for arguments in (*calls, *calls[::-1], *calls):
            result, wanted = function(*arguments), plain(*arguments)
            assert np.array_equal(np.asarray(result), np.asarray(wanted))
            assert np.asarray(result).dtype == np.asarray(wanted).dtype
    kinds = "dtypes and ranks of its arrays" if kind == "arrays" else "types of its arguments"
    (warning,) = told
    assert f"{plain.__name__}() was compiled for more than 3 combinations of {kinds}" in str(warning.message)
    assert warning.filename == __file__


def each_beside(function: Callable[..., Any], first: tuple[Any, ...], calls: list[tuple[Any, ...]]) -> None:
    for arguments in calls:
        function(*first)
        function(*arguments)


def test_what_was_called_last_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch)
    function = flambeau.script(doubled)
    assert isinstance(function, ArrayFunction)
    first = ARRAYS[0]
    with pytest.warns(UserWarning, match="called longest ago was dropped"):
        each_beside(function, first, ARRAYS)
    kept = function.variants_cache.statistics()
    assert (kept.entries, kept.misses, kept.evictions) == (3, len(ARRAYS), len(ARRAYS) - 3)


def test_no_more_than_are_kept_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch)
    function = flambeau.script(doubled)
    for arguments in (*ARRAYS[:3], *ARRAYS[:3]):
        function(*arguments)


def test_transforms_of_more_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch)
    derivative = grad(flambeau.script(of_pairs), argnums=1)
    with pytest.warns(UserWarning, match="of_pairs"):
        results = [derivative(*arguments).tolist() for arguments in (*PAIRS, *PAIRS)]
    assert results == [[1.0, 1.0]] * (2 * len(PAIRS))


def test_explanations_say_what_is_new() -> None:
    function = flambeau.script(doubled)
    function(*ARRAYS[0])
    function(*ARRAYS[3])
    function(np.ones((2, 3)), ARRAYS[3][1])
    told = function.explain(measure=False)
    assert {compilation.cause for compilation in told.compilations} == {
        "first call",
        "new types: 'x' is float64[*], was float32[*]; 'y' is float64[*], was float32[*]",
        "new types: 'x' is float64[*, *], was float64[*]",
    }


@pytest.mark.parametrize("options", [{}, {"verify": True}], ids=["usual", "verified"])
def test_explanations_of_types(options: dict[str, Any]) -> None:
    function = flambeau.script(of_pairs, **options)
    for arguments in PAIRS[:2]:
        function(*arguments)
    causes = [compilation.cause for compilation in function.explain(measure=False).compilations]
    assert causes == ["first call", "new types: 'pairs' is tuple(float, float), was tuple(float)"]


def without_annotations(x, y):
    return x * 2 + y


def test_explanations_of_arrays_and_tensors() -> None:
    function = flambeau.script(without_annotations)
    function(np.ones(3), np.ones(3))
    function(flambeau.ones(3), flambeau.ones(3))
    function(np.ones(3, "f4"), np.ones(3))
    specs = {compilation.spec for compilation in function.explain(measure=False).compilations}
    assert specs == {"float64[*], float64[*]", "float32[*], float32[*]", "float32[*], float64[*]"}
