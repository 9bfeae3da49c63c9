"""JAX's form of the array programs where NumPy's does not serve; imported only where JAX is installed."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

Array = Any


def add_one(x: Array) -> Array:
    return x + 1.0


def add_four(a: Array, b: Array, c: Array, d: Array) -> Array:
    return a + b + c + d


def scalar(a: Array, b: Array, n: Array) -> Array:
    return a * b + n


def gelu(x: Array) -> Array:
    return jax.nn.gelu(x, approximate=True)


def chain(x: Array, y: Array) -> Array:
    a = x * y + 0.5
    b = jnp.exp(-a * a)
    c = jax.nn.sigmoid(x)
    d = jnp.log(jnp.abs(y) + 1.0)
    f = jnp.where(x > 0.0, b * c, d - a)
    g = jnp.tanh(f) * 0.7 + c * 0.3
    h = jnp.sqrt(jnp.abs(g) + 1.0)
    k = jnp.where(h > 1.2, h - d, h + b)
    return k * g - f / h


def sigmoid_chain(x: Array, y: Array) -> Array:
    gate = jax.nn.sigmoid(x)
    return gate * y + (1.0 - gate) * jax.nn.sigmoid(y) * x


def erf_chain(x: Array, y: Array) -> Array:
    return 0.5 * x * (1.0 + jax.lax.erf(x * 0.7071067811865476)) + y * jax.lax.erf(y)


def log_chain(x: Array, y: Array) -> Array:
    return jnp.log(x * x + 1.0) - jnp.log1p(jnp.exp(-jnp.abs(y))) * x


def where_chain(x: Array, y: Array) -> Array:
    near = jnp.where(jnp.abs(x) < 1.0, 0.5 * x * x, jnp.abs(x) - 0.5)
    far = jnp.where(y > 0.0, near, near * 0.1)
    return jnp.where(x > y, far - y, jnp.where(x < -y, far + y, far))


def clamp_chain(x: Array, y: Array) -> Array:
    hard = jnp.clip(x * 0.1666666667 + 0.5, 0.0, 1.0) * x
    return jnp.clip(hard + jnp.clip(y, -1.0, 1.0) * 2.0, -1.5, 1.5) - jnp.maximum(x - y, 0.0)


def softmax(x: Array) -> Array:
    return jax.nn.softmax(x, axis=-1)


def attention(q: Array, k: Array, v: Array) -> Array:
    return softmax(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5) @ v


def causal_attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    return softmax(jax.numpy.where(jax.numpy.tri(*scores.shape[-2:], dtype=bool), scores, -jax.numpy.inf)) @ v


def log_softmax(x: Array) -> Array:
    return jax.nn.log_softmax(x, axis=-1)


def layer_norm(x: Array, w: Array, b: Array) -> Array:
    d = x - x.mean(-1, keepdims=True)
    return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b


def batch_norm(x: Array, w: Array, b: Array) -> Array:
    d = x - x.mean(0)
    return d * jax.lax.rsqrt((d * d).mean(0) + 1e-5) * w + b


def pairwise(x: Array) -> Array:
    return jnp.sqrt(((x[:, None, :] - x[None, :, :]) ** 2).sum(-1))


def outer(x: Array, y: Array) -> Array:
    return jnp.exp(-jnp.abs(x[:, None] - y[None, :]))


def three_dimensions(x: Array, y: Array, z: Array) -> Array:
    return jnp.tanh(x[:, None, :] * y[None, :, :] + z[:, :, None])


def mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    return jax.nn.relu(x @ w1 + b1) @ w2 + b2


def _lstm(xs: Array, h: Array, c: Array, w: Array, u: Array, b: Array) -> tuple[Array, Array]:
    def cell(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    (h, _), states = jax.lax.scan(cell, (h, c), xs)
    return h, states


def lstm(xs: Array, h: Array, c: Array, w: Array, u: Array, b: Array) -> Array:
    return _lstm(xs, h, c, w, u, b)[0]


def lstm_states(xs: Array, h: Array, c: Array, w: Array, u: Array, b: Array) -> Array:
    return _lstm(xs, h, c, w, u, b)[1]


def sum_all(x: Array) -> Array:
    return x.sum()


def sum_0(x: Array) -> Array:
    return x.sum(0)


def sum_1(x: Array) -> Array:
    return x.sum(1)


def var_all(x: Array) -> Array:
    return x.var()


def var_0(x: Array) -> Array:
    return x.var(0)


def var_1(x: Array) -> Array:
    return x.var(1)


def argmax_all(x: Array) -> Array:
    return x.argmax()


def argmax_0(x: Array) -> Array:
    return x.argmax(0)


def argmax_1(x: Array) -> Array:
    return x.argmax(1)


def rows_at(table: Array, index: Array) -> Array:
    return table[index]


def added_at(x: Array, index: Array, source: Array) -> Array:
    return x.at[index].add(source)


def weighted_at(x: Array, index: Array, source: Array) -> Array:
    return x.at[index].add(jnp.exp(source) * 0.5)
