"""What `assert_close` takes for close, and what it says of what is not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.testing import assert_allclose, assert_close

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
        ((1.0, True, None), [1.0, True, None]),
        ([], ()),
        (np.float32(2), 2.0),
        (flambeau.tensor([float("inf")]), flambeau.tensor([float("inf")])),
        (flambeau.ones(2, dtype=flambeau.bfloat16), flambeau.ones(2, dtype=flambeau.bfloat16) * 1.01),
        (flambeau.ones(2, requires_grad=True), flambeau.ones(2)),
    ],
)
def test_close(actual: Any, expected: Any) -> None:
    assert_close(actual, expected)


MISTAKES: list[Callable[[Any], tuple[Any, Any]]] = [
    lambda lib: (lib.tensor([[1.0, 2.0]]), lib.tensor([[1.0, 2.5]])),
    lambda lib: (lib.tensor([NAN, 3.0, 1.0]), lib.tensor([NAN, 1.0, 1.0])),
    lambda lib: (lib.tensor([3.0, 1.0]), lib.tensor([0.0, 1.0])),
    lambda lib: (lib.tensor(1.0), lib.tensor(2.0)),
    lambda lib: (lib.tensor([True, False]), lib.tensor([False, False])),
    lambda lib: (lib.tensor([1 + 1j]), lib.tensor([2 + 1j])),
    lambda lib: (lib.tensor([2**62 + 1]), lib.tensor([2**62])),
    lambda lib: (lib.ones(2), lib.ones(3)),
    lambda lib: (lib.ones(2), lib.ones(2).double()),
    lambda lib: ([lib.ones(2), [1, 2]], [lib.ones(2), [1, 3]]),
    lambda lib: ({"a": {"b": 1.0}}, {"a": {"b": 1.5}}),
    lambda lib: ([1, 2], [1]),
    lambda lib: ({"a": 1, "c": 2}, {"b": 1, "c": 2}),
    lambda lib: (1, 1.0),
    lambda lib: (True, False),
    lambda lib: (NAN, NAN),
    lambda lib: (2j, 1j),
    lambda lib: (None, lib.ones(1)),
    lambda lib: ("a", "a"),
    lambda lib: ([1], "a"),
    lambda lib: (np.ones(2), np.zeros(2)),
    lambda lib: (np.ones(1), [1.0]),
    lambda lib: (lib.ones(1), [1.0]),
]


@pytest.mark.parametrize("mistake", range(len(MISTAKES)))
def test_said_as_in_pytorch(mistake: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    testing = pytest.importorskip("torch.testing")
    texts = []
    for lib, check in ((flambeau, assert_close), (torch, testing.assert_close)):
        with pytest.raises((AssertionError, TypeError)) as caught:
            check(*MISTAKES[mistake](lib))
        text = f"{type(caught.value).__name__}: {caught.value}"
        texts.append(text.replace("flambeau.tensor.tensor.Tensor", "torch.Tensor").replace("flambeau", "torch"))
    assert texts[0] == texts[1]


def test_as_it_was() -> None:
    with pytest.warns(FutureWarning, match=r"assert_allclose\(\)` is deprecated"):
        assert_allclose(flambeau.ones(2), 1.0)
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match=r"up to 0\.0001 allowed"):
        assert_allclose(flambeau.ones(2), [1.0, 2.0])


def test_tolerances_are_given_together() -> None:
    with pytest.raises(ValueError, match="must be either specified or omitted, but got no atol"):
        assert_close(1.0, 1.0, rtol=0.1)
    assert_close(1.0, 1.1, rtol=0.1, atol=0.0)
    assert_close(flambeau.tensor([NAN]), flambeau.tensor([NAN]), equal_nan=True)
    assert_close(flambeau.ones(2), flambeau.ones(2, dtype=flambeau.float64), check_dtype=False)


def test_the_package_is_found_without_an_import_of_its_own() -> None:
    assert flambeau.testing.assert_close is assert_close
    assert flambeau.utils.data.Dataset
