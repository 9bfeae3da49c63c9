"""Sums, running extremes, order statistics, distances and losses of many elements: loops and partitions are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.ops.families import reduce
from flambeau.ops.families.element_loops import LEAST
from flambeau.ops.sorting import _place_by_partition, order


def normal(*sizes: int) -> np.ndarray:
    return np.random.default_rng(7).normal(size=sizes).astype(np.float32)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    ("sizes", "dims"),
    [
        ((512, 16, 3), (2,)), ((2048, 40), (0,)), ((64, 32, 33), (0, 1)), ((16, 8, 24, 24), (0, 2, 3)),
        ((4, 8, 16, 16), (0, 2, 3)), ((4, 3, 5, 30), (0, 3)),
        ((9, 300, 4), (1, 2)), ((3, 3000, 4), (1,)), ((40, 40, 5), (0, 1, 2)), ((2000, 2, 9), (0, 2)),
    ],
)  # fmt: skip
def test_sums_are_those_of_float64(sizes: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> None:
    array = normal(*sizes)
    wanted = array.astype(np.float64).sum(axis=dims, keepdims=keepdim)
    for given in (array, np.asfortranarray(array)):
        got = flambeau.sum(flambeau.from_numpy(given), list(dims), keepdim).numpy()
        assert (got.shape, got.dtype) == (wanted.shape, np.float32)
        np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=1e-4)


def test_what_is_infinite_or_no_number_stays_so() -> None:
    array = normal(4096, 4)
    array[7, 1], array[9, 2] = np.inf, np.nan
    by_columns = flambeau.sum(flambeau.from_numpy(array), 0).numpy()
    assert np.isinf(by_columns[1])
    assert np.isnan(by_columns[2])
    assert np.isnan(flambeau.sum(flambeau.from_numpy(array), 1).numpy()[9])
    assert array.size >= reduce.LONG


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_running_extremes_tell_where_each_was_last_seen(name: str, dim: int, dtype: type) -> None:
    array = np.round(normal(20, 30, 40) * 3).astype(dtype)
    if dtype is not np.int64:
        array[3, 4, 5] = np.nan
    assert array.size >= LEAST
    values, indices = (t.numpy() for t in getattr(flambeau, name)(flambeau.from_numpy(array), dim))
    rows = [np.moveaxis(a, dim, -1).reshape(-1, a.shape[dim]) for a in (array, values, indices)]
    for row, value, index in zip(*rows, strict=True):
        best, place = row[0], 0
        for k, number in enumerate(row):
            if number != number or (number >= best if name == "cummax" else number <= best):
                best, place = number, k
            assert index[k] == place
            assert value[k] == best or best != best


def test_order_statistics_are_those_of_sorting() -> None:
    array = normal(40, 50, 3)
    for rank in (0, 7, 49):
        wanted = np.take(order(array, 1, False), [rank], axis=1)
        found = _place_by_partition(array, 1, rank)
        assert found is not None
        np.testing.assert_array_equal(found, wanted)
    equal = np.round(array)
    assert _place_by_partition(equal, 1, 3) is None
    for given in (array, equal):
        values, indices = flambeau.kthvalue(flambeau.from_numpy(given), 8, 1)
        np.testing.assert_array_equal(indices.numpy(), order(given, 1, False)[:, 7])
        np.testing.assert_array_equal(values.numpy(), np.sort(given, axis=1)[:, 7])
        np.testing.assert_array_equal(
            flambeau.median(flambeau.from_numpy(given), 1)[0].numpy(), np.sort(given, axis=1)[:, 24]
        )


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_distances_of_pairs(p: float) -> None:
    rows = normal(60, 5)
    first, second = np.triu_indices(60, 1)
    wanted = np.linalg.norm(rows[first].astype(np.float64) - rows[second], ord=p, axis=1)
    np.testing.assert_allclose(flambeau.pdist(flambeau.from_numpy(rows), p).numpy(), wanted, rtol=1e-6)


LOSSES: dict[str, Any] = {
    "mse_loss": ((), lambda d: d * d, lambda d: 2 * d),
    "huber_loss": (
        (0.5,), lambda d: np.where(abs(d) < 0.5, d * d / 2, 0.5 * abs(d) - 0.125), lambda d: d.clip(-0.5, 0.5),
    ),
    "smooth_l1_loss": ((0.5,), lambda d: np.where(abs(d) < 0.5, d * d, abs(d) - 0.25), lambda d: (2 * d).clip(-1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_distances_and_their_gradients(name: str) -> None:
    bound, loss, slope = LOSSES[name]
    left, right = normal(300, 256), normal(2, 300, 256)[1]
    away = left.astype(np.float64) - right
    for reduction, scale in (("none", 1.0), ("sum", 1.0), ("mean", 1 / left.size)):
        x, y = (flambeau.from_numpy(a.copy()).requires_grad_() for a in (left, right))
        kind = {"none": 0, "mean": 1, "sum": 2}[reduction]
        result = getattr(flambeau.ops.aten, name)(x, y, kind, *bound)
        wanted = loss(away) if reduction == "none" else loss(away).sum() * scale
        np.testing.assert_allclose(result.detach().numpy(), wanted, rtol=1e-5, atol=1e-5)
        result.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), slope(away) * scale, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(x.grad.numpy(), -y.grad.numpy())


def test_losses_of_what_is_no_number_or_infinite() -> None:
    left, right = normal(100, 50), normal(2, 100, 50)[1]
    left[0, 0], left[1, 1], right[2, 2] = np.nan, np.inf, -np.inf
    for name, (bound, _, _) in LOSSES.items():
        operator = getattr(flambeau.ops.aten, name)
        found = operator(flambeau.from_numpy(left), flambeau.from_numpy(right), 0, *bound).numpy()
        assert np.isnan(found[0, 0])
        assert found[1, 1] == found[2, 2] == np.inf
        assert np.isfinite(found).sum() == found.size - 3


def test_numbers_that_decide_a_formula_have_a_function_each() -> None:
    array = normal(400, 256)
    for beta in (0.5, 0.0, 2.0, 0.5):
        x = flambeau.from_numpy(array.copy()).requires_grad_()
        flambeau.nn.functional.smooth_l1_loss(x, flambeau.zeros(400, 256), beta=beta, reduction="sum").backward()
        wanted = (array / beta).clip(-1, 1) if beta else np.sign(array)
        np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_additions_along_each_dimension(dim: int) -> None:
    target, source = normal(20, 30, 40), normal(2, 20, 30, 40)[1]
    index = np.random.default_rng(3).integers(0, target.shape[dim], target.shape)
    wanted = target.astype(np.float64)
    where = list(np.ogrid[: target.shape[0], : target.shape[1], : target.shape[2]])
    where[dim] = index
    np.add.at(wanted, tuple(where), source)
    got = flambeau.from_numpy(target).scatter_add(dim, flambeau.from_numpy(index), flambeau.from_numpy(source))
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_a_gradient_that_is_one_number_goes_back_through_norms() -> None:
    found = []
    for whole in (False, True):
        x = flambeau.from_numpy(normal(300, 256)).requires_grad_()
        weight, bias = (flambeau.linspace(1, k, 256).requires_grad_() for k in (2, 3))
        result = flambeau.nn.functional.layer_norm(x, (256,), weight, bias)
        one = flambeau.ones(()).expand(300, 256)
        result.backward(one.contiguous() if whole else one)
        found.append([t.grad.numpy() for t in (x, weight, bias)])
    for ours, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6, atol=1e-6)
