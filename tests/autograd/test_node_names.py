"""Nodes of the tape are called as PyTorch calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau

torch = pytest.importorskip("torch")
CALLS: list[Callable[[Any, Any], Any]] = [
    lambda lib, x: [x.sum(), x.sum(0), x.mean(), x.mean(0), x.max(), x.max(0)[0], x.prod(0), x.median(0)[0]],
    lambda lib, x: [x**2, x**x, 2**x, 1 - x, x % 2, x % x, lib.div(x, 2, rounding_mode="floor"), x.clamp(0), x / x],
    lambda lib, x: [x.double(), x.contiguous().clone(), x.t().contiguous(), x.reshape(4), x.flatten(), x.movedim(0, 1)],
    lambda lib, x: [x.squeeze(), x.squeeze(0), (x * 1).squeeze_(0), (x * 1).t_(), (x * 1).fill_(1.0), x.chunk(2)[0]],
    lambda lib, x: [x.split([1, 1])[0], x.masked_fill(x > 0, x[0, 0]), lib.lerp(x, x, x), lib.hstack([x, x]), x.mT],
    lambda lib, x: [lib.nn.functional.conv1d(x[None], x[:, :, None]), lib.nn.functional.avg_pool2d(x[None], 2)],
    lambda lib, x: [lib.nn.functional.layer_norm(x, (2,)), lib.nn.functional.selu(x), lib.linalg.inv(x)],
]


@pytest.mark.parametrize("calls", CALLS)
def test_names(calls: Callable[[Any, Any], Any]) -> None:
    names = []
    for lib in (flambeau, torch):
        x = lib.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
        names.append([y.grad_fn.name() for y in calls(lib, x)])
    assert names[0] == names[1]


def test_written_slices() -> None:
    y = flambeau.ones(2, requires_grad=True) * 1
    y[0] = 2.0
    assert (y.grad_fn.name(), repr(y)[-23:]) == ("torch::autograd::CopySlices", ", grad_fn=<CopySlices>)")


def test_messages() -> None:
    x = flambeau.ones(2, requires_grad=True)
    y = x**x
    y.add_(1)
    with pytest.raises(RuntimeError, match="output 0 of Pow1, is at version 1"):
        y.sum().backward()
