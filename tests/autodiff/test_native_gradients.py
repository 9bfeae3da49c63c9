"""Gradients of functions of matrices, in loops, are native from end to end, and those of the tape."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.executor.options import Options
from flambeau.func import grad

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
SOURCE = """
def f(A: Tensor, b: Tensor) -> Tensor:
    s = flambeau.zeros([], dtype=A.dtype)
    for t in range(4):
        M = A @ A.T + flambeau.eye(A.size(0), dtype=A.dtype) * (1.0 + float(t))
        s = s + {}
        A = A * 0.9
    return s
"""
TERMS = (
    "flambeau.linalg.inv(M).sum()", "flambeau.logdet(M)", "flambeau.linalg.solve(M, b) @ b",
    "flambeau.linalg.cholesky(M).sin().sum()",
    "flambeau.linalg.solve_triangular(flambeau.linalg.cholesky(M), b.unsqueeze(1), upper=False).sum()",
    "M.trace() ** 2", 'flambeau.einsum("ij,jk,k->i", M, A, b).sum()', 'flambeau.einsum("ii,i->", M, b)',
    "M.sum().unsqueeze(0).expand([3]).sum()", "A.movedim(0, 1).sin().sum()",
)  # fmt: skip


@pytest.mark.parametrize("term", TERMS)
def test_gradients_of_matrices(term: str) -> None:
    function = flambeau.CompilationUnit(SOURCE.format(term)).f
    rng = np.random.default_rng(2)
    for size in (3, 4, 3):
        arguments = [flambeau.from_numpy(rng.normal(size=sizes)) for sizes in ((size, size), (size,))]
        asking = [a.clone().requires_grad_() for a in arguments]
        function.with_options(Options(backend="reference"))(*asking).backward()
        compiled = grad(function, (0, 1))
        for _ in range(3):
            found = compiled(*arguments)
        for one, other in zip(found, asking, strict=True):
            want = np.zeros(one.shape) if other.grad is None else other.grad.numpy()
            np.testing.assert_allclose(one.numpy(), want, rtol=1e-8, atol=1e-10)
    if "ii," not in term:
        assert compiled.explain().is_native


def test_second_derivatives_of_a_recurrence_of_stacked_numbers() -> None:
    def swing(x: Tensor) -> Tensor:
        for _ in range(5):
            x = x + 0.1 * flambeau.stack([x[1], -flambeau.sin(x[0])])
        return (x * x).sum()

    scripted = flambeau.script(swing)

    def slope(x: Tensor) -> Tensor:
        return (grad(scripted)(x) * flambeau.arange(1.0, 3.0, dtype=flambeau.float64)).sum()

    def plain(x: Tensor) -> Tensor:
        return (grad(swing)(x) * flambeau.arange(1.0, 3.0, dtype=flambeau.float64)).sum()

    second = grad(flambeau.script(slope))
    x = flambeau.tensor([0.3, -0.7], dtype=flambeau.float64)
    np.testing.assert_allclose(second(x).numpy(), grad(plain)(x).numpy(), rtol=1e-12)
    assert not any(node.op == "prim::Gradient" for node in second.graph_for(x).all_nodes())
