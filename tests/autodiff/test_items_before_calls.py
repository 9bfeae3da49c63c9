"""`x[places]` before calls of functions: until these are inlined, nobody can tell whether it is a view or a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, jacfwd, vmap
from tests.together import together


def doubled(p: Tensor, r: Tensor) -> Tensor:
    return p * 2.0 * r


def rows(p: Tensor, r: Tensor, at: Tensor) -> Tensor:
    q = p[at]
    total = flambeau.zeros((), dtype=p.dtype)
    for i in range(r.shape[0]):
        total = total + (doubled(q[i], r[i]) ** 2).sum()
    return total


def columns(p: Tensor, r: Tensor, at: Tensor) -> Tensor:
    q = p[:, at]
    total = flambeau.zeros((), dtype=p.dtype)
    for i in range(p.shape[0]):
        total = total + (doubled(q[i], q[i] + 1.0) * doubled(q[i], q[i])).sum()
    return total


def masked(p: Tensor, r: Tensor, at: Tensor) -> Tensor:
    q = p[p > 0.0]
    total = flambeau.zeros((), dtype=p.dtype)
    for i in range(q.shape[0]):
        total = total + doubled(q[i], q[i])
    return total


def one_row(p: Tensor, r: Tensor, at: Tensor) -> Tensor:
    q = p[at[2]]
    total = flambeau.zeros((), dtype=p.dtype)
    for i in range(3):
        total = total + doubled(q[i], r[0, i])
    return total


def written(p: Tensor, r: Tensor, at: Tensor) -> Tensor:
    q = (p * 1.0)[at]
    for i in range(r.shape[0]):
        q[i] = doubled(q[i], r[i])
    return (q * q).sum()


P, R = (flambeau.tensor(np.random.default_rng(n).standard_normal((s, 3))) for n, s in ((0, 4), (1, 6)))
AT = flambeau.tensor([0, 1, 2, 0, 1, 2])
WAYS: list[Callable[[Any], Any]] = [
    lambda f: grad(f)(P, R, AT),
    lambda f: jacfwd(f)(P, R, AT),
    lambda f: vmap(grad(f), in_dims=(0, None, None))(P[None], R, AT)[0],
    lambda f: _by_tape(f),
]


def _by_tape(function: Any) -> Any:
    p = P.clone().requires_grad_()
    for _ in range(3):
        p.grad = None
        function(p, R, AT).backward()
    return p.grad


def _differences(function: Any) -> Any:
    h, wanted = 1e-6, np.zeros(P.shape)
    for k in np.ndindex(*P.shape):
        step = np.zeros(P.shape)
        step[k] = h
        after, before = (function(flambeau.tensor(P.numpy() + s), R, AT).item() for s in (step, -step))
        wanted[k] = (after - before) / (2 * h)
    return wanted


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@together("function", [rows, columns, masked, one_row, written], ids=lambda f: f.__name__)
def test_c14_gradients_of_items_before_calls(function: Any, backend: Any) -> None:
    wanted = _differences(function)
    scripted = flambeau.script(function, backend=backend)
    for number, way in enumerate(WAYS):
        if function is masked and number == 2:  # examples have as many as they have
            continue
        np.testing.assert_allclose(way(scripted).numpy(), wanted, rtol=1e-5, atol=1e-7, err_msg=f"way {number}")
