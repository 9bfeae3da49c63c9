"""What `assert_close` takes for close, and what it says of what is not."""

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.testing import assert_close

NAN = float("nan")


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 2.0 + 1e-6])),
        (flambeau.tensor([1.0 + 1e-8], dtype=flambeau.float64), flambeau.tensor([1.0], dtype=flambeau.float64)),
        (flambeau.tensor([2**62 + 1]), flambeau.tensor([2**62 + 1])),
        (flambeau.zeros(0, 3), flambeau.zeros(0, 3)),
        (flambeau.tensor([1 + 2j]), flambeau.tensor([1 + 2j])),
        (np.float64(1.5), np.float64(1.5)),
        ({"a": [flambeau.ones(2), 3]}, {"a": [flambeau.ones(2), 3]}),
        ("text", "text"),
        (flambeau.tensor([float("inf")]), flambeau.tensor([float("inf")])),
        (flambeau.ones(2, dtype=flambeau.bfloat16), flambeau.ones(2, dtype=flambeau.bfloat16) * 1.01),
        (flambeau.ones(2, requires_grad=True), flambeau.ones(2)),
    ],
)
def test_close(actual: Any, expected: Any) -> None:
    assert_close(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (flambeau.tensor([[1.0, 2.0]]), flambeau.tensor([[1.0, 2.5]]),
         "1 of 2 elements differ. The greatest absolute difference is 0.5 at (0, 1): 2.0, expected 2.5 (rtol 1.3e-06, "
         "atol 1e-05)"),
        (flambeau.tensor([NAN]), flambeau.tensor([NAN]),
         "1 of 1 elements differ. The greatest absolute difference is inf at (0,): nan, expected nan (rtol 1.3e-06, "
         "atol 1e-05)"),
        (flambeau.ones(2), flambeau.ones(3), "expected the shape (3,), got (2,)"),
        (flambeau.ones(2), flambeau.ones(2, dtype=flambeau.float64),
         "expected the dtype float64, got float32; check_dtype=False compares values"),
        ([1, 2], [1, 3], "[1]: 1 of 1 elements differ. The greatest absolute difference is 1.0 at (): 2, expected 3 "
         "(rtol 0, atol 0)"),
        ([1, 2], [1], "expected 1 items, got 2 items"),
        ({"a": 1}, {"b": 1}, "expected the keys [\"'b'\"], got [\"'a'\"]"),
        ("a", "b", "expected 'b', got 'a'"),
        (flambeau.tensor([2**62 + 1]), flambeau.tensor([2**62]), "1 of 1 elements differ."),
        ("a", flambeau.ones(1), "expected a Tensor, got a str"),
    ],
)  # fmt: skip
def test_not_close(actual: Any, expected: Any, message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected)
    assert str(caught.value).startswith(message)


def test_tolerances_are_given_together() -> None:
    with pytest.raises(ValueError, match="rtol and atol are given together, or neither"):
        assert_close(1.0, 1.0, rtol=0.1)
    assert_close(1.0, 1.1, rtol=0.1, atol=0.0)
    assert_close(flambeau.tensor([NAN]), flambeau.tensor([NAN]), equal_nan=True)
    assert_close(flambeau.ones(2), flambeau.ones(2, dtype=flambeau.float64), check_dtype=False)


def test_the_package_is_found_without_an_import_of_its_own() -> None:
    assert flambeau.testing.assert_close is assert_close
    assert flambeau.utils.data.Dataset
