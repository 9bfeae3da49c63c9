"""Gradients of convolutions' weights where images are small: one product over all images, beside the definition."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.ops import convolution_gradients
from flambeau.ops.convolution_gradients import weight_gradient_kernel
from flambeau.util.inversions import CONVOLUTION_WEIGHT

Array = Any
CALLS = {
    "fewer places than outputs": ((2, 64, 4, 4), 96, (3, 3), (1, 1), (1, 1), (1, 1)),
    "more places than outputs": ((9, 96, 4, 5), 64, (3, 2), (1, 1), (1, 0), (1, 1)),
    "a stride": ((3, 64, 8, 9), 80, (3, 3), (2, 3), (1, 1), (1, 1)),
    "a stride that leaves rows": ((3, 64, 8, 8), 80, (1, 1), (3, 2), (0, 0), (1, 1)),
    "a dilation": ((3, 80, 9, 7), 64, (3, 2), (1, 2), (2, 1), (2, 3)),
    "one place": ((5, 128, 3, 3), 64, (3, 3), (1, 1), (0, 0), (1, 1)),
    "one dimension": ((4, 64, 30), 64, (5,), (2,), (2,), (1,)),
    "three dimensions": ((2, 64, 4, 3, 5), 64, (2, 3, 1), (1, 2, 1), (0, 1, 0), (1, 1, 2)),
}


def flat(a: Array) -> Array:
    return a.astype(np.float64).reshape(*a.shape[:2], -1)


def by_definition(x: Array, slope: Array, kernel: Sequence[int], stride: Any, padding: Any, dilation: Any) -> Array:
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *[(p, p) for p in padding]])
    total = np.zeros((slope.shape[1], x.shape[1], *kernel))
    for tap in product(*map(range, kernel)):
        ends = zip(tap, dilation, stride, slope.shape[2:], strict=True)
        seen = wide[(..., *[slice(k * d, k * d + s * n, s) for k, d, s, n in ends])]
        total[(..., *tap)] = np.einsum("bop,bip->oi", flat(slope), flat(seen))
    return total


def places_of(sizes: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> list[int]:
    numbers = zip(sizes[2:], kernel, stride, padding, dilation, strict=True)
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in numbers]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1 << 24, 1], ids=["all images", "one at a time"])
@pytest.mark.parametrize("name", CALLS)
def test_small_images(name: str, columns: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, outputs, *numbers = CALLS[name]
    monkeypatch.setattr(convolution_gradients, "MOST_COLUMNS", columns)
    monkeypatch.setattr(CONVOLUTION_WEIGHT, "implementation", None)  # which nobody asks
    rng = np.random.default_rng(0)
    x = rng.standard_normal(sizes).astype(dtype)
    slope = rng.standard_normal((sizes[0], outputs, *places_of(sizes, *numbers))).astype(dtype)
    expected = by_definition(x, slope, *numbers)
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    turned = np.ascontiguousarray(np.moveaxis(slope, 1, -1))
    for one in (slope, np.moveaxis(turned, -1, 1)):
        result = weight_gradient_kernel(x, one, *map(list, numbers), 1)
        assert result.dtype == dtype
        assert result.flags.c_contiguous
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=10 * tolerance)


def test_larger_images_and_fewer_channels_go_by_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    implementation = CONVOLUTION_WEIGHT.implementation

    def look(x: Any, *rest: Any) -> Any:
        asked.append(x.shape)
        return implementation(x, *rest)

    monkeypatch.setattr(CONVOLUTION_WEIGHT, "implementation", look)
    for sizes, outputs, groups in (((1, 64, 11, 11), 64, 1), ((1, 8, 5, 5), 8, 1), ((2, 64, 4, 4), 64, 2)):
        x = np.ones(sizes, np.float32)
        slope = np.ones((sizes[0], outputs, *sizes[2:]), np.float32)
        weight_gradient_kernel(x, slope, [3, 3], [1, 1], [1, 1], [1, 1], groups)
    assert len(asked) == 3


def test_there_and_back_with_bias_and_transposed() -> None:
    rng = np.random.default_rng(1)
    x = flambeau.tensor(rng.standard_normal((3, 64, 4, 4)), requires_grad=True)
    for layer in (nn.Conv2d(64, 64, 3, padding=1), nn.ConvTranspose2d(64, 64, 3, 2, 1, 1)):
        layer.double()
        rows = flambeau.tensor(rng.standard_normal(layer(x).shape))

        def loss(weight: Any, layer: Any = layer, rows: Any = rows) -> Any:
            return (flambeau.func.functional_call(layer, {"weight": weight}, (x,)) * rows).sum()

        weight = layer.weight.detach().clone().requires_grad_()
        [slope] = flambeau.autograd.grad(loss(weight), [weight])
        for place in [(0, 0, 0, 0), (63, 2, 2, 1), (5, 63, 1, 2)]:
            step = flambeau.zeros_like(weight)
            step[place] = 1e-3
            with flambeau.no_grad():
                change = (loss(weight + step) - loss(weight - step)).item() / 2e-3
            assert slope[place].item() == pytest.approx(change, rel=1e-7, abs=1e-7)
