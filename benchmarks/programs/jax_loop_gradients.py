"""JAX's form of the loops whose gradients are asked for: values with gradients; imported only where there is JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Array = Any


def gradient_of_settled(x: Array, n: int) -> tuple[Array, Array]:
    def end(x: Array) -> Array:
        y = lax.fori_loop(0, n, lambda _, y: y + 0.01 * (x - y * y * y), x)
        return (y * y).sum()

    return jax.value_and_grad(end)(x)


def gradient_of_potential(p: Array) -> tuple[Array, Array]:
    def energy(p: Array) -> Array:
        d = p[:, None] - p[None]
        return -jnp.tril(1.0 / jnp.sqrt((d * d).sum(-1) + 0.01), -1).sum()

    return jax.value_and_grad(energy)(p)


def gradient_of_heat(u: Array, steps: int) -> tuple[Array, Array]:
    def step(_: int, u: Array) -> Array:
        c = u[1:-1]
        return u.at[1:-1].add(0.1 * (u[:-2] - 2.0 * c + u[2:]) * c)

    def end(u: Array) -> Array:
        u = lax.fori_loop(0, steps, step, u)
        return (u * u).sum()

    return jax.value_and_grad(end)(u)
