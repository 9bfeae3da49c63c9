"""Folds of slices in loops: whole vectors, narrower ones, and the last elements one by one, which a loop may just have
written."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau

UNIT = """
def folds(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    n = x.size(0)
    sums, products, largest, smallest = x.clone(), x.clone(), x.clone(), x.clone()
    for i in range(1, n):
        sums[i] = x[:i].sum()
        products[i] = flambeau.dot(x[:i], y[:i])
        largest[i] = x[:i].max()
        smallest[i] = x[i:].min()
    return sums, products, largest, smallest

def chained(x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    for i in range(1, x.size(0)):
        x[i] -= flambeau.dot(x[:i], y[:i])
    return x
"""


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_e5_folds_of_slices_of_every_length(dtype: type) -> None:
    unit = flambeau.jit.CompilationUnit(UNIT)
    random = np.random.default_rng(0)
    x, y = (np.round(random.standard_normal(150) * 8).astype(dtype) for _ in range(2))
    for _ in range(4):
        results = [r.numpy() for r in unit.folds(flambeau.from_numpy(x), flambeau.from_numpy(y))]
    lengths = range(1, 150)
    expected = [
        [x[:i].sum() for i in lengths], [x[:i] @ y[:i] for i in lengths],
        [x[:i].max() for i in lengths], [x[i:].min() for i in lengths],
    ]  # fmt: skip
    for result, want in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result[1:], want)


def test_e5_a_fold_of_what_the_last_turn_wrote() -> None:
    unit = flambeau.jit.CompilationUnit(UNIT)
    random = np.random.default_rng(1)
    x, y = random.standard_normal(100), random.standard_normal(100) * 0.1
    want = x.copy()
    for i in range(1, 100):
        want[i] -= want[:i] @ y[:i]
    for _ in range(4):
        np.testing.assert_allclose(unit.chained(flambeau.from_numpy(x), flambeau.from_numpy(y)).numpy(), want)


def test_e5_a_fold_of_running_sums() -> None:
    unit = flambeau.jit.CompilationUnit("""
def f(x: Tensor) -> Tensor:
    s = x.sum() * 0
    for i in range(x.size(0)):
        s = s + x[:i].cumsum(0).sum()
    return s
""")
    x = np.arange(1.0, 40.0)
    want = sum(x[:i].cumsum().sum() for i in range(len(x)))
    for _ in range(4):
        assert unit.f(flambeau.from_numpy(x)).item() == want
    (plan,) = unit.f._executor.plans
    assert plan.compiled.reason == ""
