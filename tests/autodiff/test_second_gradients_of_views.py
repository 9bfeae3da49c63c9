"""Second derivatives through views: the gradient of a part is put into zeros by an operator, whose own is a view."""

from __future__ import annotations

import numpy as np

import flambeau
from flambeau import Tensor
from flambeau.func import grad


def energy(p: Tensor) -> Tensor:
    across, down = p[1:] - p[:-1], p[:, 1:] - p[:, :-1]
    return (across**4).sum() + (down**3).sum() + (p[0] ** 3).sum() + (p.diagonal() ** 4).sum()


def moved(p: Tensor, v: Tensor, steps: int) -> Tensor:
    for _ in range(steps):
        v = 0.9 * v - 0.01 * grad(energy)(p)
        p = p + 0.1 * v
    return (p[-1, -1] ** 2).sum() + (p * v).sum()


def test_gradients_through_steps_by_gradients() -> None:
    gradient = grad(flambeau.script(moved), argnums=(0, 1))
    plain = grad(moved, argnums=(0, 1))
    generator = np.random.default_rng(0)
    for rows, columns, steps in ((4, 4, 3), (3, 5, 2), (2, 2, 4), (4, 4, 1), (1, 3, 2)):
        p, v = (flambeau.tensor(generator.standard_normal((rows, columns))) for _ in range(2))
        for got, wanted in zip(gradient(p, v, steps), plain(p, v, steps), strict=True):
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-9, atol=1e-12)
    explanation = gradient.explain()
    assert explanation.compilations
    assert explanation.is_native


def test_no_second_memory() -> None:
    gradient = grad(flambeau.script(moved), argnums=0)
    p, v = flambeau.rand(3, 3).double(), flambeau.rand(3, 3).double()
    gradient(p, v, 2)
    text = str(gradient.graph_for(p, v, 2))
    assert "aten::slice_scatter" in text
    assert "aten::copy_" not in text
