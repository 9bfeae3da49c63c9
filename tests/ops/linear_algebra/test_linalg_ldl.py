"""L and D of symmetric and Hermitian matrices: packed as PyTorch has them from LAPACK, and systems solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import linalg


def matrices(dtype: str, hermitian: bool, *shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=shape).astype(dtype)
    if "complex" in dtype:
        a = a + 1j * rng.normal(size=shape)
    other = a.swapaxes(-1, -2)
    a = a + (other.conj() if hermitian else other)
    if seed % 2:  # without a diagonal to speak of, blocks of two are needed
        a[..., range(shape[-1]), range(shape[-1])] *= 0.01
    return a.astype(dtype)


ROWS = [
    (dtype, hermitian, shape, seed)
    for dtype, hermitian in (("float64", False), ("complex128", True), ("complex128", False), ("float32", True))
    for shape in ((1, 1), (2, 2), (5, 5), (3, 4, 4), (9, 9))
    for seed in (0, 1, 2, 3)
]


@pytest.mark.parametrize(("dtype", "hermitian", "shape", "seed"), ROWS)
def test_factors_are_pytorchs_and_solve(dtype: str, hermitian: bool, shape: tuple[int, ...], seed: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    a = matrices(dtype, hermitian, *shape, seed=seed)
    ours = linalg.ldl_factor_ex(flambeau.from_numpy(a), hermitian=hermitian)
    theirs = torch.linalg.ldl_factor_ex(torch.from_numpy(a), hermitian=hermitian)
    close = 1e-4 if dtype == "float32" else 1e-9
    np.testing.assert_array_equal(np.asarray(ours.pivots), theirs.pivots.numpy())
    np.testing.assert_array_equal(np.asarray(ours.info), theirs.info.numpy())
    np.testing.assert_allclose(np.asarray(ours.LD), theirs.LD.numpy(), rtol=close, atol=close)
    assert ours.LD.stride() == theirs.LD.stride()
    b = np.ones((*shape[:-1], 2), dtype)
    x = linalg.ldl_solve(ours.LD, ours.pivots, flambeau.from_numpy(b), hermitian=hermitian)
    np.testing.assert_allclose(a @ np.asarray(x), b, rtol=100 * close, atol=100 * close)


def test_only_the_lower_triangle_is_read() -> None:
    a = flambeau.from_numpy(matrices("float64", False, 4, 4, seed=1))
    whole, lower = linalg.ldl_factor(a), linalg.ldl_factor(a.tril())
    assert flambeau.equal(whole.LD, lower.LD)
    assert flambeau.equal(whole.LD.triu(1), flambeau.zeros(4, 4, dtype=flambeau.float64))


def test_batches_of_both() -> None:
    a = flambeau.from_numpy(matrices("float64", False, 3, 3, seed=1))
    factors = linalg.ldl_factor(a)
    x = linalg.ldl_solve(factors.LD, factors.pivots, flambeau.ones(2, 3, 1, dtype=flambeau.float64))
    assert x.shape == (2, 3, 1)
    assert flambeau.allclose(a @ x, flambeau.ones(2, 3, 1, dtype=flambeau.float64))
    empty = linalg.ldl_factor(flambeau.zeros(2, 0, 0))
    assert (empty.LD.shape, empty.pivots.shape) == ((2, 0, 0), (2, 0))


def test_programs_take_them() -> None:
    def f(a: flambeau.Tensor, b: flambeau.Tensor) -> flambeau.Tensor:
        factors = linalg.ldl_factor(a)
        return linalg.ldl_solve(factors.LD, factors.pivots, b)

    a, b = flambeau.from_numpy(matrices("float64", False, 4, 4, seed=3)), flambeau.ones(4, 1, dtype=flambeau.float64)
    assert flambeau.equal(flambeau.script(f)(a, b), f(a, b))


def test_what_is_refused() -> None:
    a = flambeau.eye(3)
    factors = linalg.ldl_factor(a)
    with pytest.raises(RuntimeError, match=r"linalg\.ldl_factor: D\[1,1\] is zero, so that systems have no solution"):
        linalg.ldl_factor(flambeau.zeros(2, 2))
    assert linalg.ldl_factor_ex(flambeau.zeros(2, 2)).info.item() == 1
    with pytest.raises(RuntimeError, match=r"Expected pivots to be integers\. Got Float"):
        linalg.ldl_solve(factors.LD, factors.pivots.float(), flambeau.ones(3, 1))
    with pytest.raises(RuntimeError, match=r"but got pivots with shape \[2\] instead"):
        linalg.ldl_solve(factors.LD, factors.pivots[:2], flambeau.ones(3, 1))
    with pytest.raises(RuntimeError, match="each A matrix is 3 by 3 but each b matrix is 4 by 1"):
        linalg.ldl_solve(factors.LD, factors.pivots, flambeau.ones(4, 1))
    with pytest.raises(RuntimeError, match=r"Expected a floating point or complex tensor as input\. Got Long"):
        linalg.ldl_factor(flambeau.ones(2, 2, dtype=flambeau.int64))


@pytest.mark.parametrize("pivots", [[1, 4, 3], [1, 2, -3]])
def test_pivots_that_are_none_are_refused(pivots: list[int]) -> None:
    with pytest.raises(IndexError, match="pivots must be those of ldl_factor"):
        flambeau.linalg.ldl_solve(flambeau.eye(3), flambeau.tensor(pivots, dtype=flambeau.int32), flambeau.ones(3, 1))
