"""Joining, rearranging and views of several tensors: promotion, layouts, aliasing."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.tensor import dispatch


def t(*values: float, dtype: str = "float32") -> flambeau.Tensor:
    return flambeau.from_numpy(np.array(values, dtype))


def test_cat_promotes() -> None:
    assert flambeau.cat([t(1, dtype="int64"), t(2.5)]).dtype is flambeau.float32
    assert flambeau.cat([t(1, dtype="uint8"), t(2, dtype="int8")]).dtype is flambeau.int16
    assert flambeau.stack([t(1, dtype="int32"), t(2, dtype="int64")]).dtype is flambeau.int64


def test_cat_of_one_is_a_copy() -> None:
    x = t(1, 2)
    y = flambeau.cat([x])
    assert not y.shares_storage(x)


def test_channels_last_is_kept() -> None:
    x = flambeau.from_numpy(np.ones((1, 2, 3, 3), np.float32)).contiguous(memory_format=flambeau.channels_last)
    assert flambeau.cat([x, x], 1).is_contiguous(memory_format=flambeau.channels_last)


def test_meshgrid_and_broadcast_share_memory() -> None:
    x, y = t(1, 2), t(3, 4, 5)
    rows, columns = dispatch.call("aten::meshgrid", [x, y])
    assert rows.shares_storage(x)
    assert rows.tolist() == [[1, 1, 1], [2, 2, 2]]
    assert columns.tolist() == [[3, 4, 5], [3, 4, 5]]
    swapped, _ = dispatch.call("aten::meshgrid", [x, y], indexing="xy")
    assert swapped.shape == (3, 2)


def test_flip_keeps_the_order_in_memory() -> None:
    x = flambeau.from_numpy(np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1))
    assert flambeau.flip(x, [0]).stride() == (1, 12, 4)


def test_einsum_that_only_permutes_is_a_view() -> None:
    x = flambeau.from_numpy(np.arange(9, dtype=np.float32).reshape(3, 3))
    assert dispatch.call("aten::einsum", "ij->ji", [x]).shares_storage(x)
    assert dispatch.call("aten::einsum", "ii->i", [x]).tolist() == [0.0, 4.0, 8.0]
    assert not dispatch.call("aten::einsum", "ij->i", [x]).shares_storage(x)


@pytest.mark.parametrize(
    ("name", "args", "error", "text"),
    [
        (
            "cat",
            ([t(1), flambeau.from_numpy(np.ones((2, 2), np.float32))],),
            RuntimeError,
            "Tensors must have same number of dimensions: got 1 and 2",
        ),
        (
            "cat",
            ([flambeau.from_numpy(np.ones((), np.float32)), t(1)],),
            RuntimeError,
            "zero-dimensional tensor (at position 0) cannot",
        ),
        ("hstack", ([],), RuntimeError, "hstack expects a non-empty TensorList"),
        ("roll", (t(1, 2), [], []), RuntimeError, "`shifts` required"),
        ("rot90", (t(1, 2), 1, [0, 1]), RuntimeError, "expected total dims >= 2, but got total dims = 1"),
        ("flip", (flambeau.from_numpy(np.ones((2, 2))), [0, 0]), RuntimeError, "dim 0 appears multiple times"),
        ("repeat_interleave", (t(1, 2), -1), RuntimeError, "Repeats must be non-negative"),
        ("repeat_interleave", (t(1, 2), t(-1, 1, dtype="int64")), RuntimeError, "repeats can not be negative"),
        (
            "combinations",
            (flambeau.from_numpy(np.ones((2, 2))),),
            RuntimeError,
            "Expect a 1D vector, but got shape [2, 2]",
        ),
    ],
)
def test_refusals(name: str, args: tuple[object, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        getattr(flambeau, name)(*args)
    assert text in str(caught.value)
