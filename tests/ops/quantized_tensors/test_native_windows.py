"""Quantised convolutions of each channel by itself, by native windows: the same numbers as by sums of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.executor.quantized_windows import windows
from flambeau.util.inversions import QUANTIZED_WINDOWS

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
q = flambeau.ops.quantized

WINDOWS: list[tuple[int, tuple[int, int], tuple[int, int], dict[str, list[int]]]] = [
    (8, (9, 8), (3, 3), {"padding": [1, 1]}), (16, (7, 23), (1, 1), {}),
    (13, (12, 11), (3, 2), {"padding": [1, 2], "stride": [2, 1]}),
    (3, (10, 10), (5, 5), {"padding": [2, 2], "stride": [2, 3]}),
    (21, (13, 19), (3, 3), {"padding": [4, 5], "dilation": [2, 3]}),
    (2, (4, 5), (4, 5), {}), (24, (3, 2), (5, 7), {"padding": [2, 3]}),
    (9, (5, 6), (2, 2), {"padding": [3, 4]}), (40, (1, 17), (1, 9), {"padding": [0, 4]}),
    (4, (8, 1), (1, 1), {}), (7, (9, 1), (3, 1), {"padding": [1, 0]}), (3, (2, 1), (1, 1), {"padding": [0, 1]}),
]  # fmt: skip


def numbers(seed: int, *shape: int) -> flambeau.Tensor:
    return flambeau.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def weight(seed: int, channels: int, window: tuple[int, int], zero_point: int | None) -> flambeau.Tensor:
    """Of one scale and zero point, or with None of a scale for each channel."""
    own = numbers(seed, channels, 1, *window)
    if zero_point is not None:
        return flambeau.quantize_per_tensor(own, 0.03, zero_point, flambeau.qint8)
    scales = flambeau.tensor([0.01 + 0.002 * (k % 9) for k in range(channels)])
    return flambeau.quantize_per_channel(own, scales, flambeau.zeros(channels, dtype=flambeau.int64), 0, flambeau.qint8)


def both_ways(monkeypatch: pytest.MonkeyPatch, packed: Any, layer: Any, x: flambeau.Tensor, after: Any) -> None:
    """The same by native windows and without."""
    results, ran = [], []

    def pack(weights: np.ndarray) -> Any:
        ran.append(windows(weights))
        return ran[-1]

    for provided in (pack, lambda weights: None):
        monkeypatch.setattr(QUANTIZED_WINDOWS, "implementation", provided)
        results.append([layer.new(part, packed(), *after) for part in (x, x[:1, :, 1:], x[:1])])
    assert all(one is not None for one in ran)
    assert ran
    for native, plain in zip(*results, strict=True):
        assert native.q_zero_point() == plain.q_zero_point()
        np.testing.assert_array_equal(native.int_repr().numpy(), plain.int_repr().numpy())


@pytest.mark.parametrize(("channels", "image", "window", "settings"), WINDOWS)
@pytest.mark.parametrize(("dtype", "zero_point"), [(flambeau.quint8, 90), (flambeau.qint8, -7)])
def test_windows(
    channels: int, image: tuple[int, int], window: tuple[int, int], settings: dict[str, list[int]],
    dtype: Any, zero_point: int, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if image[0] - 1 + 2 * settings.get("padding", [0])[0] < window[0]:
        image = (image[0] + 1, image[1])
    stride, padding, dilation = ({"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1]} | settings).values()
    x = flambeau.quantize_per_tensor(numbers(0, 2, channels, *image), 0.02, zero_point, dtype)
    for w in (weight(1, channels, window, 2), weight(2, channels, window, None)):
        for layer, bias, after in ((q.conv2d, numbers(3, channels), (0.06, 20)), (q.conv2d_relu, None, (0.03, 5))):
            both_ways(
                monkeypatch, lambda w=w, bias=bias: q.conv2d_prepack(w, bias, stride, padding, dilation, channels),
                layer, x, after,
            )  # fmt: skip


def test_extreme_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of the largest products, beyond both ends of what a level holds, and between levels."""
    rng = np.random.default_rng(0)
    for scale, zero_point in ((1e-6, 0), (1e6, 255), (300.0, 128), (0.5, 17)):
        levels = flambeau.from_numpy(rng.choice([0, 255], (1, 10, 6, 6)).astype(np.float32))
        x = flambeau.quantize_per_tensor(levels, 1.0, 0, flambeau.quint8)
        own = flambeau.from_numpy(rng.choice([-128, 127, 0], (10, 1, 3, 3)).astype(np.float32))
        w = flambeau.quantize_per_tensor(own, 1.0, 0, flambeau.qint8)
        both_ways(
            monkeypatch, lambda w=w: q.conv2d_prepack(w, None, [1, 1], [1, 1], [1, 1], 10), q.conv2d, x,
            (scale, zero_point),
        )  # fmt: skip


def test_windows_of_one_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    own = flambeau.quantize_per_tensor(numbers(1, 12, 1, 3), 0.03, 0, flambeau.qint8)
    results = []
    for provided in (windows, lambda weights: None):
        monkeypatch.setattr(QUANTIZED_WINDOWS, "implementation", provided)
        packed = q.conv1d_prepack(own, numbers(2, 12), [2], [1], [1], 12)
        for length in (30, 7):
            x = flambeau.quantize_per_tensor(numbers(length, 2, 12, length), 0.02, 90, flambeau.quint8)
            results.append(q.conv1d(x, packed, 0.06, 20).int_repr().numpy())
    for native, plain in zip(results[:2], results[2:], strict=True):
        np.testing.assert_array_equal(native, plain)


def test_what_is_no_window_by_channels_goes_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two filters a channel, groups of two channels, and sums that float32 would round."""
    asked: list[Any] = []
    monkeypatch.setattr(QUANTIZED_WINDOWS, "implementation", asked.append)
    for channels, filters, groups, window in ((4, 8, 4, 3), (4, 4, 2, 3), (2, 2, 2, 17)):
        own = flambeau.quantize_per_tensor(
            numbers(1, filters, channels // groups, window, window), 0.03, 0, flambeau.qint8
        )  # fmt: skip
        packed = q.conv2d_prepack(own, None, [1, 1], [8, 8], [1, 1], groups)
        x = flambeau.quantize_per_tensor(numbers(0, 1, channels, 9, 9), 0.02, 90, flambeau.quint8)
        assert q.conv2d.new(x, packed, 0.06, 20).size(1) == filters
    assert not asked
