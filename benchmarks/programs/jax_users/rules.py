"""Gradients by rules of their own, products of derivatives by dicts, modules and dataclasses as arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flambeau
from benchmarks.programs.jax_users.examples import Script, example
from flambeau import nn
from flambeau.func import functional_call, grad, jvp, value_and_grad, vjp, vmap
from flambeau.utils.checkpoint import checkpoint
from flambeau.utils.pytree import register_dataclass, tree_map


class FixedPoint(flambeau.autograd.Function):
    """The solution of `z = tanh(w z + b)`, and its gradients by the implicit function theorem."""

    @staticmethod
    def forward(ctx, w, b):
        z = flambeau.zeros_like(b)
        for _ in range(30):
            z = flambeau.tanh(w @ z + b)
        ctx.save_for_backward(w, z)
        return z

    @staticmethod
    def backward(ctx, g):
        w, z = ctx.saved_tensors
        d = 1 - z * z
        u = flambeau.linalg.solve(flambeau.eye(len(z), dtype=z.dtype) - (d[:, None] * w).T, g)
        return flambeau.outer(d * u, z), d * u


@example(lambda r: (0.2 * r.standard_normal((6, 6)), r.standard_normal(6)))
def fixed_point_by_its_rule(script: Script) -> Any:
    def loss(w, b):
        return (FixedPoint.apply(w, b) ** 2).sum()

    return value_and_grad(script(loss), argnums=(0, 1))


class Flow(flambeau.autograd.Function):
    """A differential equation, and its adjoint, solved backwards from the end."""

    @staticmethod
    def forward(w, x):
        for _ in range(40):
            x = x + 0.025 * flambeau.tanh(w @ x)
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, g):
        w, y = ctx.saved_tensors
        slopes = flambeau.zeros_like(w)
        for _ in range(40):
            s = flambeau.tanh(w @ y)
            d = g * (1 - s * s)
            slopes = slopes + 0.025 * flambeau.outer(d, y)
            y = y - 0.025 * s
            g = g + 0.025 * (w.T @ d)
        return slopes, g


@example(lambda r: (0.3 * r.standard_normal((5, 5)), r.standard_normal(5)))
def adjoint_of_a_flow(script: Script) -> Any:
    def loss(w, x):
        return (Flow.apply(w, x) ** 2).sum()

    return grad(script(loss), argnums=(0, 1))


class Clipped(flambeau.autograd.Function):
    """Its argument, whose gradient is kept within bounds."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-1, 1)


@example(lambda r: (r.standard_normal((20, 5)),))
def clipped_on_the_way_back(script: Script) -> Any:
    def f(x):
        return (Clipped.apply(x**2) ** 2).sum()

    return vmap(value_and_grad(script(f)))


def _network(r: Any) -> tuple[Any, ...]:
    sizes = ((8, 4), 8, (1, 8), 1, (16, 4), (16, 1))
    return tuple(r.standard_normal(s) for s in sizes)


NAMES = ("0.weight", "0.bias", "2.weight", "2.bias")


@example(_network)
def module_on_each_example(script: Script) -> Any:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()

    def loss(p, x, y):
        return ((functional_call(model, p, (x,)) - y) ** 2).sum()

    of_each = vmap(grad(script(loss)), in_dims=(None, 0, 0))
    return lambda *a: of_each(dict(zip(NAMES, a[:4], strict=True)), *a[4:])


def _error(p, x, y):
    return ((flambeau.tanh(x @ p["w"]) @ p["v"] - y) ** 2).mean()


@example(lambda r: tuple(map(r.standard_normal, ((4, 6), 6, (30, 4), 30))))
def hessian_free_step(script: Script) -> Any:
    def dot(a, b):
        return sum([(a[k] * b[k]).sum() for k in a])

    def step(p, x, y):
        def slope(p):
            return grad(_error)(p, x, y)

        d = {k: flambeau.zeros_like(v) for k, v in p.items()}
        r = {k: -v for k, v in slope(p).items()}
        q = r
        before = dot(r, r)
        for _ in range(6):
            h = jvp(slope, (p,), (q,))[1]
            h = {k: h[k] + q[k] for k in h}
            a = before / dot(q, h)
            d = {k: d[k] + a * q[k] for k in d}
            r = {k: r[k] - a * h[k] for k in r}
            after = dot(r, r)
            q = {k: r[k] + after / before * q[k] for k in q}
            before = after
        return d

    stepping = script(step)
    return lambda w, v, x, y: stepping({"w": w, "v": v}, x, y)


@example(lambda r: tuple(map(r.standard_normal, ((4, 6), (6, 3), (4, 6), (6, 3), (30, 4)))))
def gauss_newton_product(script: Script) -> Any:
    def output(p, x):
        return flambeau.softmax(flambeau.tanh(x @ p["w"]) @ p["v"], -1)

    def product(p, q, x):
        _, tangent = jvp(lambda p: output(p, x), (p,), (q,))
        _, pull = vjp(lambda p: output(p, x), p)
        return pull(tangent)[0]

    multiplied = script(product)
    return lambda w, v, dw, dv, x: multiplied({"w": w, "v": v}, {"w": dw, "v": dv}, x)


@dataclass
class Layer:
    w: flambeau.Tensor
    b: flambeau.Tensor


register_dataclass(Layer)


@example(lambda r: tuple(map(r.standard_normal, ((4, 3), 3, (10, 4), (10, 3)))))
def gradient_by_a_dataclass(script: Script) -> Any:
    def loss(p: Layer, x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
        return ((flambeau.tanh(x @ p.w + p.b) - y) ** 2).mean()

    gradient = value_and_grad(script(loss))

    def by_fields(w: Any, b: Any, x: Any, y: Any) -> Any:
        value, slopes = gradient(Layer(w, b), x, y)
        return value, slopes.w, slopes.b

    return by_fields


@example(lambda r: tuple(map(r.standard_normal, ((4, 6), 6, (30, 4), 30))))
def descent_by_tree_map(script: Script) -> Any:
    def fitted(p, x, y):
        for _ in range(10):
            p = tree_map(lambda a, g: a - 0.1 * g, p, grad(_error)(p, x, y))
        return p

    fitting = script(fitted)
    return lambda w, v, x, y: fitting({"w": w, "v": v}, x, y)


@example(lambda r: (0.4 * r.standard_normal((6, 6)), r.standard_normal((5, 6))))
def blocks_computed_again(script: Script) -> Any:
    def block(x, w):
        return flambeau.tanh(x @ w)

    def loss(w, x):
        for _ in range(10):
            x = checkpoint(block, x, w, use_reentrant=False)
        return (x**2).sum()

    return value_and_grad(script(loss))
