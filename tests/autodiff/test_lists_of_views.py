"""Gradients of what is stacked from views of a tensor that is written later, of elements by several numbers, and of
products by letters whose sizes follow from others: as graphs, not back over a tape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.func import grad, jacfwd, vmap
from tests.together import together


def alignment(x: Tensor, y: Tensor, at: Tensor) -> Tensor:
    n, m = x.shape[0], y.shape[0]
    costs = ((x[:, None] - y[None]) ** 2).sum(-1)
    table = flambeau.full((n + 1, m + 1), 1e10, dtype=x.dtype)
    table[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            before = flambeau.stack([table[i, j], table[i, j + 1], table[i + 1, j]])
            table[i + 1, j + 1] = costs[i, j] - flambeau.logsumexp(-before, 0)
    return table[n, m]


def rows(x: Tensor, y: Tensor, at: Tensor) -> Tensor:
    kept = x.clone()
    for i in range(1, x.shape[0]):
        joined = flambeau.cat([kept[i - 1], y[i]])
        kept[i] = joined[1 : x.shape[1] + 1] * kept[i]
    return (kept**2).sum()


def written_between(x: Tensor, y: Tensor, at: Tensor) -> Tensor:
    kept = x.clone()
    pair = [kept[0], y[0]]
    kept[0] = y[1] * 2.0
    return (flambeau.stack(pair) ** 3).sum() + kept.sum()


def several_numbers(x: Tensor, y: Tensor, at: Tensor) -> Tensor:
    total = x[at[0], at[1]] * x[0, at[1]]
    for i in range(1, at.shape[0]):
        total = total + x[at[i - 1], at[i] % 2] * y[at[i], at[i - 1] % 2] ** 2
    return total


def letters(x: Tensor, y: Tensor, at: Tensor) -> Tensor:
    scores = flambeau.einsum("id,jd->ij", x, y)
    mixed = flambeau.einsum("ij,jd->id", flambeau.softmax(scores, -1), y)
    return flambeau.einsum("id,id->", mixed, mixed.permute(0, 1))


R = np.random.default_rng(0).standard_normal
X, Y, AT = flambeau.tensor(R((4, 2))), flambeau.tensor(R((5, 2))), flambeau.tensor([1, 0, 3, 2, 1])
FUNCTIONS = (alignment, rows, written_between, several_numbers, letters)


def _differences(function: Any, x: Tensor) -> Any:
    h, wanted = 1e-6, np.zeros(x.shape)
    for k in np.ndindex(*x.shape):
        step = np.zeros(x.shape)
        step[k] = h
        after, before = (function(flambeau.tensor(x.numpy() + s), Y, AT).item() for s in (step, -step))
        wanted[k] = (after - before) / (2 * h)
    return wanted


@together("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_c14_gradients_through_lists_of_views(function: Any) -> None:
    scripted = flambeau.script(function)
    gradient = grad(scripted)
    wanted = _differences(function, X)
    for _ in range(3):
        np.testing.assert_allclose(gradient(X, Y, AT).numpy(), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jacfwd(scripted)(X, Y, AT).numpy(), wanted, rtol=1e-5, atol=1e-6)
    batch = vmap(gradient, in_dims=(0, None, None))(flambeau.stack([X, X * 0.5]), Y, AT)
    np.testing.assert_allclose(batch[1].numpy(), _differences(function, X * 0.5), rtol=1e-5, atol=1e-6)
    x = X.clone().requires_grad_()
    scripted(x, Y, AT).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-5, atol=1e-6)
    if available() and function is not written_between:
        assert gradient.explain(measure=False).is_native


def test_views_of_what_was_written_before_a_loop() -> None:
    """What is stacked in a loop may show a tensor that was written before it: its gradient is compiled all the same."""
    source = """
def f(x: Tensor) -> Tensor:
    state = flambeau.zeros(8, dtype=flambeau.float64)
    state[0] = 1.0
    for k in range(3):
        state = state * x[k] + x[k]
        for q in range(2):
            v = state.reshape(2, 2, 2)
            state = flambeau.stack([v[:, 0], v[:, 1].flip(1)], 1).reshape(8)
    return (state * state * flambeau.arange(8)).sum()
"""
    f = flambeau.CompilationUnit(source).f
    gradient = flambeau.grad(f)
    x = flambeau.tensor([0.5, -1.5, 2.0], dtype=flambeau.float64, requires_grad=True)
    f(x).backward()
    for _ in range(3):
        result = gradient(x.detach())
        flambeau.testing.assert_close(result, x.grad)
    assert "tape" not in str(gradient.explain())
