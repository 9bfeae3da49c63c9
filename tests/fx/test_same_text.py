"""Graphs and code of traced functions and modules, as torch.fx writes them."""

from __future__ import annotations

import importlib.util
import math
import operator
from typing import Any

import pytest

import flambeau

if importlib.util.find_spec("torch") is None:
    pytest.skip("needs torch", allow_module_level=True)

import torch
import torch.fx


def functions(t: Any) -> dict[str, Any]:
    """The same functions for `torch` and for `flambeau`."""
    nn = t.nn.functional
    return {
        "operators": lambda x, y: (x + y) * 2 - y / x**2,
        "reflected": lambda x: 1 - x + 2 / x,
        "comparison": lambda x: (x > 0) & (x <= 1) | (x == 3),
        "unary": lambda x: -x + ~(x > 0),
        "functions": lambda x: t.relu(t.add(x, 1)),
        "methods": lambda x: x.relu().sum(dim=1, keepdim=True),
        "default": lambda x, n=3: x * n,
        "index": lambda x: x[0, 1:, None, ...],
        "index by value": lambda x, i: x[i],
        "attribute": lambda x: x.shape[0] + x.T,
        "size": lambda x: x.view(x.size(0), -1),
        "list": lambda x, y: t.cat([x, y], dim=0),
        "tuple": lambda x: (x, x + 1, (x,)),
        "dict": lambda x: {"a": x, "b": [x, x * 2]},
        "unpacked": lambda x: _pair(x.split(2)),
        "unused": lambda x, y: x,
        "repeated": lambda x: x + 1 + 1 + 1,
        "builtin names": lambda x: t.max(t.sum(x), t.abs(x)),
        "matrix": lambda x, y: x @ y,
        "relu of nn": lambda x: nn.relu(x, inplace=False),
        "linear of nn": lambda x, w: nn.linear(x, w),
        "math": lambda x: x * math.pi + math.inf,
        "getitem": lambda x: operator.getitem(x, 0),
        "dtype": lambda x: x.to(t.float64),
        "constants": lambda x: x.clamp(min=-1.5, max=2) + True,
        "in place": lambda x: x.add_(1).mul_(x),
        "floor": lambda x: x // 2 % 3,
        "keyword": lambda x: t.sum(input=x, dim=0),
        "shift": lambda x: (x << 1) >> 2,
    }


def _pair(parts: Any) -> Any:
    first, second = parts
    return first + second


def modules(t: Any) -> dict[str, Any]:
    nn = t.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 3, padding=1)
            self.norm = nn.BatchNorm2d(3)

        def forward(self, x):
            return t.relu(self.norm(self.conv(x)) + x)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.Sequential(Block(), Block())
            self.scale = nn.Parameter(t.ones(1))
            self.register_buffer("offset", t.zeros(1))
            self.head = nn.Linear(3, 2)

        def forward(self, x, flag=None):
            pooled = self.blocks(x).mean(dim=(2, 3))
            return self.head(pooled * self.scale + self.offset)

    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    layers = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    return {"block": Block(), "net": Net(), "list of modules": Listed(), "linear": layers}


def as_here(text: str) -> str:
    """PyTorch's text with the names that things have here."""
    return text.replace("torch._C._nn.linear", "flambeau.nn.functional.linear").replace("torch", "flambeau")


@pytest.mark.parametrize("name", functions(torch))
def test_functions(name: str) -> None:
    theirs = torch.fx.symbolic_trace(functions(torch)[name])
    ours = flambeau.fx.symbolic_trace(functions(flambeau)[name])
    assert str(ours.graph) == as_here(str(theirs.graph))
    assert ours.code.strip() == as_here(theirs.code).strip()


@pytest.mark.parametrize("name", ["block", "net", "list of modules", "linear"])
def test_modules(name: str) -> None:
    theirs = torch.fx.symbolic_trace(modules(torch)[name])
    ours = flambeau.fx.symbolic_trace(modules(flambeau)[name])
    assert str(ours.graph) == as_here(str(theirs.graph))
    assert ours.code.strip() == as_here(theirs.code).strip()
