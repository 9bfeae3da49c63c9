"""Copies and tensors like others lie in memory as PyTorch lays them out, made by native code."""

from __future__ import annotations

import random

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.graph.native import NativeFunction


def made_like(x: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    a, b = x.clone(), flambeau.zeros_like(x)
    c, d = flambeau.ones_like(x, dtype=flambeau.float64), flambeau.full_like(x, 3)
    for _ in range(n):
        a, b = x.clone(), flambeau.zeros_like(x)
        c, d = flambeau.ones_like(x, dtype=flambeau.float64), flambeau.full_like(x, 3)
        b += x
    return a, b, c, d


def strides_that_count(x: Tensor) -> list[int]:
    """Those along axes with more than one element."""
    return [stride for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1]


def any_view(rng: random.Random) -> Tensor:
    """A tensor permuted, stepped through and expanded."""
    x = flambeau.randn(*rng.choices([1, 2, 3, 4], k=rng.randint(1, 4)))
    for _ in range(rng.randint(0, 3)):
        axes, axis = list(range(x.dim())), rng.randrange(x.dim())
        rng.shuffle(axes)
        stepped = x.transpose(0, axis)[rng.randint(0, 1) :: rng.randint(1, 2)].transpose(0, axis)
        expanded = x.expand([rng.choice([2, 3]) if size == 1 else size for size in x.shape])
        x = rng.choice([x.permute(axes), stepped, expanded])
    return x


@pytest.mark.parametrize("seed", range(10))
def test_strides_are_those_of_the_operators_alone(seed: int) -> None:
    rng, native = random.Random(seed), flambeau.script(made_like)
    for _ in range(40):
        x = any_view(rng)
        if not x.numel():
            continue
        zeros = flambeau.zeros_like(x)
        expected = (x.clone(), zeros.clone() + x, flambeau.ones_like(x, dtype=flambeau.float64), zeros + 3)
        kept = (x.clone(), zeros, flambeau.ones_like(x), zeros)
        for n in (1, 2):
            for result, value, like in zip(native(x, n), expected, kept, strict=True):
                assert strides_that_count(result) == strides_that_count(like)
                assert np.array_equal(result.numpy(), value.numpy())


@pytest.mark.parametrize("name", ["turned", "channels last", "stepped"])
def test_python_is_not_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = {
        "turned": flambeau.randn(4, 3).T,
        "channels last": flambeau.randn(2, 5, 5, 3).permute(0, 3, 1, 2),
        "stepped": flambeau.randn(4, 8)[:, :3],
    }[name]
    native = flambeau.script(made_like)
    for _ in range(3):
        native(x, 3)
    asked: list[int] = []
    monkeypatch.setattr(NativeFunction, "serve", lambda _, *call: asked.append(len(call)))
    native(x, 3)
    assert not asked
