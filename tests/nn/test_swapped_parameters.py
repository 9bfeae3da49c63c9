"""Parameters that conversions and loaded state exchange, or put others in the place of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn import swapped_parameters as switches
from flambeau.utils import swap_tensors


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    switches.set_swap_module_params_on_conversion(False)
    switches.set_overwrite_module_params_on_conversion(False)


class Doubles(Tensor):
    def module_load(self, other: Tensor, assign: bool = False) -> Tensor:
        return (other * 2).as_subclass(Doubles)


def test_conversions() -> None:
    layer = nn.Linear(2, 2)
    before, values = layer.weight, layer.weight.tolist()
    layer.weight.grad = flambeau.ones(2, 2)
    layer.weight.mark = "mine"
    switches.set_swap_module_params_on_conversion(True)
    layer.double()
    assert layer.weight is before
    assert (before.dtype, before.grad.dtype, before.mark) == (flambeau.float64, flambeau.float64, "mine")
    assert (before.tolist(), type(before), before.requires_grad) == (values, nn.Parameter, True)
    layer(flambeau.ones(1, 2, dtype=flambeau.float64)).sum().backward()
    assert before.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    switches.set_overwrite_module_params_on_conversion(True)
    layer.float()
    assert layer.weight is not before
    assert (before.dtype, layer.weight.dtype, layer.weight.grad.dtype) == (
        flambeau.float64, flambeau.float32, flambeau.float32,
    )  # fmt: skip


def test_loaded_state() -> None:
    layer = nn.Linear(1, 1)
    weight, bias = layer.weight, layer.bias
    swap_tensors(weight, nn.Parameter(flambeau.ones(1, 1).as_subclass(Doubles)))
    assert layer.weight is weight
    switches.set_swap_module_params_on_conversion(True)
    layer.load_state_dict({"weight": flambeau.full((1, 1), 3.0), "bias": flambeau.tensor([4.0])})
    assert (layer.weight is weight, layer.bias is bias, bias.tolist(), bias.requires_grad) == (True, True, [4.0], True)
    taken = flambeau.tensor([5.0])
    layer.load_state_dict({"weight": flambeau.ones(1, 1), "bias": taken}, assign=True)
    assert (layer.bias is bias, bias.data_ptr() == taken.data_ptr(), type(bias)) == (True, True, nn.Parameter)


def test_tensors_become_each_other() -> None:
    x, y = flambeau.ones(2, requires_grad=True), nn.Parameter(flambeau.zeros(3))
    z = (y * 2).sum()
    y.mark = 1
    swap_tensors(x, y)
    assert (type(x), x.tolist(), x.mark, type(y), y.tolist()) == (nn.Parameter, [0.0] * 3, 1, Tensor, [1.0] * 2)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient of size"):
        z.backward()  # the tape has the object


def referred() -> Any:
    import weakref

    x = flambeau.ones(1)
    return weakref.ref(x), x


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: swap_tensors(referred_x[1], flambeau.ones(1)), "Cannot swap t1 because it has weakref"),
        (lambda: swap_tensors(flambeau.ones(1), nn.Buffer(flambeau.ones(1))), "different slots"),
    ],
)
def test_refusals(attempt: Callable[[], Any], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        attempt()


referred_x = referred()
