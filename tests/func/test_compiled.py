"""Traces of transforms: what they compute is a graph, and native."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.func import grad, hessian, hvp, jacfwd, jacrev, vmap

m = flambeau
X = m.linspace(-1.0, 1.0, 12).double()


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def pairs(x: Any) -> Any:
    return m.sin(x[1:]) * m.exp(-(x[:-1] ** 2)) * x.sum()


TRANSFORMED = {
    "grad": grad(rosenbrock),
    "hessian": hessian(rosenbrock),
    "jacrev": jacrev(pairs),
    "jacfwd": jacfwd(pairs),
    "hvp": lambda x: hvp(rosenbrock, (x,), (x * 2,))[1],
    "vmap of grad": lambda x: vmap(grad(lambda v: (v * x).sin().sum()))(x.reshape(12, 1)),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_trace_gives_the_same(name: str) -> None:
    function = TRANSFORMED[name]
    traced = m.trace(function, (X,), check_trace=False)
    for scale in (1.0, 0.5, 2.0):
        assert m.allclose(traced(X * scale), function(X * scale))


@pytest.mark.parametrize("name", ["hessian", "jacrev", "jacfwd"])
def test_a_trace_is_native(name: str) -> None:
    traced = m.trace(TRANSFORMED[name], (X,), check_trace=False)
    for _ in range(4):
        traced(X)
    assert "whole graph: native" in str(traced.explain())
