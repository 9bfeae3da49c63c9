"""Values at places along a dimension, and arrays put together, however their operands lie: beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as fb

SHAPES = [(5,), (1,), (3, 4), (1, 6), (6, 1), (2, 3, 4), (2, 1, 4), (3, 4, 2, 2)]
LAYOUTS = ["dense", "turned", "apart"]


def array(shape: tuple[int, ...], layout: str, seed: int) -> Any:
    """Numbers of which some are equal and some are none."""
    x = np.round(np.random.default_rng(seed).standard_normal(shape) * 2).astype(np.float32)
    x.reshape(-1)[::5] = np.nan
    if layout == "turned":
        return np.asfortranarray(x)
    if layout == "apart":
        return np.repeat(x, 2, axis=-1)[..., ::2]
    return x


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_largest_and_least_along_each_dimension(shape: tuple[int, ...], layout: str) -> None:
    for seed in range(3):
        x = array(shape, layout, seed)
        t = fb.from_numpy(x)
        for dim in range(-len(shape), len(shape)):
            for values, where in ((t.max(dim, True), np.argmax), (t.min(dim, True), np.argmin)):
                places = where(x, axis=dim, keepdims=True)
                np.testing.assert_array_equal(values[1].numpy(), places)
                np.testing.assert_array_equal(values[0].numpy(), np.take_along_axis(x, places, dim))
            count = shape[dim]
            ordered, places = (one.numpy() for one in t.nan_to_num().topk(count, dim))
            np.testing.assert_array_equal(ordered, -np.sort(-np.nan_to_num(x), axis=dim))
            np.testing.assert_array_equal(ordered, np.take_along_axis(np.nan_to_num(x), places, dim))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(2, 3), (2, 0), (1, 1), (2, 3, 4), (2, 3, 4, 2)])
def test_parts_of_other_sizes_are_put_together(shape: tuple[int, ...], layout: str) -> None:
    for dim in range(-len(shape), len(shape)):
        sizes = [[n + more if d == dim % len(shape) else n for d, n in enumerate(shape)] for more in (0, 1, 3)]
        parts = [array(tuple(one), layout, seed) for seed, one in enumerate(sizes)]
        for some in (parts, parts[::-1], parts[:2], parts[:1]):
            joined = fb.cat([fb.from_numpy(one) for one in some], dim)
            np.testing.assert_array_equal(joined.numpy(), np.concatenate(some, dim))
            is_channels_last = len(shape) == 4 and all(
                not one.flags.c_contiguous and one.transpose(0, 2, 3, 1).flags.c_contiguous for one in some
            )
            assert joined.is_contiguous() or is_channels_last


def test_channels_stay_last_where_they_are_last_in_all() -> None:
    parts = [fb.rand(2, 3, 4, 5).contiguous(memory_format=fb.channels_last) for _ in range(2)]
    assert fb.cat(parts, 1).is_contiguous(memory_format=fb.channels_last)
    assert fb.cat([parts[0].contiguous(), parts[1]], 1).is_contiguous()


@pytest.mark.parametrize(
    ("sizes", "dim", "message"),
    [
        (((2, 3), (2, 4)), 0, "Expected size 3 but got size 4 for tensor number 1 in the list"),
        (((2, 3), (3,)), 0, "same number of dimensions: got 2 and 1"),
        (((2, 3, 4, 5), (2, 3, 5, 5)), 1, "Expected size 4 but got size 5 for tensor number 1 in the list"),
    ],
)
def test_sizes_that_do_not_fit_are_named(sizes: Any, dim: int, message: str) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match=message):
            fb.cat([fb.zeros(*one) for one in sizes], dim)


@pytest.mark.parametrize("index", [3, [3], [0, 6], [[1, 2], [5, 0]], [6]])
def test_rows_of_a_table(index: Any) -> None:
    table = np.arange(21, dtype=np.float32).reshape(7, 3)
    for weight in (table, np.asfortranarray(table) + 1):
        picked = fb.nn.functional.embedding(fb.tensor(index), fb.from_numpy(weight))
        np.testing.assert_array_equal(picked.numpy(), weight[np.array(index)])
        picked[...] = -1.0
        assert (weight >= 0).all()


@pytest.mark.parametrize("index", [[7], [-1], 7, [0, 7], [-1, 2]])
def test_rows_that_a_table_does_not_have(index: Any) -> None:
    with pytest.raises(IndexError, match="index out of range in self"):
        fb.nn.functional.embedding(fb.tensor(index), fb.rand(7, 3))
