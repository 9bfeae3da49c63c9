"""Connectionist temporal classification: losses and gradients by loops and by NumPy, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradgradcheck
from flambeau.ops.families import element_loops

F = flambeau.nn.functional


def _drawn(seed: int, dtype: Any) -> tuple[Any, ...]:
    """Scores, targets (in one row for every second seed), lengths, which class is blank, and what losses weigh."""
    draw = np.random.default_rng(seed)
    steps, batch, classes, longest = (int(draw.integers(1, n)) for n in (9, 4, 5, 4))
    classes += 1
    blank = int(draw.integers(0, classes))
    used, lengths = draw.integers(1, steps + 1, batch).tolist(), draw.integers(0, longest + 1, batch).tolist()
    targets = draw.integers(0, classes, (batch, longest))
    targets = np.where(targets == blank, (targets + 1) % classes, targets)
    if seed % 2:
        targets = np.concatenate([row[:n] for row, n in zip(targets, lengths, strict=True)])
    scores = draw.standard_normal((steps, batch, classes)).astype(dtype)
    return scores, targets, used, lengths, blank, draw.standard_normal(batch).astype(dtype)


def _run(m: Any, scores: Any, targets: Any, used: Any, lengths: Any, blank: int, weights: Any, zero: bool) -> Any:
    x = m.from_numpy(scores.copy()).requires_grad_()
    losses = m.nn.functional.ctc_loss(
        x.log_softmax(2), m.from_numpy(targets), used, lengths, blank=blank, reduction="none", zero_infinity=zero
    )
    losses.backward(m.from_numpy(weights))
    return losses.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("least", [0, 1 << 12])
@pytest.mark.parametrize("seed", range(12))
def test_losses_and_gradients_are_pytorch_s(seed: int, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(element_loops, "LEAST", least)
    dtype, tolerance = (np.float64, 1e-10) if seed % 3 else (np.float32, 1e-5)
    drawn = _drawn(seed, dtype)
    for zero in (True, False):
        for got, want in zip(_run(flambeau, *drawn, zero), _run(torch, *drawn, zero), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=tolerance)


def test_loops_give_what_numpy_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [_drawn(seed, np.float64) for seed in range(20, 30)]
    by_numpy = [_run(flambeau, *one, False) for one in drawn]
    monkeypatch.setattr(element_loops, "LEAST", 0)
    for one, want in zip(drawn, by_numpy, strict=True):
        for got, expected in zip(_run(flambeau, *one, False), want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_second_derivatives() -> None:
    scores = flambeau.from_numpy(np.random.default_rng(3).standard_normal((5, 3, 4))).requires_grad_()
    targets = flambeau.tensor([[1, 1, 2], [2, 3, 1], [3, 1, 1]])

    def losses(x: Any) -> Any:
        return F.ctc_loss(x.log_softmax(2), targets, [5, 4, 2], [3, 2, 0], reduction="none")

    assert gradgradcheck(losses, (scores,))


@pytest.mark.parametrize("least", [0, 1 << 12])
def test_a_text_that_cannot_be_written(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_loops, "LEAST", least)
    scores = flambeau.zeros(3, 2, 3)
    for zero, want in ((True, 0.0), (False, np.nan)):
        x = scores.clone().requires_grad_()
        losses = F.ctc_loss(x, flambeau.tensor([[1, 1, 1], [1, 2, 1]]), [2, 3], [3, 3], 0, "none", zero)
        losses.sum().backward()
        assert losses.isinf().tolist() == [not zero, False]
        np.testing.assert_array_equal(x.grad[:2, 0].numpy(), np.full((2, 3), want, np.float32))
        assert x.grad[2, 0].tolist() == [0.0, 0.0, 0.0]
        assert x.grad[:, 1].isfinite().all().item()
