"""Images read between their pixels and both adjoints by machine code, against the same over whole arrays."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.sampling.between import between_text
from flambeau.codegen.sampling.between_launches import between
from flambeau.codegen.sampling.reading import sampling_text
from flambeau.ops.reading_between import corners
from flambeau.ops.weighted_reading import add_weighted, read_weighted, weigh
from tests.codegen.code_for_levels import check_code

pytestmark = pytest.mark.skipif(not available(), reason="needs native code")
SIZES = ((2, 3, 4, 5, 19), (1, 1, 1, 1, 3), (3, 2, 1, 6, 64), (1, 5, 7, 2, 1), (2, 0, 3, 3, 4), (2, 3, 3, 3, 0))


def operands(sizes: tuple[int, ...], dtype: Any) -> tuple[Any, Any, Any]:
    batch, channels, height, width, points = sizes
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((batch, channels, height * width)).astype(dtype)
    numbers = rng.standard_normal((batch, channels, points)).astype(dtype)
    places = rng.uniform(-2, max(height, width) + 1, (batch, 2, points)).astype(dtype)
    if points > 12:
        places[0, 0, :8] = [np.nan, np.inf, -np.inf, 0, -1, 1e30, height - 1, height]
        places[0, 1, 2:10] = [0, 1, width - 1, width, np.nan, -np.inf, -0.5, width - 0.5]
    return rows, numbers, places


@pytest.mark.parametrize(("sizes", "dtype"), list(product(SIZES, (np.float32, np.float64))))
def test_the_same_as_over_whole_arrays(sizes: tuple[int, ...], dtype: Any) -> None:
    rows, numbers, places = operands(sizes, dtype)
    height, width = sizes[2:4]
    offsets, weights, slopes = corners(places, height, width)
    per_corner = weigh(numbers, rows, offsets)
    with np.errstate(all="ignore"):
        tilted = np.where(per_corner[:, :, None] != 0, per_corner[:, :, None] * slopes, 0).sum(axis=1)
    wanted = [
        ("read_between", (rows, places), read_weighted(rows, offsets, weights)),
        ("spread_between", (numbers, places), add_weighted(numbers, offsets, weights, height * width)),
        ("tilt_between", (numbers, rows, places), tilted),
    ]
    tolerance = 2e-5 if dtype is np.float32 else 1e-13
    for function, given, expected in wanted:
        result = between(function, given, height, width)
        assert result is not None
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance, err_msg=function)


@pytest.mark.parametrize(("level", "kind"), list(product(("x86-64", "x86-64-v3", "x86-64-v4"), ("float", "double"))))
def test_there_is_code_for_each_level(level: str, kind: str) -> None:
    check_code(level, kind, between_text, sampling_text)


def test_pixels_that_are_not_read_do_not_count() -> None:
    rows = np.full((1, 1, 4), np.nan)
    rows[0, 0, 3] = 2.0
    places = np.array([[[1.5, 1.0, -0.5], [1.5, 1.0, np.nan]]])  # beyond the last pixel, at it, nowhere
    read = between("read_between", (rows, places), 2, 2)
    assert read is not None
    assert read.ravel()[[0, 2]].tolist() == [0.5, 0.0]
    numbers = np.array([[[1.0, np.inf, np.nan]]])
    spread = between("spread_between", (numbers, places), 2, 2)
    assert spread is not None
    assert spread[0, 0, 3] == np.inf
    assert spread[0, 0, 0] == 0.0
    tilted = between("tilt_between", (numbers, rows, places), 2, 2)
    assert tilted is not None
    assert tilted[0, :, 0].tolist() == [-1.0, -1.0]
    assert tilted[0, :, 2].tolist() == [0.0, 0.0]


def test_arrays_that_do_not_fit_have_no_code() -> None:
    rows, numbers, places = operands(SIZES[0], np.float32)
    assert between("read_between", (rows, places.astype(np.float64)), 4, 5) is None
    assert between("read_between", (rows, places), 4, 4) is None
    assert between("tilt_between", (numbers[:, :2], rows, places), 4, 5) is None
    assert between("read_between", (rows[:, :, ::-1], places), 4, 5) is None


def test_training_through_a_grid_scripted_and_eager() -> None:
    @flambeau.script
    def loss(x: Tensor, grid: Tensor) -> Tensor:
        return (flambeau.nn.functional.grid_sample(x, grid, align_corners=False) ** 2).sum()

    step = flambeau.func.grad(loss, argnums=(0, 1))
    scripted = flambeau.script(step)
    rng = np.random.default_rng(9)
    for _ in range(4):
        x = flambeau.from_numpy(rng.standard_normal((2, 3, 6, 7)))
        grid = flambeau.from_numpy(rng.uniform(-1.3, 1.3, (2, 4, 5, 2)))
        gradients = scripted(x, grid)
        x.requires_grad_(), grid.requires_grad_()
        loss_of_call = (flambeau.nn.functional.grid_sample(x, grid, align_corners=False) ** 2).sum()
        loss_of_call.backward()
        for mine, other in zip(gradients, (x.grad, grid.grad), strict=True):
            np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)
        h = 1e-6
        moved = grid.detach().clone()
        moved[0, 1, 2, 0] += h
        more = (flambeau.nn.functional.grid_sample(x.detach(), moved, align_corners=False) ** 2).sum()
        assert abs(float(more - loss_of_call.detach()) / h - float(gradients[1][0, 1, 2, 0])) < 1e-3
