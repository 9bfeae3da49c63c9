"""Every call that `benchmarks.eager_wide` measures: elements, dtypes, sizes, strides and gradients are PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from benchmarks import eager_wide
from benchmarks.programs.wide_operands import WideOperands

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

DRAWN = {
    "F.dropout .5", "normal_", "uniform_", "rand", "randn", "randn_like", "rand_like", "randint", "randperm",
    "bernoulli", "multinomial", "normal", "D.Normal sample", "D.Normal rsample", "D.Cat sample", "D.Beta sample",
    "empty", "empty_like",
}  # fmt: skip
"""What gives other numbers each time."""
OTHER_STRIDES = {"nn.Bilinear"}
CALLS = [
    (name, call, name in module.CALLS)
    for module in eager_wide.MODULES
    for name, call in [*module.CALLS.items(), *module.PLAIN.items()]
    if name not in DRAWN
]


def elements(tensor: Any) -> Any:
    return np.array(tensor.detach().tolist())


def answer(library: Any, call: Callable[[Any], Any], asks: bool) -> tuple[Any, Any, list[Any]]:
    """What a call gives: what it is like, its elements, and the gradients of all leaves."""
    operands = WideOperands(library, asks=asks)
    result = call(operands)
    if not hasattr(result, "detach"):
        return repr(result).replace("flambeau", "torch"), None, []
    like = (str(result.dtype).split(".")[-1], tuple(result.shape), result.stride(), result.requires_grad)
    if not result.requires_grad:
        return like, elements(result), []
    weights = np.random.default_rng(1).standard_normal(tuple(result.shape)).astype(np.float32)
    result.backward(library.from_numpy(np.asarray(weights)).to(result.dtype))
    return like, elements(result), [None if leaf.grad is None else elements(leaf.grad) for leaf in operands.leaves]


@pytest.mark.parametrize(("name", "call", "asks"), CALLS, ids=[name for name, _, _ in CALLS])
def test_answers_are_pytorchs(name: str, call: Callable[[Any], Any], asks: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own, other = answer(flambeau, call, asks), answer(torch, call, asks)
    if name in OTHER_STRIDES:
        own, other = ((one[0][:2], *one[1:]) for one in (own, other))
    assert own[0] == other[0]
    if other[1] is not None:
        np.testing.assert_allclose(own[1], other[1], rtol=2e-4, atol=2e-5)
    assert [g is None for g in own[2]] == [g is None for g in other[2]]
    for mine, theirs in zip(own[2], other[2], strict=True):
        if theirs is not None:
            np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-4 * max(1.0, np.abs(theirs).max(initial=0)))


def test_a_table_has_a_row_per_call_and_means() -> None:
    rows: list[Any] = [("slow", [(4.0, 1.0), (2.0, 1.0), (8.0, 4.0)]), ("quick", [(1.0, 4.0), None, None])]
    table = eager_wide.report(rows)
    assert "| slow | 4.0 | 1.0 | 0.25 | 2.0 | 1.0 | 0.50 | 8.0 | 4.0 | 0.50 |" in table
    assert "the call: 1.00x of 2, 1 below 0.5x" in table
    assert table.index("slow") < table.index("quick")


def test_what_asks_for_nothing_has_no_way_back() -> None:
    operands = [WideOperands(library, asks=False) for library in (flambeau, torch)]
    assert eager_wide.and_back(lambda o: o.x, operands) is None
