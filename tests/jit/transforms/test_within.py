"""Scripted functions that go by elements, called from Python functions that are transformed."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, jacfwd, jacrev, jvp, vjp, vmap

X = flambeau.tensor([0.3, 0.5, 0.7]).double()
BASIS = flambeau.eye(3).double()


@flambeau.script
def scaled(x: Tensor) -> Tensor:
    return x * float(x[0])


@flambeau.script
def settled(x: Tensor, rate: float = 0.5) -> Tensor:
    while bool(x.sum() > 1.0):
        x = x * rate
    return x.sin()


JACOBIAN = np.diag([0.6, 0.3, 0.3])
JACOBIAN[1:, 0] = [0.5, 0.7]


def test_c15_a_call_goes_through_numbers() -> None:
    for got in (jacrev(lambda x: scaled(x) * 1.0)(X), jacfwd(lambda x: scaled(x) + 0.0)(X)):
        np.testing.assert_allclose(got.numpy(), JACOBIAN)
    value, tangent = jvp(lambda x: scaled(x).sum(), (X,), (BASIS[0],))
    np.testing.assert_allclose([value.item(), tangent.item()], [0.45, 1.8])
    each = vmap(lambda x: grad(lambda y: scaled(y).sum())(x) * 1.0)(flambeau.stack([X, X]))
    np.testing.assert_allclose(each.numpy(), [JACOBIAN.sum(0)] * 2)


def test_c15_each_example_takes_its_own_way() -> None:
    rows = flambeau.stack([X, X * 4, -X])
    got = vmap(lambda x: settled(x, 0.25) * 2.0)(rows)
    np.testing.assert_allclose(got.numpy(), [(settled(row, 0.25) * 2.0).numpy() for row in rows])
    by_rows = grad(lambda x: vmap(settled)(x).sum())(rows)
    each = [grad(lambda x: settled(x).sum())(row).numpy() for row in rows]
    np.testing.assert_allclose(by_rows.numpy(), each)


def test_c15_cotangents_in_batches() -> None:
    _, pull = vjp(scaled, X)
    np.testing.assert_allclose(vmap(pull)(BASIS)[0].numpy(), JACOBIAN)
    leaf = X.clone().requires_grad_()
    [rows] = flambeau.autograd.grad(scaled(leaf), leaf, BASIS, is_grads_batched=True)
    np.testing.assert_allclose(rows.numpy(), JACOBIAN)


def test_c15_what_prints_runs_an_operator_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    unit = flambeau.CompilationUnit("def f(x: Tensor) -> Tensor:\n  print('seen')\n  return x * 2")
    assert vmap(lambda x: unit.f(x))(BASIS).tolist() == (BASIS * 2).tolist()
    assert capsys.readouterr().out.count("seen") == 1
