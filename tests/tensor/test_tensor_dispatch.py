"""Binding of Python calls and the stack of interceptors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import flambeau as fb
from flambeau.schema import registry
from flambeau.tensor import dispatch

OUT = fb.empty(4)
TWO = fb.tensor(2)


def _overload(call) -> str:
    """The overload that a call reaches."""
    seen: list[str] = []

    def watch(definition, arguments, proceed):
        seen.append(definition.full_name)
        return proceed(arguments)

    with dispatch.intercepting(watch):
        call()
    return seen[0]


@pytest.mark.parametrize(
    ("call", "overload"),
    [
        (lambda x: fb.add(x, x), "aten::add.Tensor"),
        (lambda x: fb.add(x, 1), "aten::add.Scalar"),
        (lambda x: fb.add(x, np.float32(1)), "aten::add.Scalar"),
        (lambda x: fb.add(x, np.ones(4, np.float32)), "aten::add.Tensor"),
        (lambda x: fb.add(x, True), "aten::add.Scalar"),
        (lambda x: fb.add(1, 2), "aten::add.Tensor"),
        (lambda x: fb.add(input=x, other=x, alpha=2), "aten::add.Tensor"),
        (lambda x: fb.add(x, x2=x), "aten::add.Tensor"),
        (lambda x: fb.add(x, x, out=OUT), "aten::add.out"),
        (lambda x: fb.add(x, x, out=None), "aten::add.Tensor"),
        (lambda x: x.view(2, 2), "aten::view"),
        (lambda x: x.view(-1), "aten::view"),
        (lambda x: x.view([2, 2]), "aten::view"),
        (lambda x: x.view(fb.Size((2, 2))), "aten::view"),
        (lambda x: x.view(TWO, 2), "aten::view"),
        (lambda x: x.view(np.int64(2), 2), "aten::view"),
        (lambda x: x.view(fb.int32), "aten::view.dtype"),
        (lambda x: x.sum(), "aten::sum"),
        (lambda x: x.sum(0), "aten::sum.dim_IntList"),
        (lambda x: x.sum(axis=0, keepdims=True), "aten::sum.dim_IntList"),
        (lambda x: x.sum(dtype=float), "aten::sum"),
        (lambda x: x.split(2), "aten::split.Tensor"),
        (lambda x: x.split([1, 3]), "aten::split.sizes"),
        (lambda x: x.to("cpu"), "aten::to.prim_Device"),
        (lambda x: x.to(fb.float64), "aten::to.dtype"),
        (lambda x: x.to("cpu", fb.float64), "aten::to.device"),
        (lambda x: x.to(x), "aten::to.other"),
        (lambda x: x.to(dtype="int64"), "aten::to.dtype"),
        (lambda x: fb.arange(3), "aten::arange"),
        (lambda x: fb.arange(1, 3), "aten::arange.start"),
        (lambda x: fb.arange(1, 3, step=1), "aten::arange.start_step"),
        (lambda x: fb.zeros(2, 3), "aten::zeros"),
        (lambda x: fb.zeros((2, 3), dtype=np.int8), "aten::zeros"),
        (lambda x: fb.squeeze(x, (0,)), "aten::squeeze.dims"),
        (lambda x: fb.broadcast_tensors(x, x), "aten::broadcast_tensors"),
        (lambda x: x.max(0), "aten::max.dim"),
    ],
)
def test_overload_of_a_call(call, overload) -> None:
    x = fb.ones(4)
    assert _overload(lambda: call(x)) == overload


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: fb.add(x, "a"), "add(): argument 'other' (position 2) must be Tensor, not str"),
        (lambda x: fb.add(x), 'add() missing 1 required positional arguments: "other"'),
        (lambda x: fb.relu(), 'relu() missing 1 required positional arguments: "input"'),
        (lambda x: fb.relu(x, 1), "relu() takes 1 positional argument but 2 were given"),
        (lambda x: fb.relu(3), "relu(): argument 'input' (position 1) must be Tensor, not int"),
        (lambda x: fb.zeros(2, foo=1), "zeros() got an unexpected keyword argument 'foo'"),
        (lambda x: fb.relu(x, input=x), "relu() got multiple values for argument 'input'"),
        (lambda x: fb.permute(x, [0, "a"]), "but found element of type str at pos 1"),
        (
            lambda x: x.view(2.0),
            "view() received an invalid combination of arguments - got (Tensor, float), but expected",
        ),
        (lambda x: x.view(2.0), "didn't match because some of the arguments have invalid types: (Tensor, !float!)"),
        (lambda x: x.sum(dim="x"), "invalid combination of arguments - got (Tensor, dim=str), but expected one of:"),
        (lambda x: x.sum(foo=1), "didn't match because some of the keywords were incorrect: foo"),
        (lambda x: x.repeat(), 'repeat() missing 1 required positional arguments: "repeats"'),
        (lambda x: fb.linspace(0, 1), "linspace() received an invalid combination of arguments - got (int, int)"),
        (lambda x: fb.zeros(2, dtype="nothing"), "zeros(): argument 'dtype' must be torch.dtype, not str"),
        (lambda x: fb.bernoulli(x, generator=3), "bernoulli() received an invalid combination"),
    ],
)
def test_refusals(call, message) -> None:
    with pytest.raises(TypeError) as caught:
        call(fb.ones(4))
    assert message in str(caught.value)


def test_unknown_operator() -> None:
    with pytest.raises(KeyError, match=r"no operator aten::reluu; similar: .*aten::relu"):
        dispatch.call("aten::reluu", 1)


def test_lists_come_back_as_tuples_and_names_stay() -> None:
    assert type(fb.ones(4).split(2)) is tuple
    values, indices = found = fb.ones(2, 3).max(1)
    assert found.values is values
    assert found.indices is indices


def test_requires_grad_of_constructors() -> None:
    assert fb.zeros(2, requires_grad=True).requires_grad
    assert not fb.zeros(2, requires_grad=False).requires_grad


def test_interceptors_stack() -> None:
    order: list[str] = []

    def named(name):
        def handler(definition, arguments, proceed):
            order.append(f"{name}:{definition.name}")
            return proceed(arguments)

        return handler

    x = fb.ones(2)
    with dispatch.intercepting(named("outer")), dispatch.intercepting(named("inner")):
        x.relu()
        with dispatch.uninterrupted():
            x.relu()
            assert not dispatch.is_intercepted()
    assert order == ["inner:aten::relu", "outer:aten::relu"]
    assert not dispatch.is_intercepted()


def test_interceptors_change_arguments_and_results() -> None:
    def doubled(definition, arguments, proceed):
        return proceed(arguments) + 1

    with dispatch.intercepting(doubled):
        assert fb.ones(2).tolist() == [2.0, 2.0]


def test_a_failing_handler_leaves_the_stack() -> None:
    def failing(definition, arguments, proceed):
        raise RuntimeError("refused")

    with pytest.raises(RuntimeError, match="refused"), dispatch.intercepting(failing):
        fb.ones(2)
    assert not dispatch.is_intercepted()


def test_interceptors_belong_to_a_thread() -> None:
    seen: list[bool] = []
    with dispatch.intercepting(lambda d, a, p: p(a)):
        thread = threading.Thread(target=lambda: seen.append(dispatch.is_intercepted()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_functions_describe_themselves() -> None:
    assert fb.add.__name__ == "add"
    assert fb.add.__module__ == "flambeau"
    assert "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" in fb.add.__doc__
    assert registry.get("aten::add.Tensor").doc in fb.add.__doc__
