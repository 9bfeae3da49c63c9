"""Long expressions over one array or two."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + flambeau.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def chain(x: Tensor, y: Tensor) -> Tensor:
    a = x * y + 0.5
    b = flambeau.exp(-a * a)
    c = flambeau.sigmoid(x)
    d = flambeau.log(flambeau.abs(y) + 1.0)
    f = flambeau.where(x > 0.0, b * c, d - a)
    g = flambeau.tanh(f) * 0.7 + c * 0.3
    h = flambeau.sqrt(flambeau.abs(g) + 1.0)
    k = flambeau.where(h > 1.2, h - d, h + b)
    return k * g - f / h


def sigmoid_chain(x: Tensor, y: Tensor) -> Tensor:
    gate = flambeau.sigmoid(x)
    return gate * y + (1.0 - gate) * flambeau.sigmoid(y) * x


def erf_chain(x: Tensor, y: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + flambeau.erf(x * 0.7071067811865476)) + y * flambeau.erf(y)


def log_chain(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.log(x * x + 1.0) - flambeau.log1p(flambeau.exp(-flambeau.abs(y))) * x


def where_chain(x: Tensor, y: Tensor) -> Tensor:
    near = flambeau.where(flambeau.abs(x) < 1.0, 0.5 * x * x, flambeau.abs(x) - 0.5)
    far = flambeau.where(y > 0.0, near, near * 0.1)
    return flambeau.where(x > y, far - y, flambeau.where(x < -y, far + y, far))


def clamp_chain(x: Tensor, y: Tensor) -> Tensor:
    hard = flambeau.clamp(x * 0.1666666667 + 0.5, 0.0, 1.0) * x
    return flambeau.clamp(hard + flambeau.clamp(y, -1.0, 1.0) * 2.0, -1.5, 1.5) - flambeau.clamp(x - y, min=0.0)
