"""Methods that call Python for every element, and the old `x.new(...)`."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau


def test_functions_of_elements() -> None:
    x = flambeau.arange(6.0).reshape(2, 3)
    assert x.mT.apply_(lambda v: v + 1) is not x
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
    x[:, ::2].map_(flambeau.tensor([10.0, 20.0]), lambda a, b: a * b)
    assert x.tolist() == [[10, 2, 60], [40, 5, 120]]
    y = flambeau.zeros(2, dtype=flambeau.int64)
    y.map2_(flambeau.tensor([1, 2]), flambeau.tensor(5), lambda a, b, c: b + c)
    assert y.tolist() == [6, 7]
    assert flambeau.zeros(0).apply_(lambda v: 1 / v).shape == (0,)
    assert flambeau.tensor(2.0).apply_(lambda v: v * v).item() == 4
    version = x._version
    x.apply_(abs)
    assert x._version > version


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: x.requires_grad_().apply_(abs), r"Can't call apply_\(\) on Variable that requires grad"),
        (lambda x: x.map_(3, max), r"map_\(\) takes tensors beside it, not int"),
        (lambda x: x.apply_(3), r"apply_\(\) takes a function of 1 number, not int"),
        (lambda x: x.to("meta").apply_(abs), r"calls Python for elements on the host"),
    ],
)
def test_refused(call: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call(flambeau.ones(2))


def test_new() -> None:
    x = flambeau.ones(2, dtype=flambeau.float64)
    assert (x.new(2, 3).shape, x.new(2, 3).dtype, x.new().shape) == ((2, 3), flambeau.float64, (0,))
    assert x.new([1, 2]).tolist() == [1.0, 2.0]
    assert x.new(x.shape).shape == (2,)
    same = x.new(x)
    same.zero_()
    assert x.tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match=r"x.new\(tensor\) takes a tensor of flambeau.float64, not of flambeau.float32"):
        x.new(flambeau.ones(1))
    traced = flambeau.trace(lambda v: v.new(v.size(0), 2).fill_(3), flambeau.ones(2))
    assert traced(flambeau.ones(4)).tolist() == [[3, 3]] * 4
