"""Products of which a factor is repeated along the axis that is folded: nothing there lies side by side."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def scaled_product(a: Tensor, b: Tensor) -> Tensor:
    return flambeau.matmul(a, b.transpose(-1, -2)) * 2


@pytest.mark.parametrize("sizes", [(1, 4, 64), (3, 4, 5), (4, 4, 64), (2, 8, 128), (40, 40, 40)])
@pytest.mark.parametrize("repeated", [0, 1])
def test_a_repeated_factor(sizes: tuple[int, int, int], repeated: int) -> None:
    m, n, k = sizes
    generator = np.random.default_rng(0)
    factors = [flambeau.from_numpy(generator.normal(size=(rows, k))) for rows in (m, n)]
    factors[repeated] = factors[repeated][:, :1].expand(-1, k)
    result = flambeau.script(scaled_product)(*factors)
    expected = factors[0].numpy() @ factors[1].numpy().T * 2
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_a_gradient_that_is_the_same_everywhere() -> None:
    def attended(x: Tensor) -> Tensor:
        return flambeau.nn.functional.scaled_dot_product_attention(x, x * 2, x.exp())

    values = flambeau.from_numpy(np.random.default_rng(0).normal(size=(2, 3, 4, 5)))
    own, other = (values.clone().requires_grad_() for _ in range(2))
    flambeau.script(attended)(own).sum().backward()
    attended(other).sum().backward()
    np.testing.assert_allclose(own.grad.numpy(), other.grad.numpy(), rtol=1e-10, atol=1e-12)
