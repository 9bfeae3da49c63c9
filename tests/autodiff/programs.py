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


def stencil(x: Tensor) -> Tensor:
    y = flambeau.zeros_like(x)
    for i in range(1, x.size(0) - 1):
        y[i] = x[i - 1] * 0.5 + x[i + 1] * x[i]
    return y


def recurrence(x: Tensor, a: Tensor) -> Tensor:
    y = flambeau.zeros_like(x)
    y[0] = x[0]
    for i in range(1, x.size(0)):
        y[i] = (y[i - 1] * a[0]).sin() + x[i] * a[1]
    y *= 2.0
    y[1:3] += x[0:2] * y[0:2]
    z = y.exp()
    y.mul_(z)
    return y * y


def heat(u: Tensor, n: int) -> Tensor:
    for _ in range(n):
        w = flambeau.zeros_like(u)
        for i in range(1, u.size(0) - 1):
            w[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u = w
    return u


def in_place(x: Tensor) -> Tensor:
    y = x.clone()
    y.relu_()
    y.add_(x, alpha=2.0)
    y.t()[0].mul_(x[:, 1])
    v = y[1]
    v.copy_(y[0] * 2)
    y.div_(x.abs() + 1.0)
    y[0, 1] = 3.0
    y.clamp_(min=-1.0)
    return y


def in_branches(x: Tensor) -> Tensor:
    y = x * 2.0
    for i in range(x.size(0)):
        if i % 2 == 0:
            y[i] = y[i] * x[i]
        else:
            y[i:] *= 1.5
    return y


def collected(x: Tensor) -> Tensor:
    parts = [x]
    for i in range(4):
        parts.append(parts[i] * 0.5 + x)
    parts[1] = parts[0] * parts[2]
    last = parts.pop()
    return flambeau.stack(parts).sum(0) * last + flambeau.cat(parts)[1]


def kept_numbers(x: Tensor) -> Tensor:
    seen: list[float] = []
    for i in range(x.size(0)):
        seen.append(float(x[i]))
    t = 0.0
    while len(seen) > 0:
        t += seen.pop() * t + 1.0
    return x * t


def parted(x: Tensor, n: int) -> Tensor:
    """Parts of a length that only the run knows."""
    a, b, c = x.split(n, dim=1)
    return (a * b).sum() + c.sin().sum()


def shuffled(x: Tensor) -> Tensor:
    """An operator that looks at a size."""
    return (flambeau.pixel_shuffle(x, 2) ** 2).sum()


def written_in_a_branch(x: Tensor, w: Tensor) -> Tensor:
    m = w.clone()
    m.mul_(m - m.amax(-1, keepdim=True))
    if bool(m.sum() > 0.1):
        return (x * 2).sum()
    y = x * 1.1
    view = y.t()
    view.add_(view.clone())
    return (m * m).sum() + (y * y).sum()
