"""Scripted functions that go by elements, called from Python functions that are transformed."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from flambeau.jit.transforms import within
from flambeau.jit.transforms.outlines import names_of
from flambeau.util.record import replace

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


@flambeau.script
def stepped(x: Tensor, k: Tensor, steps: int = 3) -> Tensor:
    for _ in range(steps):
        x = x + 0.1 * flambeau.sin(x * k)
    return x


@flambeau.script
def counted(x: Tensor) -> tuple[Tensor, Tensor]:
    n = flambeau.zeros(1, dtype=flambeau.int64)
    for _ in range(4):
        x = x * x.cos()
        n = n + 1
    return x, n


TRANSFORMS = {
    "vmap": lambda f: vmap(lambda x: f(x, X) * 2.0),
    "vmap of grad": lambda f: vmap(grad(lambda x: f(x, X).sum())),
    "vmap of jacfwd": lambda f: vmap(jacfwd(lambda x: f(x, x) * 2.0)),
    "vmap of hessian": lambda f: vmap(hessian(lambda x: (f(x, X) ** 2).sum())),
    "grad of vmap": lambda f: grad(lambda rows: (vmap(lambda x: f(x, X))(rows) ** 2).sum()),
    "grad of grad": lambda f: grad(lambda rows: grad(lambda x: (f(x, X) ** 2).sum())(rows[0]).sum()),
    "jacrev": lambda f: lambda rows: jacrev(lambda x: f(x, rows[1]) + x)(rows[0]),
    "jacfwd": lambda f: lambda rows: jacfwd(lambda x: f(X, x) * x)(rows[2]),
    "jvp of grad": lambda f: lambda rows: jvp(grad(lambda x: f(x, X).sum()), (rows[0],), (rows[1],))[1],
    "vjp": lambda f: lambda rows: vjp(lambda x: f(x, X) * x, rows[0])[1](rows[1])[0],
    "vmap of a gradient": lambda f: vmap(lambda x: grad(lambda y: f(y, X, 2).sum())(x) * f(x, X)),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_call_with_loops_is_that_of_the_python_function(name: str) -> None:
    rows = flambeau.stack([X, X * 4, -X])
    want = TRANSFORMS[name](stepped.__wrapped__)(rows)
    for _ in range(2):
        np.testing.assert_allclose(TRANSFORMS[name](stepped)(rows).numpy(), want.numpy(), rtol=1e-10, atol=1e-12)


def test_a_call_with_loops_and_integers() -> None:
    rows = flambeau.stack([X, -X])
    value, count = vmap(lambda x: counted(x))(rows)
    np.testing.assert_allclose(value.numpy(), counted(rows)[0].numpy())
    assert count.tolist() == [[4], [4]]
    got = grad(lambda x: counted(x)[0].sum())(X)
    np.testing.assert_allclose(got.numpy(), grad(lambda x: counted.__wrapped__(x)[0].sum())(X).numpy())


def test_a_call_with_loops_is_one_of_its_own_program() -> None:
    vmap(grad(lambda x: stepped(x, X, 200).sum()))(flambeau.stack([X, -X]))
    known = within._calls.get(stepped.script_function)
    assert known is not None
    assert known.pull is not None
    known.pull(X, X, 200, X)
    assert known.pull.explain().is_native


class Stepping(flambeau.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = flambeau.nn.Module()
        self.scale.rate = flambeau.nn.Parameter(X)

    def forward(self, x: Tensor, steps: int) -> Tensor:
        for _ in range(steps):
            x = x + self.scale.rate * flambeau.sin(x)
        return x


def test_a_method_with_loops_takes_attributes_of_attributes() -> None:
    module = Stepping()
    scripted = flambeau.jit.script(module)
    rows = flambeau.stack([X, -X])
    for _ in range(3):
        got = vmap(grad(lambda x: scripted(x, 3).sum()))(rows).detach()
        np.testing.assert_allclose(got.numpy(), vmap(grad(lambda x: module(x, 3).sum()))(rows).detach().numpy())


def test_a_method_with_loops_runs_without_passes() -> None:
    module = Stepping()
    scripted = flambeau.jit.script(module)
    with flambeau.jit.optimized_execution(False):
        for _ in range(3):
            np.testing.assert_allclose(scripted(X, 3).detach().numpy(), module(X, 3).detach().numpy())


def test_parameters_that_no_text_can_name_have_numbers() -> None:
    schema = stepped.script_function.schema
    x, k, steps = schema.arguments
    schema = replace(schema, arguments=(x, replace(k, name="k.rate"), replace(steps, name="while")))
    assert names_of(schema, "_a") == ["x", "_a1", "_a2"]
