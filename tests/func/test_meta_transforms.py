"""Transforms of tensors without data: the sizes, dtypes and device of what PyTorch gives."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.util.trees import flatten


def total(x):  # type: ignore[no-untyped-def]
    return (x**3).sum()


def waves(x):  # type: ignore[no-untyped-def]
    return x.sin() * 2


CASES = {
    "grad": lambda lib, f, g, x: lib.func.grad(f)(x),
    "grad_and_value": lambda lib, f, g, x: lib.func.grad_and_value(f)(x),
    "hessian": lambda lib, f, g, x: lib.func.hessian(f)(x),
    "jacrev": lambda lib, f, g, x: lib.func.jacrev(g)(x),
    "jacfwd": lambda lib, f, g, x: lib.func.jacfwd(g)(x),
    "vjp": lambda lib, f, g, x: lib.func.vjp(g, x)[1](x),
    "jvp": lambda lib, f, g, x: lib.func.jvp(g, (x,), (x,)),
    "linearize": lambda lib, f, g, x: lib.func.linearize(g, x)[1](x),
    "vmap": lambda lib, f, g, x: lib.func.vmap(g)(x),
    "vmap of grad": lambda lib, f, g, x: lib.func.vmap(lib.func.grad(f))(lib.ones(2, 3, device="meta")),
    "autograd.grad": lambda lib, f, g, x: lib.autograd.grad(f(x.requires_grad_()), x),
    "functional.jacobian": lambda lib, f, g, x: lib.autograd.functional.jacobian(g, x),
    "functional.hessian": lambda lib, f, g, x: lib.autograd.functional.hessian(f, x),
}


def _described(found: Any, tensor: type) -> list[Any]:
    leaves = [found] if isinstance(found, tensor) else flatten(found)[0]
    return [(tuple(t.shape), t.dtype.__str__().rpartition(".")[2], str(t.device)) for t in leaves]


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scripted", [False, True], ids=["plain", "scripted"])
def test_results_are_described_as_pytorch_describes_them(name: str, scripted: bool) -> None:
    torch = pytest.importorskip("torch")
    run = CASES[name]
    f, g = (flambeau.script(total), flambeau.script(waves)) if scripted else (total, waves)
    for _ in range(2):
        found = run(flambeau, f, g, flambeau.ones(3, device="meta"))
        wanted = run(torch, total, waves, torch.ones(3, device="meta"))
        assert _described(found, flambeau.Tensor) == _described(wanted, torch.Tensor)
