"""Transposed convolutions, and gradients of inputs, of many small images: one product, beside the definition."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.ops.convolution import convolution_kernel
from flambeau.util.inversions import CONVOLUTION

Array = Any
CALLS = {
    "as large": ((8, 128, 4, 3), 128, (3, 3), (1, 1), (1, 1), (0, 0), (1, 1)),
    "a stride": ((9, 130, 3, 4), 128, (3, 2), (2, 3), (1, 0), (1, 2), (1, 1)),
    "a dilation": ((5, 128, 4, 4), 128, (2, 3), (1, 1), (2, 1), (0, 1), (3, 2)),
    "one place": ((64, 128, 1, 1), 130, (3, 3), (1, 1), (1, 1), (0, 0), (1, 1)),
    "one dimension": ((7, 128, 11), 128, (4,), (2,), (1,), (1,), (1,)),
    "three dimensions": ((8, 128, 2, 3, 2), 128, (2, 1, 3), (1, 2, 1), (0, 0, 1), (0, 1, 0), (1, 1, 1)),
}


def by_definition(
    x: Array, weight: Array, stride: Sequence[int], padding: Sequence[int], more: Sequence[int], dilation: Sequence[int]
) -> Array:
    kernel, numbers = weight.shape[2:], list(zip(x.shape[2:], stride, dilation, weight.shape[2:], more, strict=True))
    full = [(n - 1) * s + d * (k - 1) + 1 + o for n, s, d, k, o in numbers]
    wide, factors = x.astype(np.float64), weight.astype(np.float64)
    total = np.zeros((len(x), weight.shape[1], *full))
    for tap in product(*map(range, kernel)):
        to = [slice(t * d, t * d + s * (n - 1) + 1, s) for t, (n, s, d, _, _) in zip(tap, numbers, strict=True)]
        total[(..., *to)] += np.einsum("bi...,io->bo...", wide, factors[(..., *tap)])
    return total[(..., *[slice(p, f - p) for p, f in zip(padding, full, strict=True)])]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CALLS)
def test_small_images(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, outputs, kernel, *numbers = CALLS[name]
    stride, padding, more, dilation = numbers
    monkeypatch.setattr(CONVOLUTION, "implementation", None)  # which nobody asks
    rng = np.random.default_rng(0)
    x, bias = rng.standard_normal(sizes).astype(dtype), rng.standard_normal(outputs).astype(dtype)
    weight = rng.standard_normal((sizes[1], outputs, *kernel)).astype(dtype)
    expected = by_definition(x, weight, *numbers)
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    for b in (None, bias):
        result = convolution_kernel(x, weight, b, stride, padding, dilation, True, more, 1)
        added = 0 if b is None else b.reshape(-1, *[1] * len(kernel))
        assert result.dtype == dtype
        assert result.flags.c_contiguous
        assert result == pytest.approx(expected + added, rel=tolerance, abs=10 * tolerance)


def test_gradients_of_inputs() -> None:
    rng = np.random.default_rng(1)
    layer = nn.Conv2d(128, 128, 3, stride=2, padding=1).double()
    for size in (7, 8):
        x = flambeau.tensor(rng.standard_normal((8, 128, size, size)), requires_grad=True)
        slope = flambeau.tensor(rng.standard_normal(layer(x).shape))
        (layer(x) * slope).sum().backward()
        with flambeau.no_grad():
            for place in [(0, 0, 0, 0), (7, 127, size - 1, size - 1), (3, 64, 2, 5)]:
                step = flambeau.zeros_like(x)
                step[place] = 1e-3
                change = ((layer(x + step) - layer(x - step)) * slope).sum().item() / 2e-3
                assert x.grad[place].item() == pytest.approx(change, rel=1e-7, abs=1e-7)
