"""Transforms, in a text of several functions, of others that it defines, before or behind."""

from __future__ import annotations

import pytest

import flambeau

TEXT = """
def slope(x: Tensor) -> Tensor:
    return flambeau.grad(energy)(x)

def energy(x: Tensor) -> Tensor:
    return (scaled(x) * x).sum()

def scaled(x: Tensor) -> Tensor:
    return x * 3

def both(x: Tensor):
    value, slopes = flambeau.value_and_grad(energy)(x)
    return value, slopes

def curvature(x: Tensor) -> Tensor:
    return flambeau.hessian(energy)(x)

def each(x: Tensor) -> Tensor:
    return flambeau.vmap(energy)(x)

def second(x: Tensor) -> Tensor:
    return flambeau.grad(lambda y: slope(y).sum())(x)
"""


def test_functions_of_one_text_are_transformed() -> None:
    unit = flambeau.CompilationUnit(TEXT)
    x = flambeau.tensor([1.0, -2.0])
    assert unit.slope(x).tolist() == [6.0, -12.0]
    value, slopes = unit.both(x)
    assert (value.item(), slopes.tolist()) == (15.0, [6.0, -12.0])
    assert unit.curvature(x).tolist() == [[6.0, 0.0], [0.0, 6.0]]
    assert unit.each(flambeau.stack([x, 2 * x])).tolist() == [15.0, 60.0]
    assert unit.second(x).tolist() == [6.0, 6.0]
    assert str(unit.energy.graph) == str(flambeau.CompilationUnit(TEXT).energy.graph)


def test_what_a_text_defined_before_is_transformed_too() -> None:
    unit = flambeau.CompilationUnit("def energy(x: Tensor) -> Tensor:\n    return (x * x).sum()\n")
    unit.define("def slope(x: Tensor) -> Tensor:\n    return flambeau.grad(energy)(x)\n")
    assert unit.slope(flambeau.tensor([3.0])).tolist() == [6.0]


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"grad\(\) takes a function in programs, by its name"):
        flambeau.CompilationUnit("def f(x: Tensor, n: int) -> Tensor:\n    return flambeau.grad(n)(x)\n")
