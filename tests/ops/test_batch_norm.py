"""Norms over batches by running statistics: one formula, whatever lies how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.nn import functional

EXTREME = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38)
SIZES = ((5, 3), (5, 3, 4), (2, 3, 4, 5), (0, 3), (2, 3, 0), (1, 1), (4, 0))


def by_definition(x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Step by step, each rounded to the dtype."""
    along = (1, -1, *[1] * (x.ndim - 2)) if x.shape[1] else (1, 0, *[1] * (x.ndim - 2))
    with np.errstate(all="ignore"):
        result = (x - mean.reshape(along)) * (x.dtype.type(1) / np.sqrt(var.reshape(along) + x.dtype.type(eps)))
        result = result if weight is None else result * weight.reshape(along)
        return result if bias is None else result + bias.reshape(along)


def drawn(random: Any, sizes: tuple[int, ...], dtype: Any, is_extreme: bool) -> Any:
    array = random.standard_normal(sizes).astype(dtype)
    if is_extreme and array.size:
        array.reshape(-1)[:: max(array.size // 7, 1)][:7] = np.array(EXTREME, dtype)[: min(array.size, 7)]
    return array


@pytest.mark.parametrize("is_extreme", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", SIZES)
def test_results_by_running_statistics_have_the_bits_of_the_definition(
    sizes: tuple[int, ...], dtype: Any, is_extreme: bool
) -> None:
    random = np.random.default_rng(0)
    x = drawn(random, sizes, dtype, is_extreme)
    mean, weight, bias = (drawn(random, sizes[1:2], dtype, is_extreme) for _ in range(3))
    var = np.abs(drawn(random, sizes[1:2], dtype, is_extreme))
    for scale, shift in ((None, None), (weight, None), (None, bias), (weight, bias)):
        given = [None if v is None else flambeau.from_numpy(v) for v in (mean, var, scale, shift)]
        result = functional.batch_norm(flambeau.from_numpy(x), *given, eps=1e-3).numpy()
        expected = by_definition(x, mean, var, scale, shift, 1e-3)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, expected)
        assert (np.signbit(result) == np.signbit(expected))[~np.isnan(expected)].all()


def test_arrays_that_lie_otherwise_give_the_same() -> None:
    x = flambeau.randn(4, 3, 6, 5)
    mean, var = flambeau.randn(6)[::2], flambeau.rand(6)[::2]
    expected = functional.batch_norm(x, mean.clone(), var.clone())
    last = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert functional.batch_norm(last, mean, var).equal(expected)
    rows = flambeau.randn(3, 4).t()
    assert functional.batch_norm(rows, mean, var).equal(functional.batch_norm(rows.contiguous(), mean, var))


def test_vectors_of_another_dtype_count_as_they_are() -> None:
    x, mean, var = flambeau.randn(4, 3), flambeau.randn(3).double(), flambeau.rand(3).double()
    result = functional.batch_norm(x, mean, var)
    wide = by_definition(x.numpy(), mean.numpy(), var.numpy(), None, None, 1e-5)
    assert result.dtype is flambeau.float32
    np.testing.assert_array_equal(result.numpy(), wide.astype(np.float32))


@pytest.mark.parametrize("name", ["running_mean", "running_var", "weight", "bias"])
def test_vectors_of_other_lengths_are_refused(name: str) -> None:
    vectors = {one: flambeau.ones(3) for one in ("running_mean", "running_var", "weight", "bias")}
    vectors[name] = flambeau.ones(2)
    with pytest.raises(RuntimeError, match=f"{name} should contain 3 elements not 2"):
        functional.batch_norm(flambeau.ones(2, 3), **vectors)
