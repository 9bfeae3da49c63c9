"""Matrix products with the work around them."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def mlp(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return flambeau.relu(x @ w1 + b1) @ w2 + b2


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return flambeau.nn.functional.scaled_dot_product_attention(q, k, v)


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return flambeau.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def lstm(xs: Tensor, h: Tensor, c: Tensor, w: Tensor, u: Tensor, b: Tensor) -> Tensor:
    for t in range(xs.size(0)):
        gates = xs[t] @ w + h @ u + b
        i, f, g, o = gates.chunk(4, 1)
        c = flambeau.sigmoid(f) * c + flambeau.sigmoid(i) * flambeau.tanh(g)
        h = flambeau.sigmoid(o) * flambeau.tanh(c)
    return h
