"""Derivatives by one argument of derivatives by another: each transform is closed over what the next one goes by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.func import grad, jacfwd, jacrev, jvp, vjp, vmap
from tests.together import together

Function = Callable[[Any, Any], Any]
TABLE = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=flambeau.float64)


def _written(q: Any, v: Any) -> Any:
    y = v * flambeau.ones_like(q)
    y.mul_(q)
    y[0] = q[1] * v[0] * v[1]
    return (y * v).sum()


class Cube(flambeau.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 3 * ctx.saved_tensors[0] ** 2


FUNCTIONS: dict[str, Function] = {
    "product": lambda q, v: (v * q).sum(),
    "square": lambda q, v: (v * v * q).sum(),
    "copy": lambda q, v: (v.clone() * q).sum(),
    "several results": lambda q, v: (flambeau.stack(list((v * 2).unbind())) * q.exp()).sum(),
    "matrix": lambda q, v: ((v @ TABLE).tanh() * q).sum(),
    "cumulated": lambda q, v: (v.cumsum(0) * q.sin()).sum(),
    "through a view": lambda q, v: ((v * 3).reshape(2, 1)[:, 0] * q).sum(),
    "Lagrangian": lambda q, v: v[0] ** 2 + v[0] * v[1] * (q[0] - q[1]).cos() + (q**3).sum(),
    "written in place": _written,
    "decomposed": lambda q, v: (flambeau.softmax(v, 0) * q).sum() + flambeau.nn.functional.mse_loss(v * v, q),
    "of its own": lambda q, v: (Cube.apply(v) * q).sum(),
}
Q, V = (flambeau.tensor(x, dtype=flambeau.float64) for x in ([0.3, 0.5], [0.7, -0.2]))


def _wanted(f: Function) -> np.ndarray[Any, Any]:
    """The derivatives by `q` of the gradient by `v`, by differences of tapes."""

    def slope(q: Any) -> Any:
        v = V.clone().requires_grad_()
        (result,) = flambeau.autograd.grad(f(q, v), v)
        return result.numpy()

    h = 1e-6
    steps = flambeau.eye(2, dtype=flambeau.float64) * h
    return np.stack([(slope(Q + step) - slope(Q - step)) / (2 * h) for step in steps], axis=1)


def _by_products(f: Function) -> Any:
    columns = [jvp(lambda q: grad(f, argnums=1)(q, V), (Q,), (unit,))[1] for unit in flambeau.eye(2, dtype=V.dtype)]
    return flambeau.stack(columns, 1)


def _by_pullback(f: Function) -> Any:
    def slope(q: Any) -> Any:
        value, pull = vjp(lambda v: f(q, v), V)
        return pull(flambeau.ones_like(value))[0]

    return jacfwd(slope)(Q)


WAYS: list[Callable[[Function], Any]] = [
    lambda f: jacfwd(grad(f, argnums=1), argnums=0)(Q, V),
    lambda f: jacrev(grad(f, argnums=1), argnums=0)(Q, V),
    lambda f: jacfwd(jacrev(f, argnums=1), argnums=0)(Q, V),
    lambda f: jacrev(jacfwd(f, argnums=1), argnums=0)(Q, V),
    lambda f: jacfwd(jacfwd(f, argnums=1), argnums=0)(Q, V),
    lambda f: vmap(lambda q: jacfwd(grad(f, argnums=1), argnums=0)(q, V))(Q[None])[0],
    _by_products,
    _by_pullback,
]


@together("name", FUNCTIONS)
def test_c20_derivatives_by_two_arguments(name: str) -> None:
    f = FUNCTIONS[name]
    wanted = _wanted(f)
    for number, way in enumerate(WAYS):
        if name == "of its own" and number in (3, 4):  # goes back alone
            continue
        np.testing.assert_allclose(way(f).numpy(), wanted, rtol=1e-6, atol=1e-8, err_msg=f"way {number}")


def test_c20_derivatives_by_two_arguments_of_a_program() -> None:
    @flambeau.script
    def energy(q: flambeau.Tensor, v: flambeau.Tensor) -> flambeau.Tensor:
        return v[0] ** 2 + v[0] * v[1] * (q[0] - q[1]).cos() + (q**3).sum()

    wanted = _wanted(energy)
    for way in WAYS:
        np.testing.assert_allclose(way(energy).numpy(), wanted, rtol=1e-6, atol=1e-8)


def test_c20_what_depends_on_neither_has_no_derivative() -> None:
    result = jvp(lambda q: grad(lambda v: (v.clone() * 2).sum())(V), (Q,), (V,))
    assert result[1].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="strict"):
        jvp(lambda q: grad(lambda v: (v.clone() * 2).sum())(V), (Q,), (V,), strict=True)
