"""Attributes that users give tensors: they are the object's own, and go where the object goes."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import Buffer, Linear, Parameter


def saved(value: Any) -> Any:
    file = io.BytesIO()
    flambeau.save({"here": value}, file)
    file.seek(0)
    return flambeau.load(file)["here"]


KEPT: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy, "pickle": lambda x: pickle.loads(pickle.dumps(x)), "save": saved, "itself": lambda x: x.float(),
}  # fmt: skip
NEW: dict[str, Callable[[Any], Any]] = {
    "detach": Tensor.detach, "clone": Tensor.clone, "view": lambda x: x.view(-1), "sum": lambda x: x + 1,
    "double": Tensor.double, "Parameter": Parameter,
}  # fmt: skip
MAKERS = {"Tensor": lambda x: x, "Parameter": Parameter, "Buffer": Buffer}


def tagged(kind: str) -> Any:
    x = MAKERS[kind](flambeau.ones(2))
    x.tag, x.parts = "rows", [1, {"deep": flambeau.zeros(1)}]
    return x


@pytest.mark.parametrize("kind", MAKERS)
def test_where_attributes_go(kind: str) -> None:
    x = tagged(kind)
    for name, function in KEPT.items():
        result = function(x)
        assert (result.tag, result.parts[0], result.parts[1]["deep"].tolist()) == ("rows", 1, [0.0]), name
        assert flambeau.equal(result, x)
    for name, function in NEW.items():
        assert not hasattr(function(x), "tag"), name


def test_deep_copies() -> None:
    x, parameter = tagged("Tensor"), tagged("Parameter")
    x.itself = x
    other = copy.deepcopy(x)
    assert other.itself is other
    assert other.parts[1]["deep"] is not x.parts[1]["deep"]
    assert not hasattr(copy.deepcopy(parameter), "tag")  # as in PyTorch: a parameter is made of the data alone
    layer = Linear(2, 2)
    layer.weight.decays = False  # type: ignore[attr-defined]
    assert layer.double().weight.decays is False  # type: ignore[attr-defined]


def test_results_of_native_calls() -> None:
    x = flambeau.ones(4)
    results = [x + k for k in range(3000)]  # from Python's loops to machine code, which makes the objects itself
    for k, result in enumerate(results):
        result.k = k  # type: ignore[attr-defined]
    assert [r.k for r in results] == list(range(3000))  # type: ignore[attr-defined]
    assert vars(x) == {}


def test_cycles_are_collected() -> None:
    x = flambeau.ones(2) + 1
    x.itself = x  # type: ignore[attr-defined]
    reference = weakref.ref(x)
    del x
    gc.collect()
    assert reference() is None


def test_what_tensors_have_stays() -> None:
    x = tagged("Tensor")
    with pytest.raises(AttributeError):
        x.shape = (3,)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        x.nothing  # noqa: B018
    del x.tag
    assert not hasattr(x, "tag")
    assert list(vars(x)) == ["parts"]


@pytest.mark.parametrize("kind", ["Tensor", "Parameter"])
def test_files_of_pytorch(kind: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(2) if kind == "Tensor" else torch.nn.Parameter(torch.ones(2))
    x.tag = "theirs"
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    ours = flambeau.load(file)
    assert (ours.tag, type(ours).__name__) == ("theirs", kind)
    file = io.BytesIO()
    flambeau.save(ours, file)
    file.seek(0)
    back = torch.load(file, weights_only=True)
    assert (back.tag, type(back), back.tolist()) == ("theirs", type(x), [1.0, 1.0])
