"""`explain()` says why tangents, gradients and batches of a program are not graphs of their own."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, jvp, vmap


@flambeau.script
def odd(x: Tensor) -> Tensor:
    squares: dict[str, Tensor] = {}
    for i in range(int(x.shape[0])):
        squares[str(i)] = x[i] * x[i]
    total = x.sum()
    for k in squares:
        total = total + squares[k]
    return total


@flambeau.script
def back(x: Tensor) -> Tensor:
    return grad(odd)(x)


@flambeau.script
def along(x: Tensor) -> Tensor:
    return jvp(odd, (x,), (x,))[1]


@flambeau.script
def of_each(x: Tensor) -> Tensor:
    return vmap(odd)(x)


@pytest.mark.parametrize(
    ("function", "note"),
    [
        (back, "the gradient of odd() goes back over a tape: "),
        (along, "tangents of odd() come from gradients: "),
        (of_each, "vmap of odd() is a loop over the examples: "),
    ],
)
def test_c20_reasons_of_other_ways(function: object, note: str) -> None:
    x = flambeau.rand(3, 4) if function is of_each else flambeau.rand(4)
    function(x)  # type: ignore[operator]
    explanation = function.explain(measure=False)  # type: ignore[attr-defined]
    assert any(one.startswith(note) for one in explanation.notes)
    assert note in " ".join(str(explanation).split())
