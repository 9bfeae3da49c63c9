"""The transforms of the rows, as JAX has them."""

from typing import Any

import jax
import jax.numpy as jnp

Array = Any


def _waves(x: Array) -> Array:
    return jnp.sin(x[1:]) * jnp.exp(-(x[:-1] ** 2)) * x.sum()


def _valley(x: Array) -> Array:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def _loss(w: Array, b: Array, v: Array, x: Array, y: Array) -> Array:
    h = jnp.tanh(w @ x + b)
    return ((v @ h - y) ** 2).sum()


def _pendulum(s: Array, g: Array) -> Array:
    def slope(s: Array) -> Array:
        return jnp.stack([s[1], -g * jnp.sin(s[0])])

    def step(s: Array, _: None) -> tuple[Array, None]:
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        k4 = slope(s + 0.01 * k3)
        return s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return jax.lax.scan(step, s, None, length=100)[0]


pendulums = jax.vmap(_pendulum)
jacobians_of_pendulums = jax.vmap(jax.jacfwd(_pendulum))
jacobian_of_waves = jax.jacobian(_waves)
hessian_of_valley = jax.hessian(_valley)
gradients_of_examples = jax.vmap(jax.grad(_loss, (0, 1, 2)), (None, None, None, 0, 0))


def product_with_hessian(x: Array, v: Array) -> Array:
    return jax.jvp(jax.grad(_valley), (x,), (v,))[1]
