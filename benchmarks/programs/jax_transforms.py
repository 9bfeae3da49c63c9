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


jacobian_of_waves = jax.jacobian(_waves)
hessian_of_valley = jax.hessian(_valley)
gradients_of_examples = jax.vmap(jax.grad(_loss, (0, 1, 2)), (None, None, None, 0, 0))


def product_with_hessian(x: Array, v: Array) -> Array:
    return jax.jvp(jax.grad(_valley), (x,), (v,))[1]
