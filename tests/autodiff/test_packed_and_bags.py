"""Gradients of packed batches and of means of bags: those that arithmetic by hand gives, as native code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

REFUSED = "offsets\\[0\\] has to be 0"


def by_time(x: Tensor, lengths: Tensor, length: int) -> Tensor:
    data, sizes = flambeau._pack_padded_sequence(x, lengths, False)
    padded, _ = flambeau._pad_packed_sequence(data * data, sizes, False, -2.0, length)
    return (padded * padded * padded).sum() + (data * data * data).sum()


def by_batch(x: Tensor, lengths: Tensor, length: int) -> Tensor:
    data, sizes = flambeau._pack_padded_sequence(x, lengths, True)
    padded, _ = flambeau._pad_packed_sequence(data * data, sizes, True, -2.0, length)
    return (padded * padded * padded).sum() + (data * data * data).sum()


def seen(x: np.ndarray[Any, Any], lengths: Sequence[int], batch_axis: int) -> np.ndarray[Any, Any]:
    """Whether an element belongs to a sequence and not to what is behind it."""
    mask = np.arange(x.shape[1 - batch_axis])[:, None] < np.array(lengths)
    mask = mask.T if batch_axis == 0 else mask
    return np.broadcast_to(mask.reshape(*mask.shape, *(1,) * (x.ndim - 2)), x.shape)


@pytest.mark.parametrize("sizes", [(4, 3), (4, 3, 2), (6, 3, 2, 3), (4, 1, 2)])
@pytest.mark.parametrize("length", [-1, 7])
@pytest.mark.parametrize(("program", "batch_axis"), [(by_time, 1), (by_batch, 0)])
def test_gradients_of_packing_and_padding(program: Any, batch_axis: int, sizes: Any, length: int) -> None:
    """Of x^6 + x^3 where there are steps, 0 behind them, to second order."""
    scripted: Any = flambeau.script(program)
    lengths = [4, 2, 1][: sizes[1]]
    x = np.random.default_rng(0).standard_normal(sizes)
    x = np.ascontiguousarray(x.swapaxes(0, 1)) if batch_axis == 0 else x
    mask = seen(x, lengths, batch_axis)
    first = (6 * x**5 + 3 * x**2) * mask
    second = 2 * first * (30 * x**4 + 6 * x)
    for call in (program, scripted, scripted, scripted):
        leaf = flambeau.from_numpy(x).requires_grad_()
        (gradient,) = flambeau.autograd.grad(call(leaf, flambeau.tensor(lengths), length), leaf, create_graph=True)
        np.testing.assert_allclose(gradient.detach().numpy(), first, rtol=1e-11)
        (bent,) = flambeau.autograd.grad((gradient * gradient).sum(), leaf)
        np.testing.assert_allclose(bent.numpy(), second, rtol=1e-10)
    text = str(scripted.explain())
    assert "second run" not in text
    assert "interpreted node" not in text


def test_steps_without_features_have_gradients_and_are_refused_by_name() -> None:
    """A padded batch of nothing goes back to data of nothing; packing one is refused, as ever."""
    data = flambeau.zeros(3, 0, requires_grad=True)
    padded, _ = flambeau._pad_packed_sequence(data, flambeau.tensor([2, 1]), False, 0.0, -1)
    padded.sum().backward()
    assert data.grad is not None
    assert data.grad.shape == (3, 0)
    with pytest.raises(RuntimeError, match="Cannot pack empty tensors"):
        flambeau._pack_padded_sequence(flambeau.zeros(2, 2, 0), flambeau.tensor([2, 1]), False)


def means(weight: Tensor, rows: Tensor, starts: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return flambeau.embedding_bag(weight, rows, starts, False, 1, False, None, False, None)


def mean_loss(weight: Tensor, rows: Tensor, starts: Tensor) -> Tensor:
    bags = flambeau.embedding_bag(weight, rows, starts, False, 1, False, None, False, None)[0]
    return (bags * bags * bags).sum()


BAGS = [([0, 3, 3, 1, 2], [0, 2]), ([1, 1, 1], [0, 0, 3, 3]), ([2], [0]), ([], [0, 0]), ([1, 2], [])]


@pytest.mark.parametrize(("rows", "starts"), BAGS, ids=str)
@pytest.mark.parametrize("kind", [flambeau.int64, flambeau.int32])
def test_means_of_bags(rows: list[int], starts: list[int], kind: Any) -> None:
    """Empty bags are zeros; all four results are those of the operator."""
    scripted: Any = flambeau.script(means)
    weight = flambeau.from_numpy(np.random.default_rng(0).standard_normal((4, 3)))
    arguments = (weight, flambeau.tensor(rows, dtype=kind), flambeau.tensor(starts, dtype=kind))
    expected = means(*arguments)
    for _ in range(3):
        for got, want in zip(scripted(*arguments), expected, strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-14)
    chosen = [rows[a:b] for a, b in zip(starts, [*starts, len(rows)][1:], strict=False)]
    by_hand = [weight.numpy()[bag].mean(0) if bag else np.zeros(3) for bag in chosen]
    np.testing.assert_allclose(expected[0].numpy(), np.array(by_hand).reshape(-1, 3), rtol=1e-14)


@pytest.mark.parametrize(("rows", "starts"), BAGS[:4], ids=str)
def test_gradients_of_means_of_bags(rows: list[int], starts: list[int]) -> None:
    scripted: Any = flambeau.script(mean_loss)
    start = np.random.default_rng(0).standard_normal((4, 3))
    indices, offsets = flambeau.tensor(rows, dtype=flambeau.int64), flambeau.tensor(starts)
    chosen = [rows[a:b] for a, b in zip(starts, [*starts, len(rows)][1:], strict=False)]
    expected = np.zeros_like(start)
    for bag in filter(None, chosen):
        np.add.at(expected, bag, 3 * start[bag].mean(0) ** 2 / len(bag))
    for call in (mean_loss, scripted, scripted, scripted):
        weight = flambeau.from_numpy(start).requires_grad_()
        call(weight, indices, offsets).backward()
        assert weight.grad is not None
        np.testing.assert_allclose(weight.grad.numpy(), expected, rtol=1e-12, atol=1e-14)
    if rows and len(starts) > 1:  # of one bag, rows are read from an axis of one element, which has no native form
        assert "interpreted node" not in str(scripted.explain())


def test_what_makes_no_bags_is_refused_as_elsewhere() -> None:
    scripted: Any = flambeau.script(means)
    weight = flambeau.ones(4, 3)
    for call in (means, scripted, scripted, scripted):
        with pytest.raises(RuntimeError, match=REFUSED):
            call(weight, flambeau.tensor([1, 2]), flambeau.tensor([1]))
        with pytest.raises(RuntimeError, match="found idx to be 4"):
            call(weight, flambeau.tensor([1, 4]), flambeau.tensor([0]))
