"""`x.data`: the memory of a tensor without its record, which counts its own writes."""

from __future__ import annotations

import io

import pytest

import flambeau
from flambeau import nn


def test_writes_through_data_are_not_noticed_by_what_was_saved() -> None:
    x = flambeau.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    shown = x.data
    shown.mul_(2)
    assert (shown.requires_grad, shown._is_view(), shown._version, x._version) == (False, False, 1, 0)
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    z = x.exp()
    x.detach().add_(1)
    assert x._version == 1
    z.data.zero_()
    z.sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_views_of_data_count_with_it() -> None:
    x = flambeau.arange(6.0)
    shown = x.data
    part = shown[1:4]
    part.zero_()
    assert (x.tolist(), x._version, shown._version, part._version) == ([0.0, 0.0, 0.0, 0.0, 4.0, 5.0], 0, 1, 1)


def test_data_is_the_same_memory() -> None:
    x = flambeau.arange(6.0)
    assert x.data.shares_storage(x)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a"):
        flambeau.add(x[:4], 1, out=x.data[1:5])
    x.data.copy_(x.flip(0))
    assert x.tolist() == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    stream = io.BytesIO()
    flambeau.save({"whole": x, "shown": x.data}, stream)
    stream.seek(0)
    loaded = flambeau.load(stream)
    loaded["whole"][0] = 9.0
    assert loaded["shown"][0].item() == 9.0


def test_who_is_given_other_memory_goes_on_counting() -> None:
    p = nn.Parameter(flambeau.ones(2))
    with flambeau.no_grad():
        p.add_(1)
    other = flambeau.zeros(3)
    p.data = other
    other.add_(1)
    assert (p.tolist(), p._version, other._version) == ([1.0, 1.0, 1.0], 1, 1)


def test_weights_are_clipped_between_a_call_and_its_way_back() -> None:
    layer = nn.Linear(2, 1)
    y = layer(flambeau.ones(3, 2))
    layer.weight.data.clamp_(-0.1, 0.1)
    y.sum().backward()
    assert layer.weight.grad.tolist() == [[3.0, 3.0]]


def test_data_of_what_was_made_in_inference_mode() -> None:
    with flambeau.inference_mode():
        inner = flambeau.ones(2)
    assert inner.data.is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        inner.data.add_(1)


def test_compiled_functions_see_what_is_written_through_data() -> None:
    @flambeau.script
    def moved(x: flambeau.Tensor) -> flambeau.Tensor:
        y = x * 1
        y.data.add_(1)
        return y

    assert moved(flambeau.ones(2)).tolist() == [2.0, 2.0]
