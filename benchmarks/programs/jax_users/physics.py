"""Bodies, fields, solvers, and networks that learn them."""

from __future__ import annotations

from typing import Any

import numpy as np

import flambeau
from benchmarks.programs.jax_users.examples import Script, example
from flambeau.func import grad, hessian, jacfwd, value_and_grad, vmap


@example(lambda r: (r.standard_normal((6, 3)), 0.1 * r.standard_normal((6, 3))))
def attracting_bodies(script: Script) -> Any:
    def energy(p):
        d = p[:, None] - p[None]
        return -(1 / flambeau.sqrt((d**2).sum(-1) + 0.1)).sum() / 2

    def end(v, p):
        for _ in range(30):
            v = v - 0.01 * grad(energy)(p)
            p = p + 0.01 * v
        return (p**2).sum()

    gradient = grad(script(end))
    return lambda p, v: gradient(v, p)


@example(lambda r: (r.standard_normal(2), r.standard_normal(2)))
def double_pendulum(script: Script) -> Any:
    def lagrangian(q, v):
        kinetic = 0.5 * (2 * v[0] ** 2 + v[1] ** 2 + 2 * v[0] * v[1] * flambeau.cos(q[0] - q[1]))
        return kinetic + 9.8 * (2 * flambeau.cos(q[0]) + flambeau.cos(q[1]))

    def acceleration(q, v):
        mass = hessian(lagrangian, argnums=1)(q, v)
        mixed = jacfwd(grad(lagrangian, argnums=1), argnums=0)(q, v)
        return flambeau.linalg.solve(mass, grad(lagrangian, argnums=0)(q, v) - mixed @ v)

    return script(acceleration)


@example(lambda r: (*(r.standard_normal(n) for n in ((2, 16), 16, (16, 1), 1)), r.uniform(-1, 1, (40, 2))))
def residual_of_burgers_equation(script: Script) -> Any:
    def u(z, w1, b1, w2, b2):
        return (flambeau.tanh(z @ w1 + b1) @ w2 + b2)[0]

    def residual(z, w1, b1, w2, b2):
        slope, curvature = grad(u)(z, w1, b1, w2, b2), hessian(u)(z, w1, b1, w2, b2)
        return slope[1] + u(z, w1, b1, w2, b2) * slope[0] - 0.01 * curvature[0, 0]

    def loss(w1, b1, w2, b2, z):
        return (vmap(residual, in_dims=(0, None, None, None, None))(z, w1, b1, w2, b2) ** 2).mean()

    return value_and_grad(script(loss), argnums=(0, 1, 2, 3))


@example(lambda r: (0.3 * r.standard_normal((4, 16)), 0.3 * r.standard_normal((16, 4)), r.standard_normal((8, 4))))
def neural_differential_equation(script: Script) -> Any:
    def slope(x, w1, w2):
        return flambeau.tanh(x @ w1) @ w2

    def loss(w1, w2, x):
        for _ in range(20):
            k1 = slope(x, w1, w2)
            k2 = slope(x + 0.025 * k1, w1, w2)
            k3 = slope(x + 0.025 * k2, w1, w2)
            k4 = slope(x + 0.05 * k3, w1, w2)
            x = x + 0.05 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return (x**2).mean()

    return value_and_grad(script(loss), argnums=(0, 1))


@example(lambda r: (r.uniform(0.5, 1.0, 100), r.standard_normal(100)))
def speed_of_waves(script: Script) -> Any:
    def loss(c, u):
        v = flambeau.zeros_like(u)
        for _ in range(60):
            v = v + 0.1 * c * (flambeau.roll(u, 1, 0) - 2 * u + flambeau.roll(u, -1, 0))
            u = u + 0.1 * v
        return (u**2).sum()

    return grad(script(loss))


@example(lambda r: (0.1 * r.standard_normal(30), np.array([np.pi, 0.0])))
def swinging_up(script: Script) -> Any:
    def cost(forces, x):
        total = flambeau.zeros((), dtype=x.dtype)
        for u in forces:
            x = flambeau.stack([x[0] + 0.05 * x[1], x[1] + 0.05 * (9.8 * flambeau.sin(x[0]) + u)])
            total = total + 0.01 * u**2 + 0.1 * (x**2).sum()
        return total + 10 * (x**2).sum()

    gradient, curvature = value_and_grad(script(cost)), hessian(script(cost))
    return lambda forces, x: (gradient(forces, x), curvature(forces, x))


@example(lambda r: (r.uniform(0.5, 2.0, (64, 2)),))
def newton_until_it_holds(script: Script) -> Any:
    def root(theta):
        x = flambeau.ones((), dtype=theta.dtype)
        step = flambeau.ones((), dtype=theta.dtype)
        while bool(step.abs() > 1e-12):
            step = (x**3 + theta[0] * x - theta[1]) / (3 * x**2 + theta[0])
            x = x - step
        return x

    gradients = grad(script(root))
    return vmap(gradients) if script is flambeau.script else lambda t: flambeau.stack([gradients(one) for one in t])
