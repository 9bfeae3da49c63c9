"""How much Python a call of an operator takes: counted in calls of functions, which do not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import flambeau as fb
from flambeau.codegen.llvm.engine import available
from flambeau.tensor import dispatch, grad_mode, repeated_kernels
from flambeau.util import made_objects

VIEWS = {
    "x[1:3]": lambda x: x[1:3],
    "x[1]": lambda x: x[1],
    "x[1, 1:3]": lambda x: x[1, 1:3],
    "x.T": lambda x: x.T,
    "x.t()": lambda x: x.t(),
    "x.transpose(0, 1)": lambda x: x.transpose(0, 1),
    "x.permute(1, 0)": lambda x: x.permute(1, 0),
    "x.view(2, 8)": lambda x: x.view(2, 8),
    "x.view(-1)": lambda x: x.view(-1),
    "x.reshape(2, 8)": lambda x: x.reshape(2, 8),
    "x.flatten()": lambda x: x.flatten(),
    "x.unsqueeze(0)": lambda x: x.unsqueeze(0),
    "x.unsqueeze(-1)": lambda x: x.unsqueeze(-1),
    "x.squeeze()": lambda x: x.squeeze(),
    "x.expand(3, 4, 4)": lambda x: x.expand(3, 4, 4),
    "x.expand(3, -1, -1)": lambda x: x.expand(3, -1, -1),
}


def python_calls(call: Callable[[Any], Any], x: Any) -> int:
    """How many Python functions a call enters, once it has come often."""
    for _ in range(repeated_kernels.LOOKED_AT + 2):
        call(x)
    entered = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal entered
        entered += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call(x)
    finally:
        sys.setprofile(before)
    return entered - 1  # the function itself


@pytest.fixture(scope="module")
def native_makers() -> None:
    """Views are made natively from the moment on when eager calls have native code."""
    x = fb.ones(16)
    for _ in range(20_000):
        x + x
    if available():
        assert made_objects._native.address


@pytest.mark.usefixtures("native_makers")
@pytest.mark.parametrize("name", VIEWS)
def test_c19_a_view_takes_few_calls(name: str) -> None:
    guard = 2 * grad_mode.has_asked()  # once a tensor asked for gradients, calls look for those that do
    assert python_calls(VIEWS[name], fb.ones(4, 4)) <= 6 + guard


def test_c19_strides_of_views_stay_what_they_are() -> None:
    x = fb.arange(6).view(2, 3)
    assert x.unsqueeze(0).stride() == (6, 3, 1)
    assert x.unsqueeze(1).stride() == (3, 3, 1)
    assert x.unsqueeze(-1).stride() == (3, 1, 1)
    assert fb.ones(1, 3).unsqueeze(1).stride() == (3, 3, 1)
    assert x.expand(4, 2, 3).stride() == (0, 3, 1)
    assert fb.ones(2, 1).expand(2, 5).stride() == (1, 0)
    assert fb.ones(2, 1).expand(1, 2, 5).stride() == (2, 1, 0)
    assert x.T.unsqueeze(0).stride() == (3, 1, 3)


def test_c19_calls_of_known_types_are_still_intercepted() -> None:
    x = fb.ones(4)
    calls = [lambda: x + x, lambda: -x, lambda: x.T, lambda: x.view(2, 2), lambda: fb.add(x, 1), lambda: x[1:3]]
    for call in calls:
        call()  # its types are known from here on
        seen: list[str] = []
        with dispatch.intercepting(lambda d, a, proceed, seen=seen: (seen.append(d.name), proceed(a))[1]):
            call()
        assert seen


def test_c19_an_operator_that_is_asked_for_early_sees_later_overloads() -> None:
    early = dispatch.operator_of("test_c19::later")
    with pytest.raises(KeyError, match="no operator test_c19::later"):
        dispatch.operator("test_c19::later")

    @fb.library.custom_op("test_c19::later", mutates_args=())
    def later(x: fb.Tensor) -> fb.Tensor:
        return x + 1

    assert early(fb.zeros(2)).tolist() == [1.0, 1.0]
    assert dispatch.operator("test_c19::later") is early
