"""NumPy's form of the array programs: whole expressions, which Numba compiles too; the reference in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any

erf = np.vectorize(math.erf, otypes=[np.float64])
"""NumPy has none; the reference only."""


def add_one(x: Array) -> Array:
    return x + np.float32(1.0)


def add_four(a: Array, b: Array, c: Array, d: Array) -> Array:
    return a + b + c + d


def scalar(a: float, b: float, n: int) -> float:
    return a * b + n


def gelu(x: Array) -> Array:
    return np.float32(0.5) * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)))


def chain(x: Array, y: Array) -> Array:
    a = x * y + np.float32(0.5)
    b = np.exp(-a * a)
    c = np.float32(1.0) / (np.float32(1.0) + np.exp(-x))
    d = np.log(np.abs(y) + np.float32(1.0))
    f = np.where(x > 0, b * c, d - a)
    g = np.tanh(f) * np.float32(0.7) + c * np.float32(0.3)
    h = np.sqrt(np.abs(g) + np.float32(1.0))
    k = np.where(h > np.float32(1.2), h - d, h + b)
    return k * g - f / h


def sigmoid_chain(x: Array, y: Array) -> Array:
    one = np.float32(1.0)
    gate = one / (one + np.exp(-x))
    return gate * y + (one - gate) * (one / (one + np.exp(-y))) * x


def erf_chain(x: Array, y: Array) -> Array:
    return 0.5 * x * (1.0 + erf(x * 0.7071067811865476)) + y * erf(y)


def log_chain(x: Array, y: Array) -> Array:
    return np.log(x * x + np.float32(1.0)) - np.log1p(np.exp(-np.abs(y))) * x


def where_chain(x: Array, y: Array) -> Array:
    half = np.float32(0.5)
    near = np.where(np.abs(x) < 1, half * x * x, np.abs(x) - half)
    far = np.where(y > 0, near, near * np.float32(0.1))
    return np.where(x > y, far - y, np.where(x < -y, far + y, far))


def clamp_chain(x: Array, y: Array) -> Array:
    zero, one, limit = np.float32(0.0), np.float32(1.0), np.float32(1.5)
    hard = np.minimum(np.maximum(x * np.float32(0.1666666667) + np.float32(0.5), zero), one) * x
    soft = hard + np.minimum(np.maximum(y, -one), one) * np.float32(2.0)
    return np.minimum(np.maximum(soft, -limit), limit) - np.maximum(x - y, zero)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q: Array, k: Array, v: Array) -> Array:
    return softmax(q @ k.swapaxes(-1, -2) / q.dtype.type(np.sqrt(q.shape[-1]))) @ v


def causal_attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) / q.dtype.type(np.sqrt(q.shape[-1]))
    return softmax(np.where(np.tri(*scores.shape[-2:], dtype=np.bool_), scores, -np.inf).astype(q.dtype)) @ v


def log_softmax(x: Array) -> Array:
    d = x - x.max(-1, keepdims=True)
    return d - np.log(np.exp(d).sum(-1, keepdims=True))


def layer_norm(x: Array, w: Array, b: Array) -> Array:
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + x.dtype.type(1e-5)) * w + b


def batch_norm(x: Array, w: Array, b: Array) -> Array:
    d = x - x.mean(0)
    return d / np.sqrt((d * d).mean(0) + x.dtype.type(1e-5)) * w + b


def fold(kind: str, axis: int | None) -> Any:
    """`sum`, `var` or `argmax` along an axis, of NumPy or jax.numpy arrays."""

    def folded(x: Any) -> Any:
        return getattr(x, kind)(axis)

    return folded


def pairwise(x: Array) -> Array:
    return np.sqrt(((x[:, None, :] - x[None, :, :]) ** 2).sum(-1))


def outer(x: Array, y: Array) -> Array:
    return np.exp(-np.abs(x[:, None] - y[None, :]))


def three_dimensions(x: Array, y: Array, z: Array) -> Array:
    return np.tanh(x[:, None, :] * y[None, :, :] + z[:, :, None])


def mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    return np.dot(np.maximum(np.dot(x, w1) + b1, np.float32(0.0)), w2) + b2


def lstm(xs: Array, h: Array, c: Array, w: Array, u: Array, b: Array) -> Array:
    n = h.shape[1]
    one = np.float32(1.0)
    for t in range(xs.shape[0]):
        gates = np.dot(xs[t], w) + np.dot(h, u) + b
        i = one / (one + np.exp(-gates[:, :n]))
        f = one / (one + np.exp(-gates[:, n : 2 * n]))
        g = np.tanh(gates[:, 2 * n : 3 * n])
        o = one / (one + np.exp(-gates[:, 3 * n :]))
        c = f * c + i * g
        h = o * np.tanh(c)
    return h


def rows_at(table: Array, index: Array) -> Array:
    return table[index]


def added_at(x: Array, index: Array, source: Array) -> Array:
    out = x.copy()
    np.add.at(out, index, source)
    return out


def weighted_at(x: Array, index: Array, source: Array) -> Array:
    return added_at(x, index, np.exp(source) * source.dtype.type(0.5))
