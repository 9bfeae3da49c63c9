"""Gradients that plain arrays get at once are those that the operators of the formulas give, which run when the way
back is recorded itself; and what operators compute in few steps is what its definition says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad
from flambeau.ops.derivatives import bag_formulas
from flambeau.ops.derivatives.plain_arrays import of_bags

F: Any = flambeau.nn.functional


def numbers(*sizes: int, dtype: Any = flambeau.float64) -> Tensor:
    array = np.random.default_rng(3).normal(size=sizes)
    return flambeau.tensor(array, dtype=dtype)


def places(most: int, *sizes: int) -> Tensor:
    return flambeau.tensor(np.random.default_rng(5).integers(0, most, sizes))


def bounds(*offsets: int) -> Tensor:
    return flambeau.tensor(offsets)


CALLS: dict[str, tuple[Callable[[Tensor], Tensor], tuple[int, ...]]] = {
    "gather": (lambda x: x.gather(1, places(7, 5, 40)), (5, 7)),
    "gather, the first axis": (lambda x: x.gather(0, places(5, 40, 7)), (5, 7)),
    "gather, few": (lambda x: x.gather(-1, places(7, 5, 2)), (5, 7)),
    "gather of less": (lambda x: x.gather(1, places(7, 3, 2)), (5, 7)),
    "sort": (lambda x: x.sort(1)[0], (5, 60)),
    "sort, the first axis": (lambda x: x.sort(0, descending=True)[0], (20, 9)),
    "topk": (lambda x: x.topk(3)[0], (20, 9)),
    "max": (lambda x: x.max(1)[0], (20, 9)),
    "max, kept": (lambda x: x.max(0, keepdim=True)[0], (20, 9)),
    "kthvalue": (lambda x: x.kthvalue(2, -2)[0], (4, 5, 6)),
    "x[i]": (lambda x: x[places(6, 40)], (6, 5)),
    "x[i] of numbers": (lambda x: x[places(60, 200)], (60,)),
    "x[i], a table": (lambda x: x[places(6, 3, 4)], (6, 5, 2)),
    "x[i], from behind": (lambda x: x[places(6, 40) - 6], (6, 5)),
    "x[i, j]": (lambda x: x[places(6, 9), places(5, 9)], (6, 5)),
    "x[:, i]": (lambda x: x[:, places(5, 9)], (6, 5)),
    "x[mask]": (lambda x: x[x.detach() > 0], (6, 5)),
    "x[0]": (lambda x: x[flambeau.tensor(2)], (6, 5)),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), (2, 3, 4, 5)),
    "nearest, unlike factors": (lambda x: F.interpolate(x, scale_factor=(2, 3)), (2, 3, 4, 5)),
    "nearest, of other sizes": (lambda x: F.interpolate(x, size=(9, 3)), (2, 3, 4, 5)),
    "nearest, a line by 2.1": (lambda x: F.interpolate(x, scale_factor=2.1), (1, 2, 6)),
    "nearest, volumes": (lambda x: F.interpolate(x, scale_factor=2), (1, 2, 2, 3, 4)),
    "nearest, exact": (lambda x: F.interpolate(x, size=(7, 11), mode="nearest-exact"), (2, 3, 4, 5)),
    "embedding": (lambda x: F.embedding(places(6, 4, 30), x), (6, 5)),
    "embedding with padding": (lambda x: F.embedding(places(6, 4, 30), x, padding_idx=2), (6, 5)),
    "bags": (lambda x: F.embedding_bag(places(6, 40), x, bounds(0, 7, 7, 30), mode="sum"), (6, 5)),
    "bags, means": (lambda x: F.embedding_bag(places(6, 40), x, bounds(0, 7, 7, 30), padding_idx=2), (6, 5)),
    "bags, the last bound too": (
        lambda x: F.embedding_bag(places(6, 40), x, bounds(0, 7, 40), include_last_offset=True), (6, 5)
    ),
    "bags, weighted": (
        lambda x: F.embedding_bag(
            places(6, 40), x, bounds(0, 7, 30), mode="sum", per_sample_weights=numbers(40), padding_idx=-1
        ), (6, 5),
    ),
    "embedding in bags, by frequency": (
        lambda x: F.embedding_bag(places(6, 40), x, bounds(0, 7, 30), scale_grad_by_freq=True), (6, 5)
    ),
    "bags of a table": (lambda x: F.embedding_bag(places(6, 4, 3), x), (6, 5)),
    "embedding by frequency": (lambda x: F.embedding(places(6, 4), x, scale_grad_by_freq=True), (6, 5)),
    "reflected": (lambda x: F.pad(x, [3, 2], mode="reflect"), (2, 3, 7)),
    "reflected at three sides": (lambda x: F.pad(x, [3, 0, 1, 2], mode="reflect"), (2, 3, 5, 7)),
    "replicated": (lambda x: F.pad(x, [3, 2, 1, 4], mode="replicate"), (2, 3, 2, 2)),
    "replicated and cut": (lambda x: F.pad(x, [3, -2, -1, 4], mode="replicate"), (2, 3, 5, 6)),
    "nll": (lambda x: F.nll_loss(x, places(7, 20)), (20, 7)),
    "nll, some ignored": (lambda x: F.nll_loss(x, places(7, 20), ignore_index=3), (20, 7)),
    "nll, added up": (lambda x: F.nll_loss(x, places(7, 20), ignore_index=3, reduction="sum"), (20, 7)),
    "nll of each": (lambda x: F.nll_loss(x, places(7, 20), reduction="none"), (20, 7)),
    "nll, weighted": (lambda x: F.nll_loss(x, places(7, 20), weight=numbers(7).abs()), (20, 7)),
    "nll of places": (lambda x: F.nll_loss(x, places(7, 2, 3, 5)), (2, 7, 3, 5)),
    "nll of one": (lambda x: F.nll_loss(x, flambeau.tensor(3)), (7,)),
    "glu": (F.glu, (6, 40)),
    "glu, the first axis": (lambda x: F.glu(x, 0), (6, 5, 7)),
    "cosines": (lambda x: F.cosine_similarity(x, numbers(9, 12) + 1), (9, 12)),
    "cosines of wider ones": (lambda x: F.cosine_similarity(x, numbers(4, 9, 12) + 1, dim=-2), (9, 12)),
    "cosines of the other": (lambda x: F.cosine_similarity(numbers(9, 12) + 1, x, dim=0), (9, 12)),
    "cosines, short": (lambda x: F.cosine_similarity(x * 1e-3, numbers(9, 12), eps=1.0), (9, 12)),
    "odds": (lambda x: F.binary_cross_entropy_with_logits(x, numbers(9, 20).sigmoid()), (9, 20)),
    "odds, weighted": (
        lambda x: F.binary_cross_entropy_with_logits(
            x, numbers(9, 20).sigmoid(), weight=numbers(20).abs(), pos_weight=numbers(20).abs(), reduction="sum"
        ), (9, 20),
    ),
    "causal attention": (
        lambda x: F.scaled_dot_product_attention(x, numbers(2, 6, 4) + 1, numbers(2, 6, 4), is_causal=True), (2, 5, 4)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_those_of_the_formulas(name: str) -> None:
    call, sizes = CALLS[name]
    x = numbers(*sizes).requires_grad_()
    result = call(x)
    seed = numbers(*result.shape)
    (plain,) = grad(result, x, seed, retain_graph=True)
    (recorded,) = grad(result, x, seed, create_graph=True)
    np.testing.assert_allclose(plain.numpy(), recorded.detach().numpy(), rtol=1e-12, atol=1e-13)
    single = x.detach().to(flambeau.float32).requires_grad_()
    if not name.startswith("odds") and "attention" not in name and "cosines" not in name and "weighted" not in name:
        (rounded,) = grad(call(single), single, seed.to(flambeau.float32))
        np.testing.assert_allclose(rounded.numpy(), plain.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("embedding ")])
def test_and_those_of_differences(name: str) -> None:
    call, sizes = CALLS[name]
    assert flambeau.autograd.gradcheck(call, numbers(*sizes).requires_grad_())


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_all_operands_of_a_loss_of_odds(reduction: str) -> None:
    operands = [numbers(6, 5), numbers(6, 5).sigmoid(), numbers(5).abs() + 1, numbers(6, 5).abs() + 2]
    x, target, weight, often = [one.requires_grad_() for one in operands]

    def loss(*given: Tensor) -> Tensor:
        odds, wanted, scale, positive = given
        result: Tensor = F.binary_cross_entropy_with_logits(
            odds, wanted, scale, reduction=reduction, pos_weight=positive
        )
        return result

    assert flambeau.autograd.gradcheck(loss, (x, target, weight, often))
    assert flambeau.autograd.gradgradcheck(loss, (x, target, weight, often))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [1, 5, 32, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_of_rows_are_those_of_sorted_ones(dtype: Any, k: int, largest: bool) -> None:
    array = np.round(np.random.default_rng(1).normal(size=(3, 4, 40)) * 3).astype(dtype)
    array[0, 1, [3, 9]], array[1, 2, 5:9], array[2, 0, 7] = np.nan, np.inf, -np.inf
    array[2, 3, :], array[2, 2, ::2] = -0.0, 0.0
    x = flambeau.from_numpy(array)
    for given in (x, x.transpose(0, 1)):
        values, at = given.topk(k, largest=largest)
        ordered, order = given.sort(-1, largest)
        assert at.tolist() == order[..., :k].tolist()
        np.testing.assert_array_equal(values.numpy(), ordered[..., :k].numpy())


def test_losses_of_rows_without_classes_that_count() -> None:
    x = numbers(4, 3, dtype=flambeau.float32)
    target = flambeau.full([4], -100)
    assert np.isnan(F.nll_loss(x, target).item())
    assert F.nll_loss(x, target, reduction="sum").item() == 0
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        F.nll_loss(x, flambeau.tensor([0, 1, 3, 2]))


def test_a_row_that_sees_nothing_but_minus_infinity_is_zeros() -> None:
    query, key = flambeau.full([1, 3, 2], float("inf")), -flambeau.ones(1, 3, 2)
    seen = F.scaled_dot_product_attention(query, key, flambeau.ones(1, 3, 2), is_causal=True)
    assert seen.tolist() == flambeau.zeros(1, 3, 2).tolist()


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.float16])
def test_gradients_that_lie_in_another_order_add_up(dtype: Any) -> None:
    x = numbers(3, 4, dtype=dtype).requires_grad_()
    for _ in range(3):
        x.t().backward(numbers(4, 3, dtype=dtype))
    (x.sum(0, keepdim=True).expand(2, 4) * 1).sum().backward()
    expected = 3 * numbers(4, 3, dtype=dtype).numpy().T.astype(np.float64) + 2
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=5e-3 if dtype is flambeau.float16 else 1e-5)
    version = x.grad._version
    x.t().backward(numbers(4, 3, dtype=dtype))
    assert x.grad._version > version


def test_an_infinite_gradient_of_a_repeated_pixel_stays_there() -> None:
    image = flambeau.zeros(1, 1, 2, 2, requires_grad=True)
    F.interpolate(image, scale_factor=2).backward(flambeau.tensor([[[[np.inf, 1, 2, 3]] * 2 + [[0] * 4] * 2]]))
    assert image.grad.tolist() == [[[[np.inf, 10.0], [0.0, 0.0]]]]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_are_spread_over_the_table_at_once(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[Any] = []

    def spread(*arguments: Any) -> Any:
        results.append(of_bags(*arguments))
        return results[-1]

    monkeypatch.setattr(bag_formulas, "of_bags", spread)
    table = numbers(6, 5).requires_grad_()
    F.embedding_bag(places(6, 40), table, bounds(0, 7, 30), mode=mode).sum().backward()
    [result] = results
    assert (result == table.grad.numpy()).all()
