"""The loss of rows of classes: native code has the bits of Python's kernel, and leaves the rest to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.codegen.llvm.entry_losses import MOST_ROWS
from flambeau.executor import eager
from flambeau.util.native_type import is_supported
from tests.executor.test_eager_places import entry, in_python, laid, wrapped

pytestmark = pytest.mark.skipif(not is_supported() or not eager.machine.load(), reason="there is no native code here")

MEAN, SUM = 1, 2


def rows_and_targets(count: int, classes: int, dtype: Any = np.float32) -> tuple[fb.Tensor, fb.Tensor]:
    draw = np.random.default_rng(count * classes)
    rows = draw.standard_normal((count, classes)).astype(dtype) * 100
    return wrapped(rows), wrapped(draw.integers(0, classes, count))


def assert_bits(result: Any, expected: fb.Tensor) -> None:
    assert isinstance(result, fb.Tensor), result
    assert (result.shape, result.dtype) == ((), expected.dtype)
    assert result._array.tobytes() == expected._array.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reduction", [MEAN, SUM])
def test_sums_are_those_of_python(dtype: Any, reduction: int) -> None:
    of_plain, of_any, run = entry("nll_loss"), entry("any_nll_loss"), in_python("nll_loss_nd")
    for count in (1, 2, 7, 8, 9, 17, 100, 128, 129, 1000, MOST_ROWS):
        x, y = rows_and_targets(count, 5, dtype)
        for ignored in (-100, 3, -1, 1 << 40):
            if ignored in y.tolist() and set(y.tolist()) == {ignored}:
                continue
            expected = run(x, y, None, reduction, ignored)
            assert_bits(of_plain(x, y, None, reduction, ignored), expected)
            assert_bits(of_plain(laid(x, "columns"), laid(y, "apart"), None, reduction, ignored), expected)
            assert of_plain(fb.nn.Parameter(x), y, None, reduction, ignored) == "missed"
            assert_bits(of_any(fb.nn.Parameter(x), y, None, reduction, ignored), expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0, 0.0, 3e38])
def test_hostile_numbers(value: float) -> None:
    for count in (1, 3):
        x, y = wrapped(np.full((count, 2), value, np.float32)), wrapped(np.zeros(count, np.int64))
        for reduction in (MEAN, SUM):
            expected = in_python("nll_loss_nd")(x, y, None, reduction, -100)
            assert_bits(entry("nll_loss")(x, y, None, reduction, -100), expected)


def test_padding_that_is_no_class_is_left_out() -> None:
    x, _ = rows_and_targets(4, 3)
    y = wrapped(np.array([-7, 2, -7, 1]))
    assert_bits(entry("nll_loss")(x, y, None, MEAN, -7), in_python("nll_loss_nd")(x, y, None, MEAN, -7))
    for _ in range(2):
        with pytest.raises(IndexError, match="Target -7 is out of bounds"):
            fb.nn.functional.nll_loss(x, y)


def test_what_losses_leave_to_python() -> None:
    native = entry("nll_loss")
    x, y = rows_and_targets(4, 3)
    weight = fb.ones(3)
    many = rows_and_targets(MOST_ROWS + 1, 2)
    calls: list[Any] = [
        (x, y, weight, MEAN, -100), (x, y, None, 0, -100), (x, y, None, 3, -100), (x, y, None, True, -100),
        (x, y + 3, None, MEAN, -100), (x, y - 3, None, MEAN, -100), (x, y.int(), None, MEAN, -100),
        (x[0], y[0], None, MEAN, -100), (x, y[:3], None, MEAN, -100), (x.half(), y, None, MEAN, -100),
        (x[:0], y[:0], None, MEAN, -100), (x, y * 0, None, MEAN, 0), (*many, None, MEAN, -100), (x, y),
        (x, y, None, MEAN, 1 << 70), (x, y, None, MEAN, 0.0),
    ]  # fmt: skip
    assert [native(*call) for call in calls] == ["missed"] * len(calls)


def test_losses_and_gradients_by_name() -> None:
    for count, classes in ((3, 4), (9, 2), (40, 11)):
        x, y = rows_and_targets(count, classes, np.float64)
        x = (x / 100).requires_grad_()
        loss = fb.nn.functional.cross_entropy(x, y, ignore_index=0)
        loss.backward()
        rows, targets = x.detach().numpy(), y.numpy()
        logs = rows - np.log(np.exp(rows).sum(1, keepdims=True))
        used = targets != 0
        assert x.grad is not None
        np.testing.assert_allclose(loss.item(), -logs[np.arange(count), targets][used].mean(), rtol=1e-12)
        hot = np.eye(classes)[targets]
        np.testing.assert_allclose(x.grad.numpy(), (np.exp(logs) - hot) * used[:, None] / used.sum(), atol=1e-12)
