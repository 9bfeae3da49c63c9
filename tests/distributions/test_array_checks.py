"""Constraints asked by NumPy: the answers are those of their `check`, for numbers of every kind."""

from __future__ import annotations

import math
from typing import Any

import pytest

import flambeau as fb
from flambeau.distributions import Categorical, constraints
from flambeau.distributions.constraints import Constraint, array_checks

SETS = [
    constraints.real, constraints.real_vector, constraints.simplex, constraints.positive, constraints.nonnegative,
    constraints.unit_interval, constraints.boolean, constraints.nonnegative_integer, constraints.positive_integer,
    constraints.interval(0, 2), constraints.interval(-0.5, 0.1), constraints.half_open_interval(0, 1),
    constraints.integer_interval(0, 1), constraints.greater_than(0.0), constraints.greater_than(0.1),
    constraints.greater_than_eq(0), constraints.less_than(1), constraints.less_than(0.1),
    constraints.independent(constraints.positive, 1), constraints.interval(fb.tensor(0.0), fb.tensor(1.0)),
    constraints.lower_triangular, constraints.independent(constraints.simplex, 1),
]  # fmt: skip
VALUES = [
    [[0.25, 0.75], [1.0, 0.0]], [[0.25, 0.7], [1.0, 0.0]], [[0.5, math.nan], [0.5, 0.5]], [[math.inf, -math.inf]],
    [[-0.0, 1.0]], [[0.0, 1.0], [1.0, 1.0]], [[1.5, 0.5]], [[2.0, 3.0]], [[0.1, 0.1]], [[1e-300, 1.0]], [[-1.0, 2.0]],
    [[0.5, 0.500009]], [[0.5, 0.50002]],
]  # fmt: skip


def answers(constraint: Constraint, value: fb.Tensor) -> list[Any]:
    """What is said of a tensor, and what its check says."""
    results = []
    for ask in (array_checks.are_met, lambda c, v: bool(c.check(v).all())):
        try:
            results.append(ask(constraint, value))
        except (ValueError, RuntimeError) as error:
            results.append(str(error))
    return results


@pytest.mark.parametrize("constraint", SETS, ids=repr)
@pytest.mark.parametrize("dtype", [fb.float32, fb.float64, fb.float16, fb.int64, fb.int8, fb.bool])
def test_answers_are_those_of_the_check(constraint: Constraint, dtype: Any) -> None:
    for numbers in VALUES:
        if dtype not in (fb.float32, fb.float64, fb.float16):
            numbers = [[round(n) if math.isfinite(n) else 3 for n in row] for row in numbers]
        value = fb.tensor(numbers, dtype=dtype)
        for one in (value, value.t(), value[0], value[0, 0], value[:0], fb.nn.Parameter(value, requires_grad=False)):
            asked, checked = answers(constraint, one)
            assert asked == checked, (numbers, one)


def test_classes_of_users_are_asked_themselves() -> None:
    class even(constraints.integer_interval):  # noqa: N801  # as the others are called
        def check(self, value: fb.Tensor) -> fb.Tensor:
            return value % 2 == 0

    assert array_checks.are_met(even(0, 1), fb.tensor([2, 8]))
    assert not array_checks.are_met(even(0, 9), fb.tensor([2, 3]))


def test_weights_below_zero_are_refused_beside_nan() -> None:
    for weights in ([1.0, -1.0], [math.nan, -1.0], [[0.5, 0.5], [1.0, -1e-9]]):
        with pytest.raises(ValueError, match="probs are weights that are 0 or more"):
            Categorical(fb.tensor(weights), validate_args=False)
    Categorical(fb.tensor([math.nan, 1.0]), validate_args=False)
    with pytest.raises(ValueError, match="simplex"):
        Categorical(fb.tensor([math.nan, 1.0]))
    assert Categorical(fb.tensor([-0.0, 2.0])).probs.tolist() == [0.0, 1.0]
