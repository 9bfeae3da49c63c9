"""What the way back needs of a branch is a result of it, so that both ways are native; in loops it is on a stack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.nn.functional import scaled_dot_product_attention


def nested(x: Tensor, w: Tensor, n: int) -> Tensor:
    if n > 0:
        y = flambeau.matmul(x, w).tanh()
        if n > 1:
            y = flambeau.matmul(flambeau.softmax(flambeau.matmul(y, w), dim=-1) * y, w)
        else:
            y = flambeau.cumsum(flambeau.matmul(y, w).exp(), 0)
    else:
        y = flambeau.matmul(flambeau.matmul(x, x.t()).sigmoid(), w)
    return y * y


def looped(x: Tensor, w: Tensor, n: int) -> Tensor:
    for i in range(n + 1):
        if i % 2 == 0:
            x = flambeau.matmul(x, w)
            x = x.tanh()
        else:
            x = flambeau.softmax(flambeau.matmul(x, w), dim=-1) * x
    return x


def attended(x: Tensor, w: Tensor, n: int) -> Tensor:
    y = flambeau.matmul(x, w)
    seen = scaled_dot_product_attention(y[None], y[None], x[None], None, 0.0, n > 0)[0]
    return flambeau.matmul(flambeau.matmul(seen, w).exp(), w).sin()


@pytest.mark.parametrize("function", [nested, looped, attended], ids=lambda f: f.__name__)
def test_gradients_are_those_of_the_tape_on_every_way(function: Any) -> None:
    compiled = flambeau.jit.script(function)
    generator = np.random.default_rng(1)
    x, w = (generator.standard_normal((4, 4)) / 2 for _ in range(2))
    for n in (0, 1, 2, 1, 0):
        gradients = []
        for one in (function, compiled):
            operands = [flambeau.from_numpy(a).requires_grad_() for a in (x, w)]
            (one(*operands, n) * flambeau.arange(4.0)).sum().backward()
            gradients.append([a.grad.numpy() for a in operands if a.grad is not None])
        for expected, found in zip(*gradients, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    if available():
        assert all(compilation.is_native for compilation in compiled.explain().compilations)
