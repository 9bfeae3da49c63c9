"""Matrices without rows or columns have factors, and systems of them solutions, all empty."""

from __future__ import annotations

import flambeau
from flambeau.autograd import grad


def test_factors_of_empty_matrices() -> None:
    for shape in ((0, 0), (2, 0, 0), (0, 3, 3), (3, 0)):
        factors, pivots = flambeau.linalg.lu_factor(flambeau.zeros(*shape))
        assert (factors.shape, pivots.shape) == (shape, (*shape[:-2], min(shape[-2:])))
    assert [tuple(t.shape) for t in flambeau.linalg.lu(flambeau.zeros(3, 0))] == [(3, 3), (3, 0), (0, 0)]


def test_systems_of_empty_matrices() -> None:
    factors = flambeau.zeros(0, 0, requires_grad=True)
    right = flambeau.zeros(0, 4, requires_grad=True)
    solution = flambeau.linalg.lu_solve(factors, flambeau.zeros(0, dtype=flambeau.int32), right)
    assert solution.shape == (0, 4)
    assert [tuple(g.shape) for g in grad(solution.sum(), (factors, right))] == [(0, 0), (0, 4)]
