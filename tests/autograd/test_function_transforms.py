"""Custom functions within transforms: their own `backward`, `vmap` and `jvp` count, however transforms nest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.autograd import Function
from flambeau.func import grad, jacrev, jvp, vmap

X = flambeau.tensor([1.0, 2.0, 3.0])


class Scaled(Function):
    """x * y, with a gradient ten times as large, so that it shows."""

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y, x + y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.total = output[1]

    @staticmethod
    def backward(ctx: Any, one: Any, other: Any) -> Any:
        x, y = ctx.saved_tensors
        assert ctx.total.shape == x.shape
        return 10 * one * y + other, 10 * one * x + other

    @staticmethod
    def jvp(ctx: Any, along_x: Any, along_y: Any) -> Any:
        x, y = ctx.saved_tensors
        return 100 * (along_x * y + along_y * x), along_x


def product(x: Any, y: Any) -> Any:
    return Scaled.apply(x, y)[0]


def test_c15_gradients_go_back_through_backward_in_any_order() -> None:
    y = flambeau.tensor(2.0)
    each = vmap(grad(product), in_dims=(0, None))(X, y)
    assert each.tolist() == [20.0, 20.0, 20.0]
    by_x, by_y = grad(lambda x, y: vmap(product, in_dims=(0, None))(x, y).sum(), (0, 1))(X, y)
    assert by_x.tolist() == [20.0, 20.0, 20.0]
    assert by_y.item() == 60.0
    leaf = X.clone().requires_grad_()
    vmap(product)(leaf, X).sum().backward()
    assert leaf.grad.tolist() == [10.0, 20.0, 30.0]
    second = grad(lambda y: vmap(grad(product), in_dims=(0, None))(X, y).sum())(y)
    assert second.item() == 30.0
    assert jacrev(product)(X, X).tolist() == np.diag([10.0, 20.0, 30.0]).tolist()


def test_c15_tangents_are_those_of_jvp() -> None:
    value, tangent = jvp(product, (X, X), (flambeau.ones(3), flambeau.zeros(3)))
    assert (value.tolist(), tangent.tolist()) == ([1.0, 4.0, 9.0], [100.0, 200.0, 300.0])
    nested = vmap(lambda x: jvp(lambda z: product(z, x), (x,), (x,))[1])(X)
    assert nested.tolist() == [100.0, 400.0, 900.0]


class InNumPy(Function):
    """What operators do not see: a batch has a rule of its own."""

    seen: tuple[Any, ...] = ()

    @staticmethod
    def forward(ctx: Any, x: Any, n: int) -> Any:
        ctx.save_for_backward(x)
        ctx.n = n
        return flambeau.from_numpy(x.detach().numpy() ** n)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * ctx.n * x ** (ctx.n - 1), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, n: int) -> Any:
        InNumPy.seen = (info.batch_size, info.randomness, in_dims, n)
        return InNumPy.apply(x.movedim(in_dims[0], -1), n), -1


def test_c15_a_rule_for_batches() -> None:
    rows = flambeau.arange(6.0).reshape(3, 2)
    cubes = vmap(lambda row: InNumPy.apply(row, 3), randomness="same")(rows)
    assert cubes.tolist() == (rows**3).tolist()
    assert InNumPy.seen == (3, "same", (0, None), 3)
    assert grad(lambda r: vmap(lambda row: InNumPy.apply(row, 2))(r).sum())(rows).tolist() == (rows * 2).tolist()
    nested = vmap(vmap(lambda x: InNumPy.apply(x, 2)))(rows)
    assert nested.tolist() == (rows**2).tolist()


def _changed(**members: Any) -> Any:
    return type("Changed", (InNumPy,), members)


def _refused(cls: Any, call: Any) -> str:
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        call(lambda x: cls.apply(x, 2))
    return str(caught.value)


def test_c13_what_transforms_cannot_do_is_refused() -> None:
    both = _changed(generate_vmap_rule=True)
    assert "has both generate_vmap_rule=True and an overridden vmap" in _refused(both, lambda f: vmap(f)(X))
    lone = _changed(vmap=staticmethod(lambda info, in_dims, x, n: x))
    assert "to return a tuple of two: (output, out_dims)" in _refused(lone, lambda f: vmap(f)(X))
    assert "You must implement the jvp function" in _refused(InNumPy, lambda f: jvp(f, (X,), (X,)))
    leaf = X.clone().requires_grad_()
    assert "it must override the setup_context staticmethod" in _refused(InNumPy, lambda f: vmap(grad(f))(leaf))
