"""NumPy's functions of tensors give tensors, as PyTorch's do."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau


@pytest.mark.parametrize("values", [[0.5, -2.0, float("nan")], [], [[1.0, 2.5], [-0.0, 3.0]]])
def test_elementwise_functions(values: list[float]) -> None:
    for dtype in (flambeau.float32, flambeau.float64):
        x = flambeau.tensor(values, dtype=dtype)
        for function in (np.sin, np.negative, np.rint):
            result = function(x)
            assert type(result) is flambeau.Tensor
            assert result.dtype is dtype
            np.testing.assert_array_equal(result.numpy(), function(x.numpy()))
        total = np.add(x, np.ones(x.shape))
        assert type(total) is flambeau.Tensor
        assert total.dtype is flambeau.float64


def test_truths_are_bytes() -> None:
    for x in (flambeau.tensor([1.0, float("nan")]), flambeau.tensor([float("inf")])):
        result = np.isnan(x)
        assert result.dtype is flambeau.uint8
        assert result.tolist() == np.isnan(x.numpy()).tolist()


def test_what_several_results_and_folds_are() -> None:
    for x in (flambeau.tensor([1.5, -2.25]), flambeau.tensor([0.75])):
        fraction, whole = np.modf(x)
        assert type(fraction) is type(whole) is flambeau.Tensor
        assert flambeau.equal(fraction + whole, x)
        assert np.add.reduce(x).item() == x.sum().item()
        assert np.sin(x[0]).shape == ()


def test_a_result_that_is_given_stays_an_array() -> None:
    for x in (flambeau.tensor([1.0, 2.0]), flambeau.tensor([3.0])):
        room = np.empty(x.shape, np.float32)
        assert np.square(x, out=room) is room
        assert room.tolist() == [v * v for v in x.tolist()]
