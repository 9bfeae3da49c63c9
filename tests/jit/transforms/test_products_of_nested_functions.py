"""Products of derivatives, in programs, of functions that the program defines: they read what is around them."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, hvp, jvp, linearize, vjp

X = flambeau.tensor([0.3, -1.2, 2.0, 0.5], dtype=flambeau.float64)
V = flambeau.tensor([1.0, 0.5, -2.0, 0.25], dtype=flambeau.float64)


@flambeau.script
def products(x: Tensor, v: Tensor, k: float) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    def wave(x: Tensor) -> Tensor:
        return flambeau.sin(k * x) * x.sum()

    value, tangent = jvp(wave, (x,), (v,))
    _, curvature = hvp(lambda x: wave(x).sum(), (x,), (v,))
    _, other = jvp(grad(lambda x: wave(x).sum()), (x,), (v,))
    _, pull = vjp(lambda x: wave(x), x)
    _, push = linearize(wave, x)
    k = 100.0  # what was differentiated has read it already
    return value, tangent, curvature, other, pull(v)[0], push(v)


@flambeau.script
def by_two(x: Tensor, y: Tensor, scale: Tensor) -> Tensor:
    def product(x: Tensor, y: Tensor, k: float = 2.0) -> Tensor:
        return (x * y * scale).sum() * k

    return jvp(product, (x, y), (y, x))[1] + hvp(product, (x, y), (y, x))[1][0].sum()


def test_c15_products_of_nested_functions() -> None:
    wave = lambda x: flambeau.sin(2.0 * x) * x.sum()  # noqa: E731
    value, tangent = jvp(wave, (X,), (V,))
    curvature = hvp(lambda x: wave(x).sum(), (X,), (V,))[1]
    want = (value, tangent, curvature, curvature, vjp(wave, X)[1](V)[0], tangent)
    for _ in range(3):
        for got, wanted in zip(products(X, V, 2.0), want, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-12)
    np.testing.assert_allclose(by_two(X, V, X).item(), by_two.__wrapped__(X, V, X).item(), rtol=1e-12)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("jvp(lambda x: x, x, v)", "jvp() takes its primals as a tuple"),
        ("jvp(lambda x, y: x * y, (x,), (v,))", "lambda_() is missing the argument 'y'"),
        ("vjp(lambda x: x, x)[1](v, v)", "lambda__vjp() takes 1 arguments here, one for each result or primal, but 2"),
        ("hvp(3, (x,), (v,))", "hvp() takes a function in programs, by its name"),
        ("jvp(lambda x: 3, (x,), (v,))", "jvp() of lambda_() needs results that are tensors"),
    ],
)
def test_c13_what_products_of_nested_functions_refuse(body: str, message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        exec(f"unit = flambeau.CompilationUnit('def main(x: Tensor, v: Tensor): return {body}')", dict(globals()))
    assert message in str(caught.value)
