"""Index expressions by few calls of operators: what the full way gives, on tensors that ask for gradients too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.tensor.index import get_item_by_operators
from flambeau.tensor.quick_index import picked, plain_view, shown

KEYS: list[Any] = [
    0, -1, 2, 3, -4, slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(5, 1), slice(0, 99),
    None, ..., (0, 1), (slice(None), 1), (slice(1, 3), slice(None, None, 2)), (..., 0), (0, ...), (..., slice(1, 2)),
    (slice(None), None), (None, 0, None), (0, ..., 1), (..., ...), (..., None, 0), (0, 1, 2), (slice(None, None, -1),),
    (1, 9), (), (slice(None), slice(None)), True, (0, True), [0, 2], [True, False, True], [[0, 1], [1, 2]],
]  # fmt: skip
PLACES: list[Any] = [
    np.array([0, 2, 2]), np.array([-1, -3]),
    np.array([[0], [1]]), np.array([3]), np.array([-4]), np.array([], np.int64),
    np.array([True, False, True]), np.array([True, False]), np.array(1), np.array([0, 1], np.int32),
]  # fmt: skip


def answer(call: Any) -> Any:
    """What a call gives: its elements, sizes, strides and node; or how it refuses."""
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    node = None if result.grad_fn is None else result.grad_fn.name()
    return result.tolist(), tuple(result.shape), result.stride(), node, result._base is None


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("sizes", [(3, 4), (3,), ()], ids=repr)
def test_views_are_those_of_operators(sizes: tuple[int, ...], key: Any, asks: bool) -> None:
    x = fb.arange(float(np.prod(sizes))).reshape(sizes).clone().requires_grad_(asks)
    assert answer(lambda: x[key]) == answer(lambda: get_item_by_operators(x, key))


def keys_of(place: Any) -> list[Any]:
    index = fb.from_numpy(place.copy())
    every = slice(None)
    short, number = slice(1, None), fb.tensor(-1)
    return [
        index, (index,), (every, index), (index, every), (index, index), (index, 0), (0, index), (..., index),
        (index, short), (short, index), (index, None), (None, short, index), (index, None, index), (0, ..., index),
        (number, index), (index, number), (index, ...), (..., index, None), (number, short), (every, number), number,
        (number, number), (fb.tensor(9), index), (number, None, ..., index), (index, True), (fb.tensor(True), index),
    ]  # fmt: skip


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("place", PLACES, ids=repr)
def test_what_is_picked_is_what_operators_pick(place: Any, asks: bool) -> None:
    x = fb.arange(12.0).reshape(3, 4).requires_grad_(asks)
    x = x if asks else x.t().contiguous().t()
    for key in keys_of(place):
        assert answer(lambda key=key: x[key]) == answer(lambda key=key: get_item_by_operators(x, key))


VALUES: list[Any] = [7, 2.5, True, fb.tensor(9.0), fb.tensor([1.0, 2.0, 3.0, 4.0]), fb.ones(1, 4)]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("asks", [False, True])
def test_writes_are_numpys(value: Any, asks: bool) -> None:
    plain = value.numpy() if isinstance(value, fb.Tensor) else value
    basic = [0, 3, slice(1, 3), (slice(None), slice(None)), ..., (1, 2), (slice(None), -1), (5, 0)]
    for key in [*basic, *[place for place in PLACES if place.ndim == 1]]:
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        x = fb.from_numpy(array.copy())
        x = (x.requires_grad_() * 1) if asks else x
        shown_key = fb.from_numpy(key.copy()) if isinstance(key, np.ndarray) else key
        try:
            array[key] = plain
        except (IndexError, ValueError):
            with pytest.raises((IndexError, RuntimeError)):
                x[shown_key] = value
            continue
        version = x._version
        x[shown_key] = value
        assert x.tolist() == array.tolist()
        assert x._version > version or array[key].size == 0


def test_places_out_of_range_are_named_and_nothing_is_written() -> None:
    x = fb.zeros(3, 4)
    for key, dim, size in [((fb.tensor([0, 7]),), 0, 3), ((slice(None), fb.tensor([0, 7])), 1, 4)]:
        words = f"index 7 is out of bounds for dimension {dim} with size {size}"
        with pytest.raises(IndexError, match=words):
            x[key]
        with pytest.raises(IndexError, match=words):
            x[key] = 1.0
    assert not x.any()


def test_what_is_not_of_the_kind_is_left_to_the_full_way() -> None:
    x = fb.ones(2, 3)
    assert plain_view(x, (None, 0)) is None
    assert plain_view(x, 5) is None
    assert shown(x, (0, fb.tensor([1]))) is None
    assert shown(x, slice(None, None, -1)) is None
    assert picked(x, (True, fb.tensor([1]))) is None
    assert picked(x, fb.tensor(5)) is None
    assert picked(x, fb.tensor(True)) is None


def test_an_integer_tensor_shows_what_an_integer_does() -> None:
    x = fb.zeros(3, 4)
    x[fb.tensor(1)][2] = 5.0
    x[fb.tensor(2), 1:3] = 7
    x[fb.tensor([0, 2]), fb.tensor(3)] = fb.tensor([1.0, 2.0])
    x[0, fb.tensor([0, 1])] += 4
    x[fb.tensor([0, 1]), :2] *= 10
    assert x.tolist() == [[40.0, 40.0, 0.0, 1.0], [0.0, 0.0, 5.0, 0.0], [0.0, 7.0, 7.0, 2.0]]
