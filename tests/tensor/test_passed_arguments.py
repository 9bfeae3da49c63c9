"""What calls of operators take in the place of numbers, dims and dtypes, and what they say of anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau

X = flambeau.tensor([[3.0, 1.0], [2.0, 4.0]])
PAIR = flambeau.tensor([0.25, 0.75])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: flambeau.argmax(X, PAIR), "argmax(): argument 'dim' (position 2) must be int, not Tensor"),
        (lambda: flambeau.amax(X, PAIR), "amax(): argument 'dim' (position 2) must be tuple of ints, not Tensor"),
        (lambda: flambeau.full((2,), PAIR), "full(): argument 'fill_value' (position 2) must be Number, not Tensor"),
        (lambda: flambeau.unsqueeze(X, [1, 2]), "unsqueeze(): argument 'dim' (position 2) must be int, not list"),
        (lambda: flambeau.unbind(X, (0, 1)), "unbind(): argument 'dim' (position 2) must be int, not tuple"),
        (
            lambda: flambeau.permute(X, [0, "a"]),
            "permute(): argument 'dims' (position 2) must be tuple of ints, but found element of type str at pos 1",
        ),
        (lambda: flambeau.vsplit(X, dtype=flambeau.int64), "got (Tensor, dtype=torch.dtype), but expected one of"),
        (lambda: flambeau.softmax(X, 1, -1), "softmax(): argument 'dtype' (position 3) must be torch.dtype, not int"),
        (lambda: flambeau.flip(X, None), "flip(): argument 'dims' (position 2) must be tuple of ints, not NoneType"),
    ],
)
def test_what_is_no_number_or_dtype_is_named(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert text in str(raised.value)


def test_none_stands_for_lists_that_are_empty_by_default() -> None:
    assert flambeau.amax(X, None).item() == 4
    assert flambeau.amin(X, dim=None).item() == 1
    assert flambeau.equal(flambeau.roll(X, 1, None), flambeau.roll(X, 1))
    assert flambeau.argmax(X, flambeau.tensor(0)).tolist() == [0, 1]


def test_equal_compares_across_dtypes() -> None:
    ones = flambeau.ones(2)
    assert flambeau.equal(ones, ones.to(flambeau.int8))
    assert not flambeau.equal(flambeau.tensor([200], dtype=flambeau.uint8), flambeau.tensor([-56], dtype=flambeau.int8))
    assert not flambeau.equal(ones, flambeau.ones(3, dtype=flambeau.int64))

    @flambeau.script
    def same(x: flambeau.Tensor, y: flambeau.Tensor) -> bool:
        return flambeau.equal(x, y)

    assert same(ones, ones.to(flambeau.float64))


def test_reversed_turns_the_first_dimension() -> None:
    assert X.__reversed__().tolist() == [[2, 4], [3, 1]]
    assert flambeau.tensor(3).__reversed__().item() == 3


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_distinct_rows_of_no_rows(name: str) -> None:
    rows, places = getattr(flambeau, name)(flambeau.zeros(0, 3), dim=0, return_inverse=True)
    assert tuple(rows.shape) == (0, 3)
    assert tuple(places.shape) == (0,)


def test_refusals_of_bools_and_counts() -> None:
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"):
        flambeau.tensor([1, 2]) - True
    with pytest.raises(NotImplementedError, match="\"cross\" not implemented for 'Bool'"):
        flambeau.cross(flambeau.ones(3, dtype=flambeau.bool), flambeau.ones(3, dtype=flambeau.bool))
    with pytest.raises(IndexError, match="same number of elements"):
        flambeau.zeros(4).put_(flambeau.tensor([0, 1]), flambeau.ones(3))
