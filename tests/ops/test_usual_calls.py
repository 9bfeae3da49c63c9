"""Ways of kernels for usual calls on small arrays: the same as their long ways, and as PyTorch's, nan included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.ops import pooling, pooling_adaptive
from flambeau.ops.derivatives import plain_views
from flambeau.ops.pooling_windows import Geometry
from flambeau.tensor.random import Generator

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

ODD = (np.nan, np.inf, -np.inf, -0.0, 0.0)


def numbers(seed: int, *sizes: int) -> Any:
    """Few different numbers, so that many are equal, with some that are odd."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(-3, 4, sizes).astype(np.float32)
    return np.where(rng.random(sizes) < 0.15, rng.choice(ODD, sizes), drawn).astype(np.float32)


def both(call: Callable[[Any, Any], Any], array: Any) -> list[Any]:
    """What a call gives in PyTorch and here: elements, strides and dtype of each result."""
    answers = []
    for library in (torch, fb):
        results = call(library, library.from_numpy(array.copy()))
        results = results if isinstance(results, tuple) else (results,)
        answers.append([(np.array(r.tolist()), r.stride(), str(r.dtype).split(".")[-1]) for r in results])
    return answers


def same(call: Callable[[Any, Any], Any], array: Any) -> None:
    for other, own in zip(*both(call, array), strict=True):
        np.testing.assert_array_equal(own[0], other[0])
        assert own[1:] == other[1:]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_windows_side_by_side_have_the_largest_elements_and_their_places(dims: int, kernel: int, seed: int) -> None:
    array = numbers(seed, 2, 3, *(7, 4, 6)[:dims])
    pool = f"max_pool{dims}d"
    same(lambda t, x: getattr(t.nn.functional, pool)(x, kernel, return_indices=True), array)
    same(lambda t, x: getattr(t.nn.functional, pool)(x, kernel), array)
    same(lambda t, x: getattr(t.nn.functional, pool)(x.transpose(0, 1), kernel, return_indices=True), array)


def test_other_windows_go_the_long_way() -> None:
    array = np.zeros((1, 8), np.float32)
    ways = {
        "stride": ((3,), (2,), (0,), (1,)), "padding": ((2,), (2,), (1,), (1,)), "dilation": ((2,), (2,), (0,), (2,)),
    }  # fmt: skip
    for kernel, stride, padding, dilation in ways.values():
        geometry = Geometry("max_pool1d", array, 1, kernel, stride, padding, dilation, False)
        assert not geometry.are_side_by_side(array)
    assert Geometry("max_pool1d", array, 1, (3,), (), (0,), (1,), False).are_side_by_side(array)
    assert not Geometry("max_pool1d", array, 1, (3,), (), (0,), (1,), True).are_side_by_side(array)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (5, 4), (3, 7), (9, 9)])
def test_adaptive_windows_are_those_of_pytorch_and_of_one_after_another(
    sizes: tuple[int, int], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = numbers(seed, 2, 2, 7, 8)

    def call(t: Any, x: Any) -> Any:
        return t.nn.functional.adaptive_max_pool2d(x, sizes, return_indices=True)

    same(call, array)
    monkeypatch.setattr(pooling_adaptive, "MOST_AT_ONCE", 0)
    same(call, array)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "constant"])
def test_borders(mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = numbers(seed, 2, 2, 5, 6)
    amounts = [int(n) for n in rng.integers(0 if mode == "circular" else -1, 4, 4)]
    same(lambda t, x: t.nn.functional.pad(x, amounts, mode=mode), array)
    same(lambda t, x: t.nn.functional.pad(x.transpose(2, 3), amounts, mode=mode).contiguous(), array)


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_rows_of_weights_draw_what_each_would_draw_after_the_one_before(count: int, replacement: bool) -> None:
    weights = fb.tensor([[1.0, 2.0, 0.0, 3.0], [0.0, 1.0, 1.0, 5.0], [2.0, 2.0, 2.0, 2.0]])
    together = fb.multinomial(weights, count, replacement, generator=Generator().manual_seed(5))
    alone = Generator().manual_seed(5)
    rows = [fb.multinomial(row, count, replacement, generator=alone).tolist() for row in weights]
    assert together.tolist() == rows
    assert (together.dtype, together.stride()) == (fb.int64, (count, 1))


def test_many_drawn_with_replacement_are_those_that_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.ops import random

    weights = fb.rand(4, 9)
    few = fb.multinomial(weights, 6, True, generator=Generator().manual_seed(2))
    monkeypatch.setattr(random, "_FEW", 0)
    assert fb.multinomial(weights, 6, True, generator=Generator().manual_seed(2)).tolist() == few.tolist()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignored", [-100, 2, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_classes(weighted: bool, ignored: int, reduction: str) -> None:
    array = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)

    def call(t: Any, x: Any) -> Any:
        weight = t.tensor([0.5, 1.0, 2.0, 0.25]) if weighted else None
        target = t.tensor([0, 2, 3, 1, 2, 0])
        return t.nn.functional.cross_entropy(x, target, weight, ignore_index=ignored, reduction=reduction)

    for other, own in zip(*both(call, array), strict=True):
        np.testing.assert_allclose(own[0], other[0], rtol=1e-6)
        assert own[1:] == other[1:]
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        fb.nn.functional.nll_loss(fb.zeros(2, 4), fb.tensor([1, 4]), reduction=reduction)


PICKS: dict[str, Callable[[Any, Any], Any]] = {
    "select": lambda t, x: x.select(1, -2), "slice": lambda t, x: x[:, 1:9:2],
    "narrow": lambda t, x: x.narrow(0, -2, 2),
    "element": lambda t, x: x[1, 2, 0], "mask": lambda t, x: x[x > 0],
    "rows by mask": lambda t, x: x[t.tensor([True, False, True])],
    "two": lambda t, x: x[t.tensor([0, -1, 0]), t.tensor([1, 1, 1])], "behind": lambda t, x: x[:, t.tensor([3, -4, 3])],
    "last": lambda t, x: x[:, :, t.tensor([[0, 1], [1, 1]])],
    "apart": lambda t, x: x[t.tensor([0, 1]), :, t.tensor([1, 1])],
    "broadcast": lambda t, x: x[t.tensor([[0], [2]]), t.tensor([1, 3])],
    "chosen": lambda t, x: x.masked_select(x < 0.5),
    "none": lambda t, x: x[t.tensor([], dtype=t.int64)], "empty slice": lambda t, x: x[2:1],
}  # fmt: skip


@pytest.mark.parametrize("name", PICKS)
def test_gradients_of_what_is_picked_are_pytorchs_and_those_of_operators(name: str) -> None:
    array = np.random.default_rng(1).standard_normal((3, 4, 2)).astype(np.float32)
    grads = []
    for library, recorded in ((torch, False), (fb, False), (fb, True)):
        x = library.from_numpy(array.copy()).requires_grad_()
        y = PICKS[name](library, x)
        scale = library.arange(1.0, 1.0 + y.numel()).reshape(y.shape)
        [grad] = library.autograd.grad((y * scale).sum(), x, create_graph=recorded)
        grads.append(np.array(grad.tolist()))
    np.testing.assert_array_equal(grads[1], grads[0])
    np.testing.assert_array_equal(grads[2], grads[0])


def test_what_gradients_of_arrays_do_not_serve_is_left_to_operators() -> None:
    grad = np.ones((2, 3), np.float32)
    assert plain_views.at_index(grad, [2, 3], 0, 1) is None
    assert plain_views.under_mask(grad, [2, 3], np.ones(2, bool)) is None
    assert plain_views.at_indices(grad, [2, 3], np.zeros(2, np.int64), None, np.zeros(2, np.int64)) is None
    assert plain_views.at_indices(grad.astype(np.float16), [2, 3], np.zeros(2, np.int64)) is None
    assert plain_views.at_indices(grad, [5, 3], np.zeros(4, np.int64)) is None


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sizes", [(3, 5), (2, 3, 5), (5,), (0, 5)])
def test_small_layers(sizes: tuple[int, ...], bias: bool) -> None:
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in (sizes, (4, 5), (4,))]
    results = []
    for library in (torch, fb):
        x, w, b = [library.from_numpy(a.copy()).requires_grad_() for a in arrays]
        y = library.nn.functional.linear(x, w, b if bias else None)
        (y * y).sum().backward()
        results.append([np.array(one.tolist()) for one in (y, x.grad, w.grad, *([b.grad] if bias else []))])
    for other, own in zip(*results, strict=True):
        np.testing.assert_allclose(own, other, rtol=2e-5, atol=1e-6)


def test_places_of_the_largest_are_those_of_rows() -> None:
    rows = np.array([[1.0, np.nan, 2.0, np.nan], [3.0, 3.0, 1.0, 0.0]], np.float32)
    assert pooling.place_of_largest(rows).tolist() == [3, 0]
