"""Attention that is recorded is one node: its values and gradients beside those of the operators it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.executor.large_gradients import traced
from flambeau.ops.recorded_attention import attention_kernel
from flambeau.schema import registry
from flambeau.schema.gradient import Call
from flambeau.schema.own_gradient import gradient_of
from flambeau.util.inversions import ATTENTION

attention = nn.functional.scaled_dot_product_attention
RNG = np.random.default_rng(0)
SIZES = [((), 5, 5, 4, 4), ((3,), 1, 7, 3, 2), ((2, 4), 9, 4, 1, 6), ((2, 2), 33, 33, 16, 16)]
MASKS = ["none", "causal", "truths", "broadcast", "numbers", "nothing to see", "scale"]


def operands(lead: tuple[int, ...], rows: int, keys: int, size: int, out: int) -> list[Tensor]:
    shapes = [(*lead, rows, size), (*lead, keys, size), (*lead, keys, out)]
    return [flambeau.tensor(RNG.standard_normal(s)) for s in shapes]


def options(kind: str, lead: tuple[int, ...], rows: int, keys: int) -> dict[str, Any]:
    seen = flambeau.tensor(RNG.random((rows, keys)) < 0.7)
    seen[:, 0] = True
    if kind == "numbers":
        added = flambeau.tensor(RNG.standard_normal((*lead, rows, keys)))
        return {"attn_mask": added.masked_fill(~seen, float("-inf"))}
    if kind == "nothing to see":
        seen[0] = False
    if kind == "broadcast":
        seen = seen[:1].expand(*lead, 1, keys)
    if kind in ("truths", "broadcast", "nothing to see"):
        return {"attn_mask": seen}
    return {"causal": {"is_causal": True}, "scale": {"scale": -0.7}}.get(kind, {})


def by_operators(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Any = None, is_causal: bool = False, scale: Any = None
) -> Any:
    """The definition."""
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = flambeau.ones(scores.shape[-2:]).tril() > 0
    if attn_mask is not None and attn_mask.dtype == flambeau.bool:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = scores.softmax(-1)
    if attn_mask is not None:
        weights = weights.masked_fill((scores == float("-inf")).all(-1, keepdim=True), 0.0)
    return weights @ v


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_values_and_gradients(sizes: Any, kind: str) -> None:
    lead, rows, keys, size, out = sizes
    if kind == "causal":
        keys = rows
    plain, named = operands(lead, rows, keys, size, out), options(kind, lead, rows, keys)
    slope = flambeau.tensor(RNG.standard_normal((*lead, rows, out)))
    results = []
    for run in (attention, by_operators):
        leaves = [x.clone().requires_grad_() for x in plain]
        result = run(*leaves, **named)
        if run is attention:
            assert result.grad_fn.name() == "ScaledDotProductAttentionBackward0"
        result.backward(slope)
        results.append([result.detach(), *[x.grad for x in leaves]])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["none", "causal", "truths", "numbers", "nothing to see"])
def test_derivatives_by_differences(kind: str) -> None:
    leaves = [x.requires_grad_() for x in operands((2,), 3, 3, 2, 2)]
    named = options(kind, (2,), 3, 3)
    assert gradcheck(lambda *x: attention(*x, **named), leaves)
    assert gradgradcheck(lambda *x: attention(*x, **named), leaves)


@pytest.mark.parametrize("asking", range(3))
def test_one_operand_alone_may_ask(asking: int) -> None:
    plain = operands((2,), 12, 12, 8, 8)
    leaves = [x.clone().requires_grad_(k == asking) for k, x in enumerate(plain)]
    attention(*leaves).sum().backward()
    other = plain[asking].clone().requires_grad_()
    by_operators(*plain[:asking], other, *plain[asking + 1 :]).sum().backward()
    assert leaves[asking].grad.numpy() == pytest.approx(other.grad.numpy(), rel=1e-10, abs=1e-12)


def test_what_is_not_one_node() -> None:
    q, k, v = (x.requires_grad_() for x in operands((2,), 4, 4, 8, 8))
    mask = flambeau.zeros(4, 4, dtype=flambeau.float64, requires_grad=True)
    attention(q, k, v, mask).sum().backward()
    assert mask.grad is not None
    assert attention(q.half(), k.half(), v.half()).grad_fn.name() == "MatmulBackward0"
    many = flambeau.ones(2, 3, 4, 8, dtype=flambeau.float64)
    assert attention(many, k[:, None], v[:, None]).shape == (2, 3, 4, 8)


@pytest.mark.parametrize("kind", MASKS)
def test_without_native_code(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = operands((2,), 6, 6, 4, 3)
    named = options(kind, (2,), 6, 6)
    expected = by_operators(q, k, v, **named)
    monkeypatch.setattr(ATTENTION, "implementation", lambda *arguments: None)
    mask = named.get("attn_mask")
    arrays = [x.numpy() for x in (q, k, v)]
    result = attention_kernel(
        *arrays, None if mask is None else mask.numpy(), named.get("is_causal", False), named.get("scale")
    )
    assert result == pytest.approx(expected.numpy(), rel=1e-10, abs=1e-12)


def test_what_gives_all_gradients_is_traced_once() -> None:
    gradient = gradient_of(registry.get("flambeau::scaled_dot_product_attention"))
    needs = ["grad", "query", "key", "value", "attn_mask", "is_causal", "scale"]
    formulas = [gradient.formula(name, Call()) for name in ("query", "key", "value")]
    values = [*[flambeau.ones(2, 12, 8)] * 4, None, False, None]
    graph, passed = traced([(f, [(need, needs.index(need)) for need in f.needs]) for f in formulas], values, False)
    assert passed == [None, None, None]
    assert len(list(graph.find_all("aten::matmul"))) == 5


@pytest.mark.parametrize("batch_first", [False, True])
def test_one_sequence_is_projected_by_one_product(batch_first: bool) -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=batch_first).double()
    x = flambeau.tensor(RNG.standard_normal((5, 3, 8)), requires_grad=True)
    together, _ = layer(x, x, x, need_weights=False)
    apart, _ = layer(x, x.view(x.shape), x.view(x.shape), need_weights=False)
    np.testing.assert_allclose(together.detach().numpy(), apart.detach().numpy(), rtol=1e-10, atol=1e-12)
    leaves = [x, *layer.parameters()]
    for one, other in zip(
        flambeau.autograd.grad(together.sum(), leaves), flambeau.autograd.grad(apart.sum(), leaves), strict=True
    ):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10, atol=1e-12)
    assert count_of("LinearBackward0", together) == 2
    assert count_of("LinearBackward0", apart) == 4
    scripted = flambeau.script(layer)
    assert scripted(x, x, x, need_weights=False)[0].detach().numpy() == pytest.approx(together.detach().numpy())


def count_of(name: str, result: Tensor) -> int:
    """The nodes of a name behind a result."""
    seen: set[Any] = set()
    waiting = [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return sum(node.name() == name for node in seen)
