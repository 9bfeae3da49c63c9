"""Views of tensors without axes that are numbers in registers: in memory of their own, unless that could be seen."""

from __future__ import annotations

import pytest

import flambeau
from tests.codegen.graph import one_meaning

SOURCE = """
def f(x: Tensor, n: int) -> {result}:
    y = (x * 2.0).sum() + x[0]
    {body}
"""


@pytest.mark.parametrize(
    "body",
    [
        "return x + y.unsqueeze(0)", "return x + y.unsqueeze(-1)", "return x * y.expand([n])",
        "return x - y.reshape([1])", "return y.view([1, 1, 1]) * x",
        "return y.reshape([-1])", "return y.unsqueeze(0)", "return y.expand([n, 2])",
        "return flambeau.stack([y.unsqueeze(0), x[:1]])",
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [3, 1])
def test_a_number_gets_axes(body: str, n: int) -> None:
    source = SOURCE.format(result="Tensor", body=body)
    one_meaning.agree(source, lambda: (flambeau.arange(float(n)) + 0.5, n))


def test_more_axes_than_others_have() -> None:
    source = SOURCE.format(result="Tensor", body="return y.expand([2, n]) + x")
    one_meaning.agree(source, lambda: (flambeau.ones(3), 3))


@pytest.mark.parametrize("body", ["return y.expand([-1])", "return y.expand([-2])", "return y.reshape([2]) + x"])
def test_sizes_that_are_none(body: str) -> None:
    source = SOURCE.format(result="Tensor", body=body)
    one_meaning.agree(source, lambda: (flambeau.ones(3), 3), is_native=False)


@pytest.mark.parametrize(
    "body",
    [
        "return y, y.unsqueeze(0)", "return y.expand([n]), y.reshape([1])",
        "z = y.unsqueeze(0)\n    z += 1.0\n    return y, x * z",
    ],
)  # fmt: skip
def test_what_shows_the_same_memory_does(body: str) -> None:
    source = SOURCE.format(result="Tuple[Tensor, Tensor]", body=body)
    one_meaning.agree(source, lambda: (flambeau.ones(3), 3), is_native=False)


def test_in_loops() -> None:
    source = """
def f(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        s = x.sum()
        x = x * 0.5 + s.unsqueeze(0) + s.expand([n]) * 0.25
    return x
"""
    one_meaning.agree(source, lambda: (flambeau.ones(4), 4))


@pytest.mark.parametrize("axes", ["0, 2", "-1, 0", "[0, 1], [2, 0]", "1, 1"])
def test_moved_axes(axes: str) -> None:
    source = f"def f(x: Tensor) -> Tensor:\n    return x.movedim({axes}) * 2.0\n"
    one_meaning.agree(source, lambda: (flambeau.arange(24.0).reshape(2, 3, 4),))


def test_an_axis_that_only_the_call_knows() -> None:
    source = "def f(x: Tensor, k: int) -> Tensor:\n    return x.movedim(k, 0) * 2.0\n"
    one_meaning.agree(source, lambda: (flambeau.arange(24.0).reshape(2, 3, 4), 1), is_native=False)
