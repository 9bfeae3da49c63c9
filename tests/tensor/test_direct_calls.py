"""Calls with lists or keywords that were made before: no argument is looked at in Python, only types are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.schema.direct_call import direct_call
from flambeau.tensor import dispatch
from flambeau.tensor.call_keys import call_key, kind_of, types_in
from flambeau.tensor.dispatch import operator_of

X = fb.arange(12.0).reshape(3, 4)
ROWS = fb.tensor([0, 2])
CALLS: dict[str, Callable[[Any], Any]] = {
    "cat": lambda x: fb.cat([x, x]),
    "stack": lambda x: fb.stack((x, x), dim=1),
    "full": lambda x: fb.full((2, 3), 1.5),
    "zeros": lambda x: fb.zeros((2, 3), dtype=fb.int64),
    "sum": lambda x: x.sum(dim=1, keepdim=True),
    "long": lambda x: x.long(),
    "index": lambda x: x[ROWS],
    "permute": lambda x: x.permute(dims=(1, 0)),
    "split": lambda x: x.split([1, 2], dim=0)[1],
    "max": lambda x: x.max(dim=1).values,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("asks", [False, True])
def test_no_binding_is_looked_for(name: str, asks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x = X.clone().requires_grad_(asks)
    expected = CALLS[name](x)

    def refuse(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("the call was looked at")

    monkeypatch.setattr(dispatch.Operator, "binding", refuse)
    monkeypatch.setattr(dispatch, "run", refuse)
    again = CALLS[name](x)
    assert (again.tolist(), again.dtype, again.requires_grad) == (
        expected.tolist(), expected.dtype, expected.requires_grad,
    )  # fmt: skip


def test_types_decide_and_types_of_what_lies_in_lists() -> None:
    x, y = fb.ones(2), fb.zeros(3)
    same = [((x, [1, 2]), {}), ((y, [3, 4]), {})]
    assert len({call_key(*one) for one in same}) == 1
    others: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x, [1, 2]), {}), ((x, [1]), {}), ((x, [1, 2, 3]), {}), ((x, (1, 2)), {}), ((x, [1.0, 2]), {}),
        ((x, [None, x]), {}), ((x, [x, x]), {}), ((x,), {"dim": [1, 2]}), ((x,), {"size": [1, 2]}), ((x, True), {}),
        ((x, x.shape), {}), ((x, 1), {}),
    ]  # fmt: skip
    assert len({call_key(*one) for one in others}) == len(others)
    assert call_key((x, [1, 2, 3]), {}) == call_key((x, [1, 2, 3, 4]), {})


@pytest.mark.parametrize("inside", [[[1, 2]], [(1,)], [np.float32(1)], [print], [1, [2]]], ids=repr)
def test_what_lies_in_lists_of_lists_is_looked_at_each_time(inside: Any) -> None:
    assert call_key((inside,), {}) is None


def test_types_in_lists_are_listed() -> None:
    assert types_in((1, [2.0, "a"]), {"key": (None,)}) == [int, list, float, str, tuple, type(None)]
    assert kind_of([1, 2]) is kind_of([3]) is not list
    assert kind_of([1.0]) is list


def test_a_call_puts_arguments_where_the_schema_has_them() -> None:
    called = direct_call(lambda *a: a, ["", "a1", "a0"], [(0, "first"), (3, "last")], [(1, str)], list, 2)
    assert called(1, 2) == ["first", "2", 1, "last"]


def test_a_tensor_that_asks_later_is_recorded() -> None:
    for _ in range(3):
        assert not fb.cat([X, X]).requires_grad
    leaf = X.clone().requires_grad_()
    joined = fb.cat([leaf, X], dim=1)
    assert joined.grad_fn.name() == "CatBackward0"
    joined.sum().backward()
    assert leaf.grad.tolist() == fb.ones(3, 4).tolist()
    total = leaf.sum(dim=1, keepdim=True)
    assert (total.requires_grad, total.shape) == (True, (3, 1))


def test_modes_transforms_and_subclasses_are_asked_all_the_same() -> None:
    class Told(fb.Tensor):
        pass

    assert type(fb.cat([X.as_subclass(Told), X])) is Told
    assert fb.vmap(lambda x: fb.cat([x, x]))(X).shape == (3, 8)
    grad = fb.func.grad(lambda x: fb.stack([x, x]).sum(dim=(0, 1, 2)))(X)
    assert grad.tolist() == (2 * fb.ones(3, 4)).tolist()
    with fb.device("meta"):
        assert fb.zeros((2, 3)).device.type == "meta"
    assert fb.zeros((2, 3)).device.type == "cpu"


def test_an_overload_that_is_registered_later_is_looked_for() -> None:
    target = operator_of("aten::cat")
    fb.cat([X, X])
    assert target.direct(call_key(([X, X],), {})) is not None
    target.forget()
    assert target.direct(call_key(([X, X],), {})) is None
    assert fb.cat([X, X]).shape == (6, 4)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: fb.cat([X, 3]), TypeError),
        (lambda: fb.cat([]), ValueError),
        (lambda: fb.full((2, -3), 1.0), RuntimeError),
        (lambda: X.sum(dim=[0, 5]), IndexError),
        (lambda: X.sum(dims=1), TypeError),
    ],
)
def test_what_is_refused_stays_refused_behind_calls_that_are_not(call: Callable[[], Any], error: type) -> None:
    fb.cat([X, X])
    fb.full((2, 3), 1.0)
    X.sum(dim=[0, 1])
    with pytest.raises(error):
        call()
