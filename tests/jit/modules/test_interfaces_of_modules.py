"""Modules behind an interface, in native code: whichever they are, whenever they change, and whatever they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, jit, nn
from flambeau.codegen import available
from flambeau.executor.known_classes import MOST

NAN = float("nan")


@jit.interface
class Op(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2.0


class Scale(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.tensor([scale, -scale]))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.w


class Refuse(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 0:
            raise ValueError("not today")
        return x


class Nested(nn.Module):
    inner: Op

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner.forward(x) + 1.0


class Alternating(nn.Module):
    even: Op
    odd: Op

    def __init__(self, even: nn.Module, odd: nn.Module) -> None:
        super().__init__()
        self.even = even
        self.odd = odd

    def forward(self, x: Tensor, n: int) -> Tensor:
        for k in range(n):
            x = self.even.forward(x) if k % 2 == 0 else self.odd.forward(x)
        return x


INPUTS = [flambeau.tensor([[1.0, NAN], [3.0, -0.0]]), flambeau.zeros(0, 2), flambeau.ones(2, 6).t()[::3]]


def agree(module: Any, python: Any, n: int = 3) -> None:
    with flambeau.no_grad():
        for x in INPUTS:
            np.testing.assert_array_equal(module(x, n).numpy(), python(x, n).numpy())


def is_native(module: Any) -> bool:
    return not available() or module.explain(measure=False).is_native


def test_each_combination_is_native() -> None:
    for even, odd in ((Double(), Scale(3.0)), (Scale(2.0), Scale(0.5)), (Nested(Double()), Nested(Nested(Scale(2.0))))):
        python = Alternating(even, odd)
        scripted = flambeau.script(python)
        for _ in range(4):
            agree(scripted, python)
        assert is_native(scripted), str(scripted.explain(measure=False))


def test_modules_that_are_swapped_are_noticed() -> None:
    python = Alternating(Double(), Nested(Double()))
    scripted = flambeau.script(python)
    for one in (Double(), Scale(3.0), Nested(Scale(2.0)), Scale(4.0), Double()):
        python.even, scripted.even = one, flambeau.script(one)
        for _ in range(3):
            agree(scripted, python)
        assert is_native(scripted)
    inner = Scale(7.0)
    python.odd.inner, scripted.odd.inner = inner, flambeau.script(inner)
    for _ in range(3):
        agree(scripted, python)


def test_more_classes_than_are_kept_are_served() -> None:
    depth: nn.Module = Double()
    python = Alternating(Double(), Double())
    scripted = flambeau.script(python)
    for _ in range(MOST + 2):
        python.even, scripted.even = depth, flambeau.script(depth)
        agree(scripted, python)
        depth = Nested(depth)


def test_gradients_go_through() -> None:
    python = Alternating(Double(), Scale(3.0))
    scripted = flambeau.script(Alternating(Double(), Scale(3.0)))
    for _ in range(4):
        for module in (python, scripted):
            module.odd.w.grad = None
            module(flambeau.ones(2, 2), 4).sum().backward()
        assert scripted.odd.w.grad.tolist() == python.odd.w.grad.tolist()


def test_errors_are_those_of_the_interpreter() -> None:
    texts = []
    for backend in ("native", "interpreter"):
        scripted = flambeau.script(Alternating(Double(), Nested(Refuse())), backend=backend)
        for _ in range(4):
            with pytest.raises(jit.Error, match="not today") as caught, flambeau.no_grad():
                scripted(flambeau.ones(2, 2), 2)
            texts.append(str(caught.value))
            assert scripted(flambeau.ones(0, 2), 2).shape == (0, 2)
    assert len(set(texts)) == 1
    assert "raise ValueError" in texts[0]
