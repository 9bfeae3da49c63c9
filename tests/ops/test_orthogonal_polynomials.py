"""Orthogonal polynomials beside NumPy's, beside their functions of angles, and beside PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

import flambeau
from flambeau.ops.orthogonal_polynomials import KINDS

DEGREES = [0, 1, 2, 3, 4, 5, 8, 9, 12, 20]
X = np.array([-2.5, -1.25, -1.0, -0.999, -0.5, 0.0, 0.25, 0.5, 0.75, 0.999, 1.0, 1.125, 3.0])
BY_NUMPY: dict[str, Callable[[np.ndarray[Any, Any], list[float]], Any]] = {
    "chebyshev_polynomial_t": chebyshev.chebval,
    "hermite_polynomial_h": hermite.hermval,
    "hermite_polynomial_he": hermite_e.hermeval,
    "laguerre_polynomial_l": laguerre.lagval,
    "legendre_polynomial_p": legendre.legval,
}
BY_ANGLE: dict[str, Callable[[float, int], float]] = {
    "chebyshev_polynomial_t": lambda a, n: math.cos(n * a),
    "chebyshev_polynomial_u": lambda a, n: math.sin((n + 1) * a) / math.sin(a),
    "chebyshev_polynomial_v": lambda a, n: math.cos((n + 0.5) * a) / math.cos(a / 2),
    "chebyshev_polynomial_w": lambda a, n: math.sin((n + 0.5) * a) / math.sin(a / 2),
}
AT_ONE = {"t": lambda n: 1, "u": lambda n: n + 1, "v": lambda n: 1, "w": lambda n: 2 * n + 1}


def function(name: str) -> Callable[..., Any]:
    polynomial: Callable[..., Any] = getattr(flambeau.special, name)
    return polynomial


@pytest.mark.parametrize("name", sorted(BY_NUMPY))
def test_as_sums_of_powers_are(name: str) -> None:
    for degree in DEGREES:
        ours = function(name)(flambeau.from_numpy(X), degree).numpy()
        wanted = BY_NUMPY[name](X, [0.0] * degree + [1.0])
        np.testing.assert_allclose(ours, wanted, rtol=1e-12, atol=1e-12 * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.parametrize("degree", [*DEGREES, 1000])
@pytest.mark.parametrize("name", sorted(BY_ANGLE))
def test_between_minus_one_and_one_they_are_functions_of_an_angle(name: str, degree: int) -> None:
    inside = X[np.abs(X) < 1]
    wanted = [BY_ANGLE[name](math.acos(x), degree) for x in inside]
    np.testing.assert_allclose(
        function(name)(flambeau.from_numpy(inside), degree).numpy(), wanted, rtol=1e-9, atol=1e-10
    )
    shifted = function(f"shifted_{name}")(flambeau.from_numpy((inside + 1) / 2), degree).numpy()
    np.testing.assert_allclose(shifted, wanted, rtol=1e-8, atol=1e-8)
    assert function(name)(1.0, flambeau.tensor([degree])).tolist() == [AT_ONE[name[-1]](degree)]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_degrees_numbers_and_dtypes(name: str) -> None:
    x, degrees = flambeau.tensor([0.5, -0.5, 2.0]), flambeau.tensor([[3], [-1]])
    both = function(name)(x, degrees)
    assert (both.shape, both.dtype) == ((2, 3), flambeau.float32)
    assert flambeau.equal(both[0], function(name)(x, 3))
    assert both[1].tolist() == [0.0] * 3
    assert flambeau.equal(both[:, 2], function(name)(2.0, degrees[:, 0]))
    assert flambeau.equal(function(name)(x, 2.75), function(name)(x, 2))
    assert function(name)(flambeau.tensor([3]), 2).dtype is flambeau.float32
    assert function(name)(flambeau.tensor([math.nan]), 0).tolist() == [1.0]
    assert math.isnan(function(name)(flambeau.tensor([math.nan]), 4).item())
    assert function(name)(flambeau.zeros(0, 2), degrees[0]).shape == (0, 2)
    result = flambeau.empty(3)
    assert function(name)(x, 3, out=result) is result
    assert flambeau.equal(result, both[0])
    assert flambeau.equal(_call(name)(x, 3), both[0])


def _call(name: str) -> Callable[..., Any]:
    body = f"return flambeau.special_{name}(x, n)"
    unit = flambeau.CompilationUnit(f"def call(x: Tensor, n: int) -> Tensor:\n    {body}\n")
    call: Callable[..., Any] = unit.call
    return call


@pytest.mark.parametrize("name", sorted(KINDS))
def test_beside_the_peer(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    for degree in (*DEGREES, -3):
        theirs = getattr(torch.special, name)(torch.from_numpy(X), degree).numpy()
        ours = function(name)(flambeau.from_numpy(X), degree).numpy()
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12 * max(1.0, float(np.abs(theirs).max())))
