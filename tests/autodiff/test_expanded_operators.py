"""Operators that plans write as others: the same answers as eager calls, natively, and the operator where gradients are
asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


@flambeau.script
def triangles(x: flambeau.Tensor, d: int) -> tuple[flambeau.Tensor, flambeau.Tensor, flambeau.Tensor]:
    return flambeau.triu(x, d), flambeau.tril(x, 1), x.triu()


@pytest.mark.parametrize(
    "x",
    [
        np.arange(12.0).reshape(3, 4), np.full((3, 5), -np.inf, np.float32), np.full((2, 3, 3), np.nan),
        np.arange(24).reshape(2, 4, 3) + 1, np.ones((3, 3), np.bool_), np.zeros((0, 3)),
        np.arange(12, dtype=np.float32).reshape(4, 3).T,
    ],
)  # fmt: skip
def test_triangles_are_those_of_numpy(x: Any) -> None:
    tensor = flambeau.from_numpy(x)
    for d in (-9, -1, 0, 1, 7):
        for _ in range(4):
            found = triangles(tensor, d)
        for one, wanted in zip(found, (np.triu(x, d), np.tril(x, 1), np.triu(x)), strict=True):
            np.testing.assert_array_equal(one.numpy(), wanted)
            assert one.numpy().dtype == x.dtype
        assert found[0].stride() == tensor.triu(d).stride()
    assert triangles.explain(measure=False).is_native, str(triangles.explain(measure=False))


def test_triangles_of_a_vector_are_refused_in_the_operators_words() -> None:
    with pytest.raises(RuntimeError, match="triu: input tensor must have at least 2 dimensions"):
        triangles(flambeau.ones(3), 0)


def layer(norm_first: bool, gelu: bool) -> Any:
    names = [f"w{k}" for k in range(12)]
    head = f"def f(x: Tensor, {', '.join(f'{n}: Tensor' for n in names)}) -> Tensor:\n"
    call = f"x, 8, 2, {', '.join(names[:4])}, {gelu}, {norm_first}, 1e-5, {', '.join(names[4:])}, None, None"
    body = f"    return flambeau.ops.aten._transformer_encoder_layer_fwd({call})\n"
    return flambeau.jit.CompilationUnit(head + body).f


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_of_encoders_are_their_parts(norm_first: bool) -> None:
    rng = np.random.default_rng(1)
    shapes = [(24, 8), (24,), (8, 8), (8,), (8,), (8,), (8,), (8,), (12, 8), (12,), (8, 12), (8,)]
    weights = [flambeau.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in shapes]
    x = flambeau.from_numpy(rng.standard_normal((2, 5, 8)).astype(np.float32))
    function = layer(norm_first, norm_first)
    for _ in range(4):
        found = function(x, *weights)
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))
    operator = flambeau.ops.aten._transformer_encoder_layer_fwd
    arguments = (x, 8, 2, *weights[:4], norm_first, norm_first, 1e-5, *weights[4:], None, None)
    np.testing.assert_allclose(found.numpy(), operator(*arguments).numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError):
        function(x[:, :, :6], *weights)


def test_gradients_go_through_the_operator() -> None:
    x = flambeau.ones(3, 3, requires_grad=True)
    for _ in range(4):
        x.grad = None
        triangles(x, 1)[0].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.triu(np.ones((3, 3)), 1))


@flambeau.script
def shared(w: flambeau.Tensor, i: flambeau.Tensor, j: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.embedding(w, i) + flambeau.embedding(w, j)


def test_a_table_of_two_lookups_is_native() -> None:
    w, i, j = np.arange(35.0).reshape(7, 5), np.array([[1, 2], [0, 6]]), np.array([[3, 3], [5, 1]])
    for _ in range(4):
        found = shared(*map(flambeau.from_numpy, (w, i, j)))
    np.testing.assert_array_equal(found.numpy(), w[i] + w[j])
    assert shared.explain(measure=False).is_native
    with pytest.raises(IndexError, match="index out of range in self"):
        shared(*map(flambeau.from_numpy, (w, i, j + 5)))
