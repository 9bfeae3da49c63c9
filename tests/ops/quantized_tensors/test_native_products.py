"""Quantised layers by native products of integers: the same numbers as by sums in double precision, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.quantized import module
from flambeau.codegen.quantized.products import MOST_NUMBERS
from flambeau.executor.quantized_kernels import Panels, panels
from flambeau.util.inversions import QUANTIZED_PANELS

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
q = flambeau.ops.quantized


@pytest.fixture(params=[False, True], ids=["pairs", "bytes"])
def by_both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Compares what a function gives, which packs its weights, natively and otherwise."""
    if request.param and not module.takes_bytes():
        pytest.skip("the processor does not add up products of bytes")

    def check(run: Callable[[], Any]) -> None:
        packed: list[Panels] = []

        def pack(weights: np.ndarray) -> Panels:
            fits = bool(weights.min() >= -128 and weights.max() <= 127)
            packed.append(Panels(weights, in_bytes=request.param and fits))
            return packed[-1]

        results = []
        for provided in (pack, lambda weights: None):
            monkeypatch.setattr(QUANTIZED_PANELS, "implementation", provided)
            result = run()
            results.append(result.int_repr() if result.is_quantized else result)
        assert packed
        assert results[0].shape == results[1].shape
        np.testing.assert_array_equal(results[0].numpy(), results[1].numpy())

    return check


def numbers(seed: int, *shape: int) -> flambeau.Tensor:
    return flambeau.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def weight(seed: int, *shape: int, zero_point: int = 0) -> flambeau.Tensor:
    return flambeau.quantize_per_tensor(numbers(seed, *shape), 0.03, zero_point, flambeau.qint8)


def per_channel(seed: int, *shape: int) -> flambeau.Tensor:
    scales = flambeau.tensor([0.01 + 0.002 * (k % 9) for k in range(shape[0])])
    zeros = flambeau.zeros(shape[0], dtype=flambeau.int64)
    return flambeau.quantize_per_channel(numbers(seed, *shape), scales, zeros, 0, flambeau.qint8)


SIZES = [(1, 1, 1), (3, 7, 5), (32, 40, 70), (97, 33, 64), (7, 512, 129), (2, 65, 16)]


@pytest.mark.parametrize(("rows", "features", "columns"), SIZES)
@pytest.mark.parametrize("has_bias", [True, False])
def test_dynamic_layers(
    rows: int, features: int, columns: int, has_bias: bool, by_both: Callable[[Callable[[], Any]], None]
) -> None:
    bias = numbers(2, columns) if has_bias else None
    for w in (weight(1, columns, features, zero_point=3), per_channel(1, columns, features)):
        by_both(lambda w=w: q.linear_dynamic(numbers(0, rows, features), q.linear_prepack(w, bias), True))
        by_both(lambda w=w: q.linear_relu_dynamic(numbers(0, 2, rows, features), q.linear_prepack(w, bias)))


def test_dynamic_layers_of_hostile_numbers(by_both: Callable[[Callable[[], Any]], None]) -> None:
    for row in ([0.0] * 4, [-1e38, 1e38, 0, 1], [3e38, -3e38, 1, 1], [1e-45, 0, 0, -1e-45], [-0.0, -5, -6, -7]):
        x = flambeau.tensor([row])
        by_both(lambda x=x: q.linear_dynamic(x, q.linear_prepack(weight(1, 5, 4), None)))


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_numbers_without_a_scale_are_told(number: float) -> None:
    packed = q.linear_prepack(weight(1, 5, 4), None)
    with pytest.raises(RuntimeError, match="infinite or nan"):
        q.linear_dynamic(flambeau.tensor([[1.0, 2, number, 3]]), packed)


@pytest.mark.parametrize(("rows", "features", "columns"), SIZES)
@pytest.mark.parametrize("dtype", [flambeau.quint8, flambeau.qint8])
def test_layers_of_quantised_inputs(
    rows: int, features: int, columns: int, dtype: Any, by_both: Callable[[Callable[[], Any]], None]
) -> None:
    x = flambeau.quantize_per_tensor(numbers(0, rows, features), 0.02, 100 if dtype is flambeau.quint8 else -5, dtype)
    for w in (weight(1, columns, features, zero_point=-7), per_channel(1, columns, features)):
        by_both(lambda w=w: q.linear(x, q.linear_prepack(w, numbers(2, columns)), 0.05, 11))
        by_both(lambda w=w: q.linear_relu(x, q.linear_prepack(w, None), 0.004, 3))


CONVOLUTIONS: list[tuple[tuple[int, int, int], tuple[int, int], dict[str, Any]]] = [
    ((3, 9, 8), (3, 3), {}), ((4, 7, 9), (1, 1), {}), ((5, 12, 11), (3, 2), {"padding": [1, 2], "stride": [2, 1]}),
    ((16, 14, 14), (3, 3), {"padding": [1, 1]}), ((2, 13, 9), (3, 1), {"dilation": [2, 1]}),
    ((3, 10, 10), (7, 7), {"padding": [3, 3], "stride": [2, 2]}),
]  # fmt: skip


@pytest.mark.parametrize(("image", "window", "settings"), CONVOLUTIONS)
@pytest.mark.parametrize("filters", [1, 33])
def test_convolutions(
    image: tuple[int, int, int], window: tuple[int, int], settings: dict[str, Any], filters: int,
    by_both: Callable[[Callable[[], Any]], None],
) -> None:  # fmt: skip
    x = flambeau.quantize_per_tensor(numbers(0, 2, *image), 0.02, 90, flambeau.quint8)
    defaults = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1]}
    stride, padding, dilation = (defaults | settings).values()
    for w in (weight(1, filters, image[0], *window, zero_point=2), per_channel(1, filters, image[0], *window)):
        for layer, bias in ((q.conv2d, numbers(2, filters)), (q.conv2d_relu, None)):
            by_both(lambda w=w, layer=layer, bias=bias: layer.new(
                x, q.conv2d_prepack(w, bias, stride, padding, dilation, 1), 0.06, 20))


def test_convolutions_of_one_dimension(by_both: Callable[[Callable[[], Any]], None]) -> None:
    x = flambeau.quantize_per_tensor(numbers(0, 2, 5, 30), 0.02, 90, flambeau.quint8)
    by_both(lambda: q.conv1d(x, q.conv1d_prepack(weight(1, 6, 5, 3), numbers(2, 6), [2], [1], [1], 1), 0.06, 20))


def test_layers_of_nothing() -> None:
    for rows, features, columns in ((0, 4, 3), (2, 0, 3), (2, 4, 0)):
        packed = q.linear_prepack(weight(1, columns, features), numbers(2, columns))
        assert q.linear_dynamic(numbers(0, rows, features), packed).shape == (rows, columns)
        x = flambeau.quantize_per_tensor(numbers(0, rows, features), 0.02, 100, flambeau.quint8)
        assert q.linear(x, packed, 0.05, 11).shape == (rows, columns)


def test_sums_that_would_leave_32_bits_are_not_taken() -> None:
    assert panels(np.zeros((1, MOST_NUMBERS + 1), np.int16)) is None
    packed = panels(np.full((1, MOST_NUMBERS), 255, np.int16))
    if packed is not None:
        most = packed.multiply(packed.rows_of(np.full((1, MOST_NUMBERS), 255), 0))
        assert most.item() == np.float32(255 * 255 * MOST_NUMBERS)
