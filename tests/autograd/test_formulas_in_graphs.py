"""Formulas are traced into graphs of the way back: whatever sizes there are, without a node that runs them again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F


def convolved(x: Tensor) -> Tensor:
    return F.conv2d(x, x[:, :1, :2, :2].exp(), None, [1, 1], [1, 1], [1, 1], 2) * 2


def transposed(x: Tensor) -> Tensor:
    return F.conv_transpose2d(x, x[:2, :1, :2, :2], None, [2, 2], [0, 0], [1, 1]) * 2


def pooled(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, [2, 2], [2, 2], [1, 1]) * 2 + F.adaptive_avg_pool2d(x, [3, 3]).sum()


def attended(x: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x, x * 2, x.exp())


def normalised(x: Tensor) -> Tensor:
    return flambeau.group_norm(x, 2) * x.var(1, keepdim=True)


def folded(x: Tensor) -> Tensor:
    return x.cumprod(1) * x.prod(2, keepdim=True) + x.logcumsumexp(3)


def scattered(x: Tensor) -> Tensor:
    index = (x[0] > 0.9).long()
    return flambeau.scatter_reduce(x, 1, index.unsqueeze(0), x[:1] * 3, "amax") * 2


def transformed(x: Tensor) -> Tensor:
    return flambeau.fft.rfft(x, 6).abs() * 2


def apart(x: Tensor) -> Tensor:
    return flambeau.cdist(x, x * 2 + 1) * 2


def factored(x: Tensor) -> Tensor:
    return flambeau.linalg.lu(x)[1] * flambeau.linalg.pinv(x).sum() + flambeau.linalg.det(x).sum()


def ranked(x: Tensor) -> Tensor:
    return flambeau.quantile(x, 0.3, 3) * flambeau.trapezoid(x, dim=-1)


def chunked(x: Tensor) -> Tensor:
    first, second, third = (x @ x).flatten(1).chunk(3, -1)
    return first * second + third.sum()


def orthonormal(x: Tensor) -> Tensor:
    tall, wide = flambeau.linalg.qr(x[..., :3]), flambeau.linalg.qr(x[..., :3, :])
    columns = flambeau.linalg.qr(x[..., :2])[0]
    return (tall[0].sum() + tall[1] ** 2).sum() + (wide[0] * 2).sum() * wide[1].sum() + (columns**3).sum()


FUNCTIONS = (
    chunked, orthonormal, convolved, transposed, pooled, attended, normalised, folded, scattered, transformed,
    apart, factored, ranked,
)  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_formulas_are_parts_of_graphs(function: Any) -> None:
    compiled = flambeau.script(function)
    for sizes in ((2, 2, 4, 4), (2, 2, 5, 5)):
        x = np.random.default_rng(5).uniform(0.3, 1.9, sizes)
        by_graph, by_tape = (flambeau.tensor(x).requires_grad_() for _ in range(2))
        compiled(by_graph).sum().backward()
        function(by_tape).sum().backward()
        np.testing.assert_allclose(by_graph.grad.numpy(), by_tape.grad.numpy(), rtol=1e-9, atol=1e-11)
    plans = compiled._executor.derivatives.gradient_plans
    assert plans
    for plan in plans:
        node = plan.backward.graph.find("prim::GradOf")
        assert node is None, f"{node}"
