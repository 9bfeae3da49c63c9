"""What Python callers see: functions, methods, modules, and help that helps."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as functional
from flambeau.ops import describe, surface
from flambeau.schema import registry


def test_functions_are_made_once() -> None:
    assert flambeau.gelu is flambeau.gelu
    assert flambeau.gelu.__name__ == "gelu"
    assert "gelu" in dir(flambeau)
    assert "special" in dir(flambeau)


def test_an_unknown_function_names_similar_ones() -> None:
    with pytest.raises(AttributeError, match=r"'avg_pool2d': it is flambeau\.nn\.functional\.avg_pool2d$"):
        _ = flambeau.avg_pool2d  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"'masked_fill_': it is a method of tensors, x\.masked_fill_"):
        _ = flambeau.masked_fill_  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="module 'flambeau' has no attribute 'sofplus'; similar: softplus"):
        _ = flambeau.sofplus
    with pytest.raises(AttributeError, match="has no attribute '__no_such_special__'"):
        _ = flambeau.__no_such_special__


def test_what_python_asks_for_by_itself_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flambeau.schema.registry.similar", pytest.fail)
    assert getattr(flambeau, "__module__", None) is None


def test_help_says_what_how_and_on_which_dtypes() -> None:
    text = inspect.getdoc(flambeau.gelu) or ""
    assert "standard normal distribution function" in text
    assert "gelu(self: Tensor, *, approximate: str = 'none') -> Tensor" in text
    assert "float16, bfloat16, float32, float64 -> the same" in text
    assert "int64" not in text
    assert 'aten::gelu(Tensor self, *, str approximate="none") -> Tensor' in text
    clamp = inspect.getdoc(flambeau.clamp) or ""
    assert "RuntimeError: At least one of 'min' or 'max' must not be None" in clamp
    assert "flambeau.clamp(flambeau.tensor([-2.0, 0.5, 2.0]), -1.0, 1.0)" in clamp
    whole = "bool, uint8, int8, int16, int32, int64, uint16, uint32, uint64"
    assert f"{whole} -> the default dtype" in (inspect.getdoc(flambeau.sqrt) or "")


def test_help_of_every_operator_can_be_written() -> None:
    for name in surface.function_names():
        assert describe.documentation(surface.definitions(f"aten::{name}")), name


def test_methods_put_the_tensor_where_self_stands() -> None:
    x, y = flambeau.tensor([1.0, 2.0]), flambeau.tensor([3.0, 4.0])
    condition = flambeau.tensor([True, False])
    assert x.where(condition, y).tolist() == [1.0, 4.0]
    assert x.add(y, alpha=2).tolist() == [7.0, 10.0]
    assert x.add_(1) is x


def test_functions_of_networks_work_in_place_too() -> None:
    x = flambeau.tensor([-1.0, 2.0])
    assert functional.relu(x).tolist() == [0.0, 2.0]
    assert x.tolist() == [-1.0, 2.0]
    assert functional.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]
    assert "gelu(self" in (functional.gelu.__doc__ or "")


def test_modules_by_prefix() -> None:
    x = flambeau.tensor([0.0])
    assert flambeau.special.expit(x).tolist() == [0.5]
    assert flambeau.special.__name__ == "flambeau.special"


def test_other_names_are_the_same_operator() -> None:
    x = wrap_values()
    pairs = (("acos", "arccos"), ("mul.Tensor", "multiply.Tensor"), ("clamp", "clip"), ("gt.Scalar", "greater.Scalar"))
    for first, other in pairs:
        assert registry.get(f"aten::{first}").scalar is registry.get(f"aten::{other}").scalar
    assert flambeau.multiply(x, x).tolist() == flambeau.mul(x, x).tolist()


def wrap_values() -> flambeau.Tensor:
    return flambeau.from_numpy(np.array([1.0, -2.0]))


@pytest.mark.parametrize("call", ["x.norm(dim=1)", "x.norm('fro')", "x.norm('nuc')", "x.norm(dim=0, keepdim=True)"])
def test_norms_as_methods_take_words_and_no_order(call: str) -> None:
    x = flambeau.arange(6.0).reshape(2, 3)
    wanted = eval(call.replace("x.norm(", "flambeau.norm(x, "))
    assert eval(call).tolist() == wanted.tolist()
    unit = flambeau.jit.CompilationUnit(f"def f(x):\n    return {call}\n")
    np.testing.assert_allclose(unit.f(x).numpy(), wanted.numpy(), rtol=1e-6)
