"""The way back of attention by blocks: what the blocks are, and gradients beside those of the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.executor.gradient_blocks import GradientBlocks
from flambeau.ops.derivatives import attention_blocks
from flambeau.schema.gradient import Blocks

grad: Any = flambeau.autograd.grad
attention: Any = flambeau.nn.functional.scaled_dot_product_attention
RNG = np.random.default_rng(0)
SHAPES = [((), 40, 30), ((6,), 10, 12), ((3, 5), 10, 12), ((2, 1, 3), 16, 8), ((2, 2), 33, 33), ((2,), 1, 300)]
MOST = [40, 130, 250, 600]
"""Scores of a block: less than a matrix of most shapes, one or two matrices, many."""
MASKS = ["none", "causal", "truths", "one for all rows", "numbers", "nothing to see"]


def operands(lead: tuple[int, ...], rows: int, keys: int, dtype: Any = np.float64) -> Any:
    shapes = [(*lead, rows, 8), (*lead, keys, 8), (*lead, keys, 5), (*lead, rows, 5)]
    return [RNG.standard_normal(shape).astype(dtype) for shape in shapes]


def mask_of(kind: str, lead: tuple[int, ...], rows: int, keys: int) -> Any:
    seen = RNG.random((*lead[-1:], rows, keys)) < 0.7
    seen[..., 0] = True
    if kind == "numbers":
        return np.where(seen, RNG.standard_normal(seen.shape), -np.inf)
    if kind == "nothing to see":
        seen[..., ::3, :] = False
    if kind == "one for all rows":
        return seen[..., :1, :]
    return seen if kind in ("truths", "nothing to see") else None


def by_definition(q: Any, k: Any, v: Any, slope: Any, *, mask: Any, is_causal: bool) -> list[Any]:
    """The gradients of query, key and value, in NumPy."""
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    if is_causal:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    largest = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = powers.sum(-1, keepdims=True)
    weights = powers / np.where(total == 0, 1, total)
    of_weights = slope @ v.swapaxes(-1, -2)
    of_scores = weights * (of_weights - (weights * of_weights).sum(-1, keepdims=True)) * q.shape[-1] ** -0.5
    return [of_scores @ k, of_scores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ slope]


def blocks_of(arrays: Any, mask: Any, *, is_causal: bool) -> Blocks | None:
    names = ("query", "key", "value", "grad")
    values: dict[str, Any] = {name: flambeau.from_numpy(a) for name, a in zip(names, arrays, strict=True)}
    values["attn_mask"] = None if mask is None else flambeau.from_numpy(mask)
    return attention_blocks.attention_blocks({**values, "is_causal": is_causal})


@pytest.mark.skipif(not available(), reason="without native code the tape runs each operator")
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_are_those_of_the_definition(shape: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, mask, is_causal = operands(*shape), mask_of(kind, *shape), kind == "causal"
    wanted = by_definition(*arrays, mask=mask, is_causal=is_causal)
    leaves = [flambeau.from_numpy(a).requires_grad_() for a in arrays[:3]]
    own = None if mask is None else flambeau.from_numpy(mask)
    taken: list[Any] = []
    take = GradientBlocks._take
    monkeypatch.setattr(GradientBlocks, "_take", lambda self, *a: (taken.append(a), take(self, *a)))
    for most in MOST:
        monkeypatch.setattr(attention_blocks, "MOST_SCORES", most)
        blocks = blocks_of(arrays, mask, is_causal=is_causal)
        expected = len(taken) + (0 if blocks is None else len(list(blocks[1])))
        result = attention(*leaves, own, is_causal=is_causal)
        for one, other in zip(grad(result, leaves, flambeau.from_numpy(arrays[3])), wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-10, atol=1e-12)
        assert len(taken) == expected
    assert taken


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_blocks_go_over_each_score_once(
    shape: Any, most: int, is_causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_blocks, "MOST_SCORES", most)
    lead, rows, keys = shape
    blocks = blocks_of(operands(*shape), None, is_causal=is_causal)
    if blocks is None:
        assert int(np.prod(lead)) * rows * keys <= most
        return
    shapes, parts = blocks
    assert shapes == ((*lead, rows, 8), (*lead, keys, 8), (*lead, keys, 5))
    times = np.zeros((*lead, rows, keys), int)
    written = np.zeros((*lead, keys), bool)
    for block in parts:
        query, key, value = block.indices
        assert key == value
        where = times[query][(..., key[-1])] if len(key) > len(lead) else times[query]
        where += 1
        assert where.size <= max(most, keys)
        assert written[key].all() if block.adds[1] else not written[key].any()
        written[key] = True
        assert block.values["query"].shape == (*where.shape[:-1], 8)
        assert block.values["key"].shape == (*where.shape[:-2], where.shape[-1], 8)
    assert written.all()
    assert times.max() == 1
    seen = np.tri(rows, keys, dtype=bool) if is_causal else np.ones((rows, keys), bool)
    assert (times == 1)[..., seen].all()


def test_one_operand_alone_and_the_second_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_blocks, "MOST_SCORES", 200)
    arrays = operands((2, 2), 20, 30)
    slope = flambeau.from_numpy(arrays[3])
    for number, wanted in enumerate(by_definition(*arrays, mask=None, is_causal=False)):
        leaves = [flambeau.from_numpy(a).requires_grad_(k == number) for k, a in enumerate(arrays[:3])]
        (first,) = grad(attention(*leaves), [leaves[number]], slope)
        np.testing.assert_allclose(first.numpy(), wanted, rtol=1e-10, atol=1e-12)
        (recorded,) = grad(attention(*leaves), [leaves[number]], slope, create_graph=True)
        np.testing.assert_allclose(recorded.detach().numpy(), wanted, rtol=1e-10, atol=1e-12)


def test_operands_that_lie_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_blocks, "MOST_SCORES", 500)
    base = RNG.standard_normal((2, 20, 3, 8)).astype(np.float32)
    leaf = flambeau.from_numpy(base).requires_grad_()
    heads = leaf.transpose(1, 2)
    attention(heads, heads, heads, is_causal=True).sum().backward()
    x = base.swapaxes(1, 2).astype(np.float64)
    wanted = sum(by_definition(x, x, x, np.ones_like(x), mask=None, is_causal=True))
    assert leaf.grad.numpy() == pytest.approx(wanted.swapaxes(1, 2), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("shape", [((0, 2), 4, 4), ((2,), 0, 4), ((2,), 4, 0)], ids=str)
def test_nothing_is_one_block(shape: Any) -> None:
    assert blocks_of(operands(*shape), None, is_causal=False) is None
