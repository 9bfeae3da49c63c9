"""JAX's form of the losses in `training`, and of the steps around them; imported only where JAX is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.programs.jax_arrays import chain, lstm_states

Array = Any


def mlp_loss(x: Array, y: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Array:
    h = jax.nn.relu(x @ w1 + b1)
    h = jax.nn.relu(h @ w2 + b2)
    return ((h @ w3 + b3 - y) ** 2).mean()


def _step(loss: Callable[..., Array]) -> Callable[..., Any]:
    """A step of gradient descent in all arguments but the first two."""

    def step(x: Array, y: Array, *weights: Array) -> Any:
        value, gradients = jax.value_and_grad(loss, tuple(range(2, 2 + len(weights))))(x, y, *weights)
        return value, *(w - g * 0.01 for w, g in zip(weights, gradients, strict=True))

    return step


def chain_gradient(x: Array, y: Array) -> Any:
    return jax.value_and_grad(lambda x, y: chain(x, y).sum())(x, y)


def _cross_entropy(logits: Array, labels: Array) -> Array:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -chosen.mean()


def cross_entropy_gradient(logits: Array, labels: Array) -> Any:
    return jax.value_and_grad(_cross_entropy)(logits, labels)


def _layer_norm(x: Array, weight: Array, bias: Array) -> Array:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * weight + bias


def layer_norm_gradient(x: Array, weight: Array, bias: Array, slope: Array) -> Any:
    return jax.value_and_grad(lambda x, w, b: (_layer_norm(x, w, b) * slope).sum(), (0, 1, 2))(x, weight, bias)


def _convolution(x: Array, w: Array, b: Array) -> Array:
    return jax.lax.conv(x, w, (1, 1), "SAME") + b[:, None, None]


def _pool(x: Array) -> Array:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def cnn_loss(x: Array, labels: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Array:
    h = _pool(jax.nn.relu(_convolution(x, w1, b1)))
    h = _pool(jax.nn.relu(_convolution(h, w2, b2)))
    return _cross_entropy(h.reshape(len(h), -1) @ w3.T + b3, labels)


def block_loss(
    x: Array, y: Array, scale1: Array, shift1: Array, qkv: Array, out: Array,
    scale2: Array, shift2: Array, w1: Array, b1: Array, w2: Array, b2: Array,
) -> Array:  # fmt: skip
    batch, time, width = x.shape
    heads = 4
    parts = jnp.split(_layer_norm(x, scale1, shift1) @ qkv, 3, -1)
    q, k, v = (p.reshape(batch, time, heads, width // heads).transpose(0, 2, 1, 3) for p in parts)
    weights = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * (width // heads) ** -0.5, -1)
    x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(batch, time, width) @ out
    x = x + jax.nn.gelu(_layer_norm(x, scale2, shift2) @ w1 + b1, approximate=True) @ w2 + b2
    return ((x - y) ** 2).mean()


mlp_step, cnn_step, block_step = _step(mlp_loss), _step(cnn_loss), _step(block_loss)


def lstm_gradient(xs: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array, slope: Array) -> Any:
    def loss(xs: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array) -> Array:
        zero = jnp.zeros((xs.shape[1], w_hh.shape[1]), xs.dtype)
        return (lstm_states(xs, zero, zero, w_ih.T, w_hh.T, b_ih + b_hh) * slope).sum()

    return jax.grad(loss, (0, 1, 2, 3, 4))(xs, w_ih, w_hh, b_ih, b_hh)
