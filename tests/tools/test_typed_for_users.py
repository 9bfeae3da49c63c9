"""What type checkers know of compiled functions: `make types` checks this file, and running it checks what is said."""

from __future__ import annotations

from typing import assert_type

import pytest

import flambeau
import flambeau.fft as transforms
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor, nn
from flambeau.jit import ScriptFunction
from flambeau.linalg import LinAlgError, det


@flambeau.script
def scaled(x: Tensor, n: int = 2) -> Tensor:
    return x * n


@flambeau.script(backend="interpreter")
def counted(n: int) -> list[int]:
    return list(range(n))


@flambeau.script(backend="interpreter")
class Pair:
    def __init__(self, a: int) -> None:
        self.a = a


class Net(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(F.hardswish(x, inplace=False), dim=-1)


def apply(f: ScriptFunction[[Tensor, int], Tensor], x: Tensor) -> Tensor:
    return f(x, 3)


def test_scripted_functions_have_the_types_of_what_they_are_made_of() -> None:
    x = flambeau.ones(2)
    assert assert_type(scaled(x, n=3), Tensor).tolist() == [3.0, 3.0]
    assert assert_type(counted(2), list[int]) == [0, 1]
    assert assert_type(Pair(3), Pair).a == 3
    assert isinstance(scaled, ScriptFunction)


def test_traces_too() -> None:
    x = flambeau.ones(2)

    def more(x: Tensor, /) -> Tensor:
        return x + 1

    traced = flambeau.trace(more, x)
    assert assert_type(traced, ScriptFunction[[Tensor], Tensor])(x).tolist() == [2.0, 2.0]
    module = flambeau.trace(Net(), x)
    assert module(x).tolist() == flambeau.script(Net())(x).tolist() == [0.5, 0.5]


def test_scripted_functions_as_parameters() -> None:
    @flambeau.script
    def scaled_by(x: Tensor, n: int) -> Tensor:
        return x * n

    assert apply(scaled_by, flambeau.ones(1)).tolist() == [3.0]


def test_further_modules_are_modules() -> None:
    x = flambeau.eye(2) * 2
    assert assert_type(det(x), Tensor).item() == 4.0
    assert assert_type(transforms.fft(flambeau.ones(1)), Tensor).tolist() == [1 + 0j]
    assert flambeau.linalg.det is det
    assert "expit" in dir(flambeau.special)
    with pytest.raises(LinAlgError, match="singular"):
        flambeau.linalg.inv(flambeau.zeros(2, 2))
