"""Programs with derivatives, of all kinds of control flow."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def straight(x: Tensor, y: Tensor) -> Tensor:
    a = (x * y).sin() + y.exp()
    return (a * a).sum(dim=-1, keepdim=True) * x.mean() + flambeau.relu(x @ y.t()).sum()


def broadcast(x: Tensor, y: Tensor) -> Tensor:
    return (x.unsqueeze(1) * y + y[0] - x.sum(0, keepdim=True)) / (y * y + 1.0)


def layered(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    h = flambeau.relu(x @ w + b)
    h = flambeau.layer_norm(h, [h.size(1)])
    return flambeau.log_softmax(h @ w.t(), 1)


def counted(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x * 0.9 + x.sin() * float(i)
        if i % 2 == 0:
            x = x * x
            x = x + 0.5
        else:
            x = x.cos() + 1.0
    return x.sum()


def nested(x: Tensor) -> Tensor:
    k = 0
    s = x.sum() * 0.0
    while k < 4 and bool(x.sum() < 100.0):
        w = x * 0.3
        for _ in range(k):
            w = (w * x).sin()
        x = x + w
        k += 1
        if bool(x[0] > 2):
            break
        s = s + x.max()
    return (x * s).sum()


def early(x: Tensor) -> Tensor:
    for _ in range(10):
        x = x * 1.3 + 0.1
        if bool(x.sum() > 5.0):
            return (x * x).sum()
        elif bool(x.sum() < -5.0):
            return x.exp().sum()
    return x.sum()


def skipping(x: Tensor, y: Tensor) -> Tensor:
    for i in range(5):
        if i == 2:
            continue
        x = x * y + float(i)
    return x


def swapping(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    for _ in range(3):
        x, y = y * 0.5, x.tanh()
    return x, y * y


def unused(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x * 2.0, x.detach() * y


def in_lists(x: Tensor, y: Tensor) -> list[Tensor]:
    parts = [x * y, x + y]
    return [flambeau.cat(parts).exp(), flambeau.stack(parts).sum(0)]


def viewed(x: Tensor) -> Tensor:
    return x[1:].t().reshape([-1]) * x[0, 0] + x.flatten()[2:5].sum()


def reduced(x: Tensor) -> Tensor:
    return x.var(1) * x.amax(0).sum() + flambeau.logsumexp(x, 1) + x.cumsum(1)[:, -1] + x.prod(1)


def gated(x: Tensor) -> Tensor:
    return flambeau.nn.functional.glu(x, 1).sum()
