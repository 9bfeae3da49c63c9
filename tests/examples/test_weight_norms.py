"""Weights with norms of their own in compiled functions, beside NumPy in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_weight_norms(dim: int) -> None:
    text = f"def f(v: Tensor, g: Tensor) -> Tensor:\n    return flambeau._weight_norm(v, g, {dim}) * 2.0\n"
    function = flambeau.jit.CompilationUnit(text).f
    rng = np.random.default_rng(dim + 1)
    rest = tuple(d for d in range(3) if dim == -1 or d != dim)
    for shape in ((4, 3, 5), (1, 3, 1), (4, 2, 7), (3, 1, 2)):
        v = rng.normal(size=shape).astype(np.float32)
        g = rng.normal(size=() if dim == -1 else [n if d == dim else 1 for d, n in enumerate(shape)])
        for _ in range(4):
            found: Any = function(flambeau.from_numpy(v), flambeau.from_numpy(np.asarray(g, np.float32)))
        norm = np.sqrt((v.astype(np.float64) ** 2).sum(axis=rest, keepdims=True))
        np.testing.assert_allclose(found.numpy(), 2 * v * (g / norm), rtol=1e-5, atol=1e-6)
    assert function.explain(measure=False).is_native


def test_a_weight_of_zeros_gives_nan() -> None:
    text = "def f(v: Tensor, g: Tensor) -> Tensor:\n    return flambeau._weight_norm(v, g, 0) + 0.0\n"
    function = flambeau.jit.CompilationUnit(text).f
    for _ in range(5):
        found = function(flambeau.zeros(2, 3), flambeau.ones(2, 1))
    assert np.isnan(found.numpy()).all()
