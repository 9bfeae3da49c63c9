"""The way back through operators that come often runs as one plan, with the bits of the formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.autograd.rule import rule_of
from flambeau.executor import background, plan_comparison, repeated_operators
from flambeau.schema import registry
from flambeau.tensor import repeated_kernels
from flambeau.util.missed import missed
from flambeau.util.native_type import is_supported

HAS_CODE = is_supported() and repeated_operators.available()
pytestmark = pytest.mark.skipif(not HAS_CODE, reason="there is no native code here")
OFTEN = 4
ROWS, COLUMNS = fb.tensor([0, 5, 0, 2]), fb.tensor([[1], [0], [7], [7], [3], [2]])
MASK = fb.from_numpy(np.random.default_rng(4).standard_normal((6, 8)) > 0)
CALLS: dict[str, Callable[[Any], Any]] = {
    "aten::gather": lambda x: x.gather(1, COLUMNS),
    "aten::index_select": lambda x: x.index_select(0, ROWS),
    "aten::flip": lambda x: x.flip(0),
    "aten::take": lambda x: x.take(ROWS),
    "aten::masked_fill.Scalar": lambda x: x.masked_fill(MASK, 2.0),
    "aten::scatter.value": lambda x: x.scatter(1, COLUMNS, 1.0),
    "aten::triu": lambda x: x.triu(1),
}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plans after few calls, made at once, and taken whatever their time."""
    monkeypatch.setenv(background.VARIABLE, "off")
    monkeypatch.setattr(repeated_kernels, "LOOKED_AT", OFTEN)
    monkeypatch.setattr(repeated_operators, "FROM_LLVM", OFTEN)
    monkeypatch.setattr(plan_comparison, "GAIN", 1e9)
    repeated_kernels._forget_all()
    yield
    repeated_kernels._forget_all()


def native_gradients(full_name: str) -> list[Any]:
    """What the gradients of an overload by its first operand are looked up in."""
    rule = rule_of(registry.get(full_name))
    assert rule is not None
    quicks: list[Any] = [known.quick for known in rule._calls.values() if known.quick is not None]
    found = [quick.__globals__["find"].__self__.values() for quick in quicks if "find" in quick.__globals__]
    return [native for natives in found for native in natives if type(native) is not list]


def numbers(*sizes: int) -> Any:
    array = np.random.default_rng(3).standard_normal(sizes).astype(np.float32)
    array[0] = -0.0
    return fb.from_numpy(array)


def gradient(call: Callable[[Any], Any], *, like: Callable[[Any], Any] = fb.ones_like) -> Any:
    x = numbers(6, 8).requires_grad_()
    result = call(x)
    result.backward(like(result.detach()))
    array = x.grad.numpy()
    return array.dtype, array.shape, array.strides, array.tobytes()


@pytest.mark.parametrize("name", CALLS)
def test_native_gradients_have_the_bits_of_the_formulas(name: str) -> None:
    def hostile(result: Any) -> Any:
        weights = numbers(*result.shape)
        weights.reshape(-1)[:4] = fb.tensor([np.nan, np.inf, -0.0, 1e-45])
        return weights

    plain, odd = gradient(CALLS[name]), gradient(CALLS[name], like=hostile)
    for _ in range(3 * OFTEN):
        assert gradient(CALLS[name]) == plain
    assert any(native is not missed for native in native_gradients(name))
    assert gradient(CALLS[name]) == plain
    assert gradient(CALLS[name], like=hostile) == odd


def test_second_derivatives_go_through_the_formulas() -> None:
    def second() -> Any:
        x = numbers(6, 8).requires_grad_()
        (first,) = fb.autograd.grad((x.gather(1, COLUMNS) ** 3).sum(), x, create_graph=True)
        (result,) = fb.autograd.grad(first.sum(), x)
        return result.numpy().tobytes()

    expected = second()
    for _ in range(3 * OFTEN):
        gradient(CALLS["aten::gather"])
        assert second() == expected


def test_what_was_written_since_is_refused() -> None:
    for _ in range(3 * OFTEN):
        gradient(CALLS["aten::gather"])
    x, index = numbers(6, 8).requires_grad_(), COLUMNS.clone()
    result = x.gather(1, index)
    index.add_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_other_sizes_are_other_calls() -> None:
    for _ in range(3 * OFTEN):
        gradient(CALLS["aten::index_select"])
    x = numbers(9, 3).requires_grad_()
    x.index_select(0, ROWS).sum().backward()
    expected = np.zeros((9, 3), np.float32)
    np.add.at(expected, ROWS.numpy(), 1.0)
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_operators_that_show_memory_have_gradients_that_do() -> None:
    for _ in range(3 * OFTEN):
        gradient(lambda x: x.reshape(-1))
    assert native_gradients("aten::reshape") == []


def test_gradients_that_show_memory_are_looked_at_once() -> None:
    for _ in range(3 * OFTEN):
        gradient(lambda x: x.sum())
    rule = rule_of(registry.get("aten::sum"))
    assert rule is not None
    scopes: list[Any] = [known.quick.__globals__ for known in rule._calls.values() if known.quick is not None]
    natives = [scope["find"].__self__ for scope in scopes if "find" in scope]
    assert any(native is repeated_kernels.missed for known in natives for native in known.values())
    repeated_kernels._forget_all()
    assert not any(natives)
