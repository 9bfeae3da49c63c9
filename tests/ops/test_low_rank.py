"""Singular values and components from random products, beside those of whole decompositions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def of_rank(sizes: tuple[int, ...], rank: int, dtype: Any = flambeau.float64) -> Tensor:
    flambeau.manual_seed(3)
    *batch, rows, columns = sizes
    left, right = flambeau.randn(*batch, rows, rank, dtype=dtype), flambeau.randn(*batch, rank, columns, dtype=dtype)
    product: Tensor = left @ right
    return product


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.complex128])
@pytest.mark.parametrize("sizes", [(7, 5), (5, 7), (2, 3, 6, 6), (4, 1)])
def test_of_low_rank_nothing_is_lost(sizes: tuple[int, ...], dtype: Any) -> None:
    rank = min(2, *sizes[-2:])
    matrix = of_rank(sizes, rank, dtype)
    u, s, v = flambeau.svd_lowrank(matrix, q=rank)
    assert (u.shape, s.shape, v.shape) == (
        (*sizes[:-1], rank), (*sizes[:-2], rank), (*sizes[:-2], sizes[-1], rank),
    )  # fmt: skip
    tolerance = 1e-3 if dtype is flambeau.float32 else 1e-9
    assert flambeau.allclose((u * s.to(u.dtype).unsqueeze(-2)) @ v.mH, matrix, atol=tolerance)
    wanted = np.linalg.svd(matrix.numpy(), compute_uv=False)[..., :rank]
    np.testing.assert_allclose(s.numpy(), wanted, rtol=tolerance)
    assert flambeau.allclose(u.mH @ u, flambeau.eye(rank, dtype=dtype).expand(*sizes[:-2], rank, rank), atol=tolerance)


def test_components_are_those_of_rows_without_their_mean() -> None:
    samples = of_rank((20, 5), 5) + flambeau.arange(5.0, dtype=flambeau.float64) * 10
    _, s, v = flambeau.pca_lowrank(samples)
    centred = samples.numpy() - samples.numpy().mean(0)
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(centred, compute_uv=False), rtol=1e-9)
    variances = np.linalg.eigvalsh(np.cov(samples.numpy().T))[::-1]
    np.testing.assert_allclose(s.numpy() ** 2 / 19, variances, rtol=1e-9)
    assert flambeau.allclose((samples - samples.mean(0)) @ v @ v.mH, samples - samples.mean(0))
    plain = flambeau.pca_lowrank(samples, 2, center=False)[1]
    np.testing.assert_allclose(plain[0].item(), np.linalg.svd(samples.numpy(), compute_uv=False)[0], rtol=1e-9)


def test_what_is_subtracted_and_gradients() -> None:
    matrix = of_rank((6, 4), 2).requires_grad_()
    shift = flambeau.ones(4, dtype=flambeau.float64)
    s = flambeau.svd_lowrank(matrix + shift, q=3, M=shift)[1]
    (gradient,) = flambeau.autograd.grad(s[:2].square().sum(), matrix)
    assert flambeau.allclose(gradient, 2 * matrix)  # the sum of all squares of singular values is that of elements


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((flambeau.ones(3),), "takes a matrix, or a batch of them, of floats, but got [3] of flambeau.float32"),
        ((flambeau.ones(3, 3, dtype=flambeau.int64),), "but got [3, 3] of flambeau.int64"),
        ((flambeau.ones(3, 2), 3), "q(=3) must be non-negative integer and not greater than min(m, n)=2"),
        ((flambeau.ones(3, 2), -1), "q(=-1) must be non-negative integer"),
        ((flambeau.ones(3, 2), 1, True, -2), "niter(=-2) must be non-negative integer"),
    ],
)
def test_what_has_no_components_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        flambeau.pca_lowrank(*arguments)
