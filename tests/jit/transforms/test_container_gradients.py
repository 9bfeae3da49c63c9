"""Gradients by tuples, lists and dictionaries of tensors, in programs and in archives."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.func import grad, value_and_grad
from flambeau.util.trees import flatten


class Layer(NamedTuple):
    w: Tensor
    b: Tensor


@flambeau.script
def loss(p: dict[str, Tensor], x: Tensor) -> Tensor:
    for _ in range(2):
        x = flambeau.tanh(x @ p["w"] + p["b"])
    return (x * x).mean()


@flambeau.script
def by_field(p: Layer, x: Tensor) -> Tensor:
    return loss({"w": p.w, "b": p.b}, x)


@flambeau.script
def named(p: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
    def at(p: dict[str, Tensor]) -> Tensor:
        return loss(p, x)

    for _ in range(3):
        value, g = value_and_grad(at)(p)
        p = {k: v - 0.1 * value * g[k] for k, v in p.items()}
    return p


@flambeau.script
def listed(p: list[Tensor], x: Tensor) -> list[Tensor]:
    for _ in range(3):
        g = grad(lambda p: loss({"w": p[0], "b": p[1]}, x))(p)
        p = [p[i] - 0.1 * g[i] for i in range(len(p))]
    return p


@flambeau.script
def fielded(p: Layer, x: Tensor) -> Layer:
    for _ in range(3):
        g, gx = grad(by_field, (0, 1))(p, x)
        p = Layer(p.w - 0.1 * g.w, p.b - 0.1 * g.b + gx.sum())
    return p


@flambeau.script
def nested(p: tuple[Tensor, tuple[Tensor, Tensor]], x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    for _ in range(3):
        value, (w, (b, _)) = value_and_grad(lambda p, x: by_field(Layer(p[0], p[1][0]), x))(p, x)
        p = (p[0] - 0.1 * w * value, (p[1][0] - 0.1 * b, p[1][1]))
    return p


R = np.random.default_rng(0).standard_normal
W, B, X = flambeau.tensor(R((3, 3))), flambeau.tensor(R(3)), flambeau.tensor(R((5, 3)))
CASES: list[tuple[Any, Any]] = [
    (named, {"w": W, "b": B}), (listed, [W, B]), (fielded, Layer(W, B)), (nested, (W, (B, B))),
]  # fmt: skip


@pytest.mark.parametrize(("function", "parameters"), CASES, ids=[f.name for f, _ in CASES])
def test_c15_gradients_by_containers(function: Any, parameters: Any) -> None:
    want = flatten(function.__wrapped__(parameters, X))[0]
    loaded = flambeau.jit.load(io.BytesIO(function.save_to_buffer()))
    for one in (function, function, function, loaded):
        for got, wanted in zip(flatten(one(parameters, X))[0], want, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-10)
    if available() and isinstance(parameters, tuple):
        assert function.explain(measure=False).is_native


def test_c13_what_is_no_container_of_tensors() -> None:
    @flambeau.script
    def counted(n: list[int], x: Tensor) -> Tensor:
        return x.sum() * n[0]

    with pytest.raises(RuntimeError, match=r"cannot be differentiated by 'n', a List\[int\]: gradients are of tensors"):

        @flambeau.script
        def wrong(x: Tensor) -> Tensor:
            return grad(counted)([1], x)
