"""Operands of different ranks and sizes that meet in one expression."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def pairwise(x: Tensor) -> Tensor:
    return flambeau.sqrt(((x[:, None, :] - x[None, :, :]) ** 2).sum(-1))


def outer(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.exp(-flambeau.abs(x[:, None] - y[None, :]))


def three_dimensions(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    return flambeau.tanh(x[:, None, :] * y[None, :, :] + z[:, :, None])
