"""`nll_loss` in native code: NumPy's answers for every rank, fold and weight; wrong classes are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.nn import functional

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


@flambeau.script
def losses(
    x: flambeau.Tensor, y: flambeau.Tensor, w: flambeau.Tensor
) -> tuple[flambeau.Tensor, flambeau.Tensor, flambeau.Tensor, flambeau.Tensor]:
    return (
        functional.nll_loss(x, y),
        functional.nll_loss(x, y, reduction="none"),
        functional.nll_loss(x, y, w, reduction="sum", ignore_index=1),
        functional.nll_loss(x, y, w),
    )


def expected(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> list[Any]:
    axis = min(1, x.ndim - 1)
    picked = -np.take_along_axis(x, np.expand_dims(y, axis), axis).squeeze(axis)
    weights = w[y]
    with np.errstate(invalid="ignore"):
        return [
            picked.mean() if picked.size else np.float64(np.nan),
            picked,
            np.where(y == 1, 0, picked * weights).sum(),
            (picked * weights).sum() / weights.sum(),
        ]


@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 2), (2, 4, 3, 2), (0, 4), (2, 4, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_losses_of_every_rank(shape: tuple[int, ...], dtype: type) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=shape).astype(dtype)
    y = rng.integers(0, 4, shape[:1] + shape[2:])
    w = rng.random(4).astype(dtype)
    across = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    for given in (x, across):
        arguments = [flambeau.from_numpy(a) for a in (given, y, w)]
        for _ in range(3):
            answers = losses(*arguments)
        for answer, wanted in zip(answers, expected(x, y, w), strict=True):
            np.testing.assert_allclose(answer.numpy(), wanted, rtol=1e-5, atol=1e-6)
            assert answer.numpy().dtype == dtype
    assert losses.explain(measure=False).is_native, str(losses.explain(measure=False))


def test_bytes_name_classes() -> None:
    x, y = np.log(np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)), np.array([1, 0], np.uint8)
    for _ in range(3):
        answer = losses(flambeau.from_numpy(x), flambeau.from_numpy(y), flambeau.ones(2))[1]
    np.testing.assert_allclose(answer.numpy(), [-x[0, 1], -x[1, 0]])


def test_nothing_counts_where_all_are_ignored() -> None:
    @flambeau.script
    def both(x: flambeau.Tensor, y: flambeau.Tensor) -> tuple[flambeau.Tensor, flambeau.Tensor]:
        return functional.nll_loss(x, y, ignore_index=-7), functional.nll_loss(x, y, reduction="none", ignore_index=-7)

    for _ in range(3):
        mean, each = both(flambeau.ones(3, 2), flambeau.tensor([-7, -7, -7]))
    assert np.isnan(mean.item())
    assert each.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("wrong", [4, -1, 2**40, -(2**63)])
def test_classes_that_are_not_there_are_refused(wrong: int) -> None:
    x, w = flambeau.ones(3, 4), flambeau.ones(4)
    for _ in range(3):
        losses(x, flambeau.tensor([0, 1, 2]), w)
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds."):
        losses(x, flambeau.tensor([0, wrong, 2]), w)


def test_other_sizes_are_refused() -> None:
    x, y, w = flambeau.ones(3, 4), flambeau.tensor([0, 1, 2]), flambeau.ones(4)
    for _ in range(3):
        losses(x, y, w)
    with pytest.raises(ValueError, match=r"Expected input batch_size \(3\) to match target batch_size \(2\)"):
        losses(x, y[:2], w)
    with pytest.raises(RuntimeError, match="weight tensor should be defined either for all 4 classes or no classes"):
        losses(x, y, w[:3])


def test_what_is_written_later_is_a_tensor_of_its_own() -> None:
    @flambeau.script
    def written(x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
        loss = functional.nll_loss(x, y)
        loss += 1
        return loss * 2

    for _ in range(3):
        answer = written(flambeau.full((2, 3), -0.5), flambeau.tensor([0, 2]))
    assert answer.item() == 3.0
