"""`library.opcheck`: each check on an operator that holds it, and on one that does not."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.jit.operator_checks import OpCheckError
from flambeau.library import custom_op, opcheck

ALL = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@custom_op("test_checks::scaled", mutates_args=())
def scaled(x: Tensor, by: float = 2.0) -> Tensor:
    return x.detach() * by


scaled.register_fake(lambda x, by=2.0: flambeau.empty_like(x))


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.by = inputs[1]


scaled.register_autograd(lambda ctx, gradient: (gradient * ctx.by, None), setup_context=_setup)


@custom_op("test_checks::writes", mutates_args=())
def writes(x: Tensor) -> Tensor:
    with flambeau.no_grad():
        x.add_(1)
    return x * 2


writes.register_fake(lambda x: flambeau.empty(5, device="meta"))


def shares(x: Tensor) -> Tensor:
    return x


library = flambeau.library.Library("test_checks", "FRAGMENT")
library.define("shares(Tensor x) -> Tensor")
library.impl("shares", shares, "CPU")


@pytest.mark.parametrize("asks", [False, True])
def test_an_operator_that_holds_all(asks: bool) -> None:
    results = opcheck(scaled, (flambeau.tensor([1.0, float("nan")], requires_grad=asks), 3.0))
    assert results == dict.fromkeys(ALL, "SUCCESS")
    assert opcheck(flambeau.ops.aten.add.Tensor, (flambeau.ones(2), 1)) == dict.fromkeys(ALL, "SUCCESS")


FAILS = {
    "written": (writes, "test_schema", False, "Argument x is not defined as mutable but was mutated"),
    "shared": (
        flambeau.ops.test_checks.shares, "test_schema", False, "Argument x is not defined to alias output but was",
    ),
    "no formula": (writes, "test_autograd_registration", True, "has no formula of its own"),
    "fake": (writes, "test_faketensor", False, r"result 0 has shape .*\[2\]\), but its fake has .*\[5\]"),
    "no fake": (flambeau.ops.test_checks.shares, "test_faketensor", False, "there was no fake impl or Meta kernel"),
}  # fmt: skip


@pytest.mark.parametrize(("op", "test", "asks", "text"), FAILS.values(), ids=FAILS)
def test_operators_that_do_not(op: Any, test: str, asks: bool, text: str) -> None:
    x = flambeau.ones(2, requires_grad=asks)
    with pytest.raises(OpCheckError, match=rf"opcheck\(op, \.\.\.\): {test} failed with .*{text}"):
        opcheck(op, (x,), test_utils=test)
    results = opcheck(op, (x,), test_utils=(test,), raise_exception=False)
    assert isinstance(results[test], Exception)


def test_checks_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="opcheck: there is no check 'test_nope'; there are test_schema, "):
        opcheck(scaled, (flambeau.ones(1),), test_utils="test_nope")
