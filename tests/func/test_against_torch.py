"""Transforms of functions, nested in every order, beside those of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.trees import flatten

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
torch_func = pytest.importorskip("torch.func", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning:torch")
draw = np.random.default_rng(3)
A, B = draw.normal(size=(4, 3)), draw.normal(size=3)
Z = draw.normal(size=3) + 1j * draw.normal(size=3)
ROWS = draw.normal(size=(5, 3))
OURS = SimpleNamespace(F=flambeau.func, lib=flambeau, nn=flambeau.nn.functional)
THEIRS = SimpleNamespace(F=torch_func, lib=torch, nn=torch.nn.functional)
Case = Callable[..., Any]


def layer(p: Any, a: Any, x: Any) -> Any:
    return p.lib.tanh(a @ x).softmax(0)


def energy(p: Any, a: Any, x: Any) -> Any:
    return (p.lib.tanh(a @ x) ** 2).sum() * x.prod()


def cross(p: Any, w: Any, x: Any) -> Any:
    return p.nn.cross_entropy((x @ w["w"].t() + w["b"]).unsqueeze(0), p.lib.ones(1, dtype=p.lib.int64))


def over(p: Any, a: Any, f: Case = energy) -> Callable[[Any], Any]:
    return lambda x: f(p, a, x)


def written(p: Any, x: Any) -> Any:
    y = x * 1
    y[0] = x[1] * x[2]
    y[1:].mul_(x[0])
    return y * x


CASES: dict[str, Case] = {
    "grad": lambda p, a, x: p.F.grad(over(p, a))(x),
    "grad of both": lambda p, a, x: p.F.grad(lambda a, x: energy(p, a, x), (0, 1))(a, x),
    "grad, counted from the end": lambda p, a, x: p.F.grad(lambda a, x: energy(p, a, x), -1)(a, x),
    "grad with aux": lambda p, a, x: p.F.grad(lambda x: (energy(p, a, x), {"x": x * 2}), has_aux=True)(x),
    "grad and value": lambda p, a, x: p.F.grad_and_value(over(p, a))(x),
    "grad of a dictionary": lambda p, a, x: p.F.grad(lambda w: cross(p, w, x))({"w": a, "b": a[:, 0] * 2}),
    "vjp": lambda p, a, x: p.F.vjp(lambda a, x: layer(p, a, x), a, x)[1](a[:, 1]),
    "vjp of a tuple": lambda p, a, x: p.F.vjp(lambda x: (x * 2, [x.sin()]), x)[1]((x, [x * x])),
    "jvp": lambda p, a, x: p.F.jvp(lambda a, x: layer(p, a, x), (a, x), (a * 2, x.sin())),
    "jvp in place": lambda p, a, x: p.F.jvp(lambda x: written(p, x), (x,), (x.sin(),)),
    "jacrev": lambda p, a, x: p.F.jacrev(lambda a, x: layer(p, a, x), (0, 1))(a, x),
    "jacrev in chunks": lambda p, a, x: p.F.jacrev(lambda a, x: layer(p, a, x), 1, chunk_size=3)(a, x),
    "jacrev in place": lambda p, a, x: p.F.jacrev(lambda x: written(p, x))(x),
    "jacrev of a tuple": lambda p, a, x: p.F.jacrev(lambda x: (x.sin(), {"s": x.sum()}))(x),
    "jacrev with aux": lambda p, a, x: p.F.jacrev(lambda x: (x.sin(), x * 2), has_aux=True)(x),
    "jacfwd": lambda p, a, x: p.F.jacfwd(lambda a, x: layer(p, a, x), (0, 1))(a, x),
    "jacfwd in place": lambda p, a, x: p.F.jacfwd(lambda x: written(p, x))(x),
    "jacfwd with aux": lambda p, a, x: p.F.jacfwd(lambda x: (x.sin(), x.sum()), has_aux=True)(x),
    "hessian": lambda p, a, x: p.F.hessian(lambda a, x: energy(p, a, x), (0, 1))(a, x),
    "reverse over reverse": lambda p, a, x: p.F.jacrev(p.F.jacrev(over(p, a)))(x),
    "reverse over forward": lambda p, a, x: p.F.jacrev(p.F.jacfwd(over(p, a)))(x),
    "forward over forward": lambda p, a, x: p.F.jacfwd(p.F.jacfwd(over(p, a)))(x),
    "third derivatives": lambda p, a, x: p.F.jacfwd(p.F.jacrev(p.F.jacfwd(over(p, a))))(x),
    "jvp of jvp": lambda p, a, x: p.F.jvp(lambda y: p.F.jvp(lambda z: z**3 * y, (y,), (x,))[1], (x,), (x * 2,)),
    "jvp of grad": lambda p, a, x: p.F.jvp(p.F.grad(over(p, a)), (x,), (x.cos(),)),
    "grad of jvp": lambda p, a, x: p.F.grad(lambda y: p.F.jvp(over(p, a), (y,), (x * y,))[1])(x),
    "grad of grad": lambda p, a, x: p.F.grad(lambda y: (p.F.grad(lambda z: (z**3 * y).sum())(y) * y).sum())(x),
    "linearize": lambda p, a, x: p.F.linearize(lambda x: layer(p, a, x), x)[1](x.cos()),
    "Laplacian": lambda p, a, x: p.F.hessian(over(p, a))(x).diagonal().sum(),
}
BATCHED: dict[str, Case] = {
    "vmap": lambda p, a, r: p.F.vmap(lambda x: layer(p, a, x))(r),
    "vmap of grad": lambda p, a, r: p.F.vmap(p.F.grad(lambda a, x: energy(p, a, x), (0, 1)), (None, 0))(a, r),
    "vmap of grad of a dictionary": lambda p, a, r: p.F.vmap(p.F.grad(lambda w, x: cross(p, w, x)), (None, 0))(
        {"w": a, "b": a[:, 0] * 2}, r
    ),
    "vmap of jvp": lambda p, a, r: p.F.vmap(lambda x: p.F.jvp(over(p, a), (x,), (x * 2,)))(r),
    "vmap of hessian": lambda p, a, r: p.F.vmap(p.F.hessian(over(p, a)))(r),
    "vmap of jacfwd": lambda p, a, r: p.F.vmap(p.F.jacfwd(lambda x: layer(p, a, x)))(r),
    "vmap of vmap": lambda p, a, r: p.F.vmap(lambda x: p.F.vmap(lambda y: (x @ y, a @ y))(r))(r),
    "vmap of vmap of grad": lambda p, a, r: p.F.vmap(lambda x: p.F.vmap(p.F.grad(lambda y: (x @ y) ** 2 * x.sum()))(r))(
        r
    ),
    "grad of vmap": lambda p, a, r: p.F.grad(lambda a: p.F.vmap(lambda a, x: energy(p, a, x), (None, 0))(a, r).sum())(
        a
    ),
    "grad of vmap of grad": lambda p, a, r: p.F.grad(
        lambda a: (p.F.vmap(p.F.grad(lambda x: energy(p, a, x)))(r) ** 2).sum()
    )(a),
    "jvp of vmap": lambda p, a, r: p.F.jvp(p.F.vmap(lambda x: layer(p, a, x)), (r,), (r.sin(),)),
    "jacrev of vmap": lambda p, a, r: p.F.jacrev(p.F.vmap(over(p, a)))(r),
    "vmap along columns": lambda p, a, r: p.F.vmap(lambda x: x.cumsum(0), in_dims=1, out_dims=1)(r),
    "vmap in place": lambda p, a, r: p.F.vmap(lambda x: written(p, x))(r * 1),
    "vmap of grad in place": lambda p, a, r: p.F.vmap(p.F.grad(lambda x: written(p, x).sum()))(r),
}
COMPLEX: dict[str, Case] = {
    "grad": lambda p, z: p.F.grad(lambda z: (z * z.exp()).real.sum())(z),
    "jvp": lambda p, z: p.F.jvp(lambda z: (z.abs(), z.exp() * z.conj(), z.real), (z,), (z * 1j,)),
    "vjp": lambda p, z: p.F.vjp(lambda z: z.exp() * z.conj(), z)[1](z * 2),
    "vmap of grad": lambda p, z: p.F.vmap(p.F.grad(lambda z: (z * z).abs()))(z),
}


def _agree(case: Case, *arrays: Any) -> None:
    ours = flatten(case(OURS, *[flambeau.tensor(a) for a in arrays]))[0]
    theirs = flatten(case(THEIRS, *[torch.tensor(a) for a in arrays]))[0]
    assert len(ours) == len(theirs)
    for got, want in zip(ours, theirs, strict=True):
        assert tuple(got.shape) == tuple(want.shape)
        assert not got.requires_grad
        np.testing.assert_allclose(got.numpy(), want.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_of_one_example(name: str) -> None:
    _agree(CASES[name], A, B)


@pytest.mark.parametrize("name", BATCHED)
def test_of_batches(name: str) -> None:
    _agree(BATCHED[name], A, ROWS)


@pytest.mark.parametrize("name", COMPLEX)
def test_of_complex_numbers(name: str) -> None:
    _agree(COMPLEX[name], Z)
