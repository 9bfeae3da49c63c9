"""Norms of an order in compiled functions: NumPy's answers, natively, and the operator's own words where it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code here")
RNG = np.random.default_rng(2)
VECTORS = (RNG.standard_normal(7), np.array([0.0, -3.0]), np.array([np.inf, 1.0]), np.array([np.nan, -0.0]))
MATRICES = (RNG.standard_normal((3, 4)), -np.ones((2, 1)), np.array([[np.nan, 1.0], [2.0, 3.0]]), np.eye(5)[::2])
FINITE = MATRICES[:2] + MATRICES[3:]


def of_vectors(order: Any) -> Callable[..., Any]:
    def norms(x: np.ndarray):
        rows = x[None]
        return np.linalg.norm(x, order), np.linalg.norm(rows, order, axis=1), np.linalg.norm(rows, order, 0, True)

    return norms


def of_matrices(order: Any) -> Callable[..., Any]:
    def norms(x: np.ndarray):
        several = x[None]
        return np.linalg.norm(x, order), np.linalg.norm(several, ord=order, axis=(-1, 1), keepdims=True)

    return norms


def compare(program: Callable[..., Any], arrays: tuple[Any, ...]) -> None:
    function = flambeau.script(program)
    for array in (*arrays, *arrays):
        for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-5)):
            x = array.astype(dtype)
            with np.errstate(all="ignore"):
                found, expected = function(x), program(x)
            for ours, theirs in zip(found, expected, strict=True):
                assert np.shape(ours) == np.shape(theirs)
                np.testing.assert_allclose(ours, theirs, rtol=tolerance)


@pytest.mark.parametrize("order", [None, 1, 2, 3, 0.5, -1, -2.5, 0, math.inf, -math.inf])
def test_norms_of_vectors(order: Any) -> None:
    compare(of_vectors(order), VECTORS)


@pytest.mark.parametrize("order", [None, "fro", 1, -1, math.inf, -math.inf])
def test_norms_of_matrices_by_sums(order: Any) -> None:
    compare(of_matrices(order), MATRICES)


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_norms_of_matrices_by_singular_values(order: Any) -> None:
    compare(of_matrices(order), FINITE)


def test_a_matrix_that_is_not_finite_has_no_singular_values() -> None:
    def norms(x: np.ndarray):
        return np.linalg.norm(x, 2)

    function = flambeau.script(norms)
    for _ in range(4):
        assert function(np.eye(2)) == 1
        assert math.isnan(function(np.array([[1.0, np.inf], [0.0, 1.0]])))


@pytest.mark.parametrize("program", [of_vectors(math.inf), of_vectors(3), of_vectors(1)])
def test_norms_of_vectors_in_loops_are_native(program: Callable[..., Any]) -> None:
    def loop(x: np.ndarray, n: int) -> float:
        total = 0.0
        for k in range(n):
            total += program(x + k)[0]
        return total

    function = flambeau.script(loop)
    for count in (3, 5, 2):
        assert function(VECTORS[0], count) == pytest.approx(loop(VECTORS[0], count), rel=1e-13)
    assert all(c.state == "native from end to end" for c in function.explain().compilations)


def test_norms_of_nothing() -> None:
    def norms(x: np.ndarray):
        return np.linalg.norm(x, 1)

    function = flambeau.script(norms)
    for _ in range(4):
        assert function(np.zeros((0, 3))) == function(np.zeros(0)) == 0
        assert function(np.full((3, 2), -1.0)) == 3
