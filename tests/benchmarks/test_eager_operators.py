"""The table of operators by themselves, with times that are given."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from benchmarks import eager_operators
from benchmarks.programs import large_eager_calls
from benchmarks.programs.eager_calls import CALLS, Operands


def test_the_table_begins_with_the_slowest_and_ends_with_means() -> None:
    found = [("fast", [(1.0, 2.0), (2.0, 4.0)]), ("slow", [(4.0, 8.0), (2.0, 4.0)])]
    lines = eager_operators.report(found).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:4]] == ["slow", "fast"]
    assert lines[-1] == "geometric means: 1.00x, and back 1.00x"


@pytest.mark.parametrize("name", CALLS)
def test_each_call_has_a_way_back(name: str) -> None:
    result = CALLS[name](Operands(flambeau))
    result.backward(flambeau.ones_like(result))
    assert result.grad_fn is not None


@pytest.mark.parametrize("name", large_eager_calls.CALLS)
def test_each_call_on_large_arrays_is_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    answers = []
    for library in (flambeau, torch):
        operands = large_eager_calls.LargeOperands(library)
        result = large_eager_calls.CALLS[name](operands)
        result.backward(library.ones_like(result))
        asked = [x for x in vars(operands).values() if isinstance(x, library.Tensor) and x.grad is not None]
        answers.append([result.detach().numpy(), *(x.grad.numpy() for x in asked)])
    assert len(answers[0]) == len(answers[1])
    for ours, theirs in zip(*answers, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3 * max(1.0, float(np.abs(theirs).max())))
