"""Programs with next to nothing to do: what a call costs."""

from __future__ import annotations

from flambeau import Tensor


def add_one(x: Tensor) -> Tensor:
    return x + 1.0


def add_four(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    return a + b + c + d


def scalar(a: float, b: float, n: int) -> float:
    return a * b + n
