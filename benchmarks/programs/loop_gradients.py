"""Loops whose gradients are asked for: the same text for us and, but for element loops, for PyTorch."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def settled(x: Tensor, n: int) -> Tensor:
    """A cubic equation's way to its rest, by small steps."""
    y = x
    i = 0
    while i < n:
        y = y + 0.01 * (x - y * y * y)
        i += 1
    return (y * y).sum()


def potential(p: Tensor) -> Tensor:
    """The energy of points that attract each other, pair by pair."""
    energy = flambeau.zeros([])
    n = p.size(0)
    for i in range(n):
        for j in range(i):
            dx = p[i, 0] - p[j, 0]
            dy = p[i, 1] - p[j, 1]
            dz = p[i, 2] - p[j, 2]
            energy = energy - 1.0 / (dx * dx + dy * dy + dz * dz + 0.01).sqrt()
    return energy


def heat(u: Tensor, steps: int) -> Tensor:
    """Heat in a rod that conducts the better the warmer it is, element by element."""
    for _ in range(steps):
        w = u.clone()
        for i in range(1, u.size(0) - 1):
            w[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u = w
    return (u * u).sum()


def potential_of_arrays(p: Tensor) -> Tensor:
    """The same with all pairs at once."""
    d = p.unsqueeze(1) - p.unsqueeze(0)
    return -(1.0 / ((d * d).sum(-1) + 0.01).sqrt()).tril(-1).sum()


def heat_of_arrays(u: Tensor, steps: int) -> Tensor:
    """The same with whole rows."""
    for _ in range(steps):
        c = u[1:-1]
        u = flambeau.cat([u[:1], c + 0.1 * (u[:-2] - 2.0 * c + u[2:]) * c, u[-1:]])
    return (u * u).sum()
