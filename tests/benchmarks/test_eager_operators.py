"""The table of operators by themselves, with times that are given."""

from __future__ import annotations

import pytest

import flambeau
from benchmarks import eager_operators
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
