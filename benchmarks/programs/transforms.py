"""Functions that the rows of transforms differentiate."""

import flambeau
from flambeau import Tensor


def waves(x: Tensor) -> Tensor:
    return flambeau.sin(x[1:]) * flambeau.exp(-(x[:-1] ** 2)) * x.sum()


def valley(x: Tensor) -> Tensor:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def loss(w: Tensor, b: Tensor, v: Tensor, x: Tensor, y: Tensor) -> Tensor:
    h = flambeau.tanh(w @ x + b)
    return ((v @ h - y) ** 2).sum()


def pendulum(s: Tensor, g: Tensor) -> Tensor:
    for _ in range(100):
        k1 = flambeau.stack([s[1], -g * flambeau.sin(s[0])])
        u = s + 0.005 * k1
        k2 = flambeau.stack([u[1], -g * flambeau.sin(u[0])])
        u = s + 0.005 * k2
        k3 = flambeau.stack([u[1], -g * flambeau.sin(u[0])])
        u = s + 0.01 * k3
        k4 = flambeau.stack([u[1], -g * flambeau.sin(u[0])])
        s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return s
