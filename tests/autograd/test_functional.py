"""`autograd.functional` and `autograd.forward_ad`, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.trees import flatten

m = flambeau
torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
torch_functional = pytest.importorskip("torch.autograd.functional", reason="torch is a peer, not a dependency")
OURS = SimpleNamespace(F=m.autograd.functional, lib=m)
THEIRS = SimpleNamespace(F=torch_functional, lib=torch)
X, Y = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])
FORWARD = {"vectorize": True, "strategy": "forward-mode"}
Case = Callable[..., Any]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning:torch")


def cubes(x: Any) -> Any:
    return (x**3).sum()


def products(x: Any, y: Any) -> Any:
    return x * y, (x * x).sum()


CASES: dict[str, Case] = {
    "jacobian": lambda p, x, y: p.F.jacobian(lambda x: x.sin() * x.sum(), x),
    "jacobian of several": lambda p, x, y: p.F.jacobian(products, (x, y)),
    "jacobian vectorised": lambda p, x, y: p.F.jacobian(products, (x, y), vectorize=True),
    "jacobian forward": lambda p, x, y: p.F.jacobian(products, (x, y), **FORWARD),
    "hessian": lambda p, x, y: p.F.hessian(cubes, x),
    "hessian of several": lambda p, x, y: p.F.hessian(lambda x, y: (x * y * y).sum(), (x, y), vectorize=True),
    "hessian forward": lambda p, x, y: p.F.hessian(cubes, x, vectorize=True, outer_jacobian_strategy="forward-mode"),
    "vjp": lambda p, x, y: p.F.vjp(products, (x, y), (y, x.sum())),
    "vjp of a number": lambda p, x, y: p.F.vjp(cubes, x),
    "jvp": lambda p, x, y: p.F.jvp(products, (x, y), (y, x)),
    "vhp": lambda p, x, y: p.F.vhp(lambda x, y: (x * y * y).sum(), (x, y), (y, x)),
    "hvp": lambda p, x, y: p.F.hvp(cubes, x, y),
    "hvp of what is linear": lambda p, x, y: p.F.hvp(lambda x: x.sum(), x, y),
    "vhp differentiated": lambda p, x, y: _differentiated(p, lambda x: p.F.vhp(cubes, x, y, create_graph=True)[1], x),
    "jvp differentiated": lambda p, x, y: _differentiated(
        p, lambda x: p.F.jvp(lambda x: x**3, x, y, create_graph=True)[1], x
    ),
    "jacobian differentiated": lambda p, x, y: _differentiated(
        p, lambda x: p.F.jacobian(lambda x: x**3, x, create_graph=True), x
    ),
}


def _differentiated(p: Any, function: Case, x: Any) -> Any:
    x = x.clone().requires_grad_()
    return p.lib.autograd.grad(function(x).sum(), x)


@pytest.mark.parametrize("name", CASES)
def test_against_torch(name: str) -> None:
    ours = flatten(CASES[name](OURS, m.tensor(X), m.tensor(Y)))[0]
    theirs = flatten(CASES[name](THEIRS, torch.tensor(X), torch.tensor(Y)))[0]
    assert len(ours) == len(theirs)
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-12)


REFUSED: dict[str, Case] = {
    "strategy": lambda p, x: p.F.jacobian(cubes, x, strategy="x"),
    "strict forward": lambda p, x: p.F.jacobian(cubes, x, strict=True, **FORWARD),
    "forward graph": lambda p, x: p.F.jacobian(cubes, x, create_graph=True, **FORWARD),
    "strict vectors": lambda p, x: p.F.jacobian(cubes, x, strict=True, vectorize=True),
    "output": lambda p, x: p.F.jacobian(lambda x: 1, x),
    "input": lambda p, x: p.F.jacobian(cubes, 1.0),
    "integers": lambda p, x: p.F.jacobian(cubes, x.long()),
    "strict constant": lambda p, x: p.F.jacobian(lambda x: p.lib.ones(2), x, strict=True),
    "strict unused": lambda p, x: p.F.jacobian(lambda x, y: x * 2, (x, x), strict=True),
    "strict linear": lambda p, x: p.F.jacobian(lambda x: x * 2, x, strict=True, create_graph=True),
    "hessian of a vector": lambda p, x: p.F.hessian(lambda x: x * x, x),
    "hessian of a tuple": lambda p, x: p.F.hessian(lambda x: (x.sum(), x.sum()), x),
    "hessian strict": lambda p, x: p.F.hessian(lambda x: x.sum(), x, strict=True),
    "hessian strict constant": lambda p, x: p.F.hessian(lambda x: p.lib.ones(()), x, strict=True),
    "vjp without": lambda p, x: p.F.vjp(lambda x: x * x, x),
    "vjp size": lambda p, x: p.F.vjp(lambda x: x * x, x, x[:2]),
    "vjp several": lambda p, x: p.F.vjp(lambda x: x * x, x, (x, x)),
    "jvp without": lambda p, x: p.F.jvp(lambda x: x * x, x),
    "jvp size": lambda p, x: p.F.jvp(lambda x: x * x, x, x[:2]),
    "jvp strict": lambda p, x: p.F.jvp(lambda x: x * 2, x, x, strict=True, create_graph=True),
    "vhp strict": lambda p, x: p.F.vhp(lambda x: x.sum(), x, x, strict=True),
    "vhp vector": lambda p, x: p.F.vhp(lambda x: x * x, x, x),
    "hvp strict": lambda p, x: p.F.hvp(lambda x: x.sum(), x, x, strict=True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_torchs(name: str) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  (compared below)
        REFUSED[name](THEIRS, torch.tensor(X))
    with pytest.raises(type(expected.value)) as error:
        REFUSED[name](OURS, m.tensor(X))
    assert str(error.value).replace("flambeau.", "torch.") == str(expected.value)


def test_batches_of_gradients() -> None:
    x = m.tensor(X, requires_grad=True)
    unused = m.tensor(Y, requires_grad=True)
    rows, nothing = m.autograd.grad(
        x**2, [x, unused], m.eye(3, dtype=m.float64), is_grads_batched=True, allow_unused=True
    )
    assert rows is not None
    assert rows.tolist() == np.diag(2 * X).tolist()
    assert nothing is None
    (rows,) = m.autograd.grad(x**3, x, m.eye(3, dtype=m.float64), is_grads_batched=True, create_graph=True)
    assert rows is not None
    assert m.autograd.grad(rows.sum(), x)[0].tolist() == (6 * X).tolist()  # type: ignore[union-attr]


class TestDualLevel:
    def test_tangents(self) -> None:
        ad = m.autograd.forward_ad
        with ad.dual_level():
            x = ad.make_dual(m.tensor(X), m.tensor(Y))
            y = x.sin()
            primal, tangent = ad.unpack_dual(y)
            assert ad.unpack_dual(m.tensor(X)).tangent is None
        np.testing.assert_allclose(primal.numpy(), np.sin(X))
        assert tangent is not None
        np.testing.assert_allclose(tangent.numpy(), np.cos(X) * Y)
        assert (type(y), ad.unpack_dual(y).tangent) == (m.Tensor, None)
        np.testing.assert_allclose((y * 2).numpy(), 2 * np.sin(X))

    def test_with_the_tape(self) -> None:
        ad = m.autograd.forward_ad
        x = m.tensor(X, requires_grad=True)
        with ad.dual_level():
            tangent = ad.unpack_dual(ad.make_dual(x, m.tensor(Y)) ** 2).tangent
            assert tangent is not None
            (gradient,) = m.autograd.grad(tangent.sum(), x)
        assert gradient is not None
        assert gradient.tolist() == (2 * Y).tolist()

    def test_refusals(self) -> None:
        ad = m.autograd.forward_ad
        x = m.tensor(X)
        with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
            ad.make_dual(x, x)
        with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
            ad.exit_dual_level()
        with ad.dual_level():
            with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
                ad.enter_dual_level()
            with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
                ad.make_dual(x.long(), x)
            with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
                ad.make_dual(x, x.long())
            with pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
                ad.make_dual(x, x[:1])


def test_what_does_not_depend_lies_in_memory_of_its_own() -> None:
    x, y = flambeau.ones(2), flambeau.ones(2)
    ((inner, _), _) = flambeau.autograd.functional.hessian(lambda x, y: (x * y).sum(), (x, y), vectorize=True)
    inner[0, 0] = 3.0
    assert inner.tolist() == [[3.0, 0.0], [0.0, 0.0]]
