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
