"""Copies of elements in order, triangles, and numbers where masks hold: native code gives what Python gives."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.executor import eager
from flambeau.schema.dtype import ALL
from flambeau.util.native_type import is_supported
from tests.executor.test_eager_places import (
    SHAPES,
    WAYS,
    assert_same,
    entry,
    filled,
    has_entry,
    in_python,
    laid,
    wrapped,
)

pytestmark = pytest.mark.skipif(not is_supported() or not eager.machine.load(), reason="there is no native code here")


@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
def test_contiguous_of_any_order(dtype: Any) -> None:
    native, draw, served = entry("dense"), random.Random(5), 0
    for sizes in SHAPES:
        for way in WAYS:
            order = list(range(len(sizes)))
            draw.shuffle(order)
            x = laid(filled(sizes, dtype), way).permute(order)
            result = native(x, 0)
            if x.is_contiguous():
                assert result == "missed"
                continue
            served += 1
            assert_same(result, in_python("contiguous")(x, 0))
            assert native(x, 2) == "missed"
            assert native(x, True) == "missed"
    assert served > 10


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_of_any_sizes(name: str) -> None:
    native, of_any, run = entry(name), entry(f"any_{name}"), in_python(name)
    for sizes in [(1, 1), (3, 3), (2, 5), (5, 2), (2, 3, 4), (2, 1, 4, 3)]:
        for diagonal in (0, 1, -1, 2, -3, 40, -40, 1 << 62, -(1 << 62)):
            for dtype in (fb.float32, fb.bool, fb.int16, fb.complex128):
                x = filled(sizes, dtype)
                assert_same(native(x, diagonal), run(x, diagonal))
            assert_same(of_any(fb.nn.Parameter(filled(sizes)), diagonal), run(filled(sizes), diagonal))
    x = filled((3, 4))
    calls = [(x.t(), 0), (x, 0.0), (x, True), (x[0], 0), (x[:0], 0), (x, 1 << 70), (x,), (fb.nn.Parameter(x), 0)]
    assert [native(*call) for call in calls] == ["missed"] * len(calls)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="must have at least 2 dimensions"):
            getattr(fb, name)(x[0])


def mask(sizes: Any, way: str = "dense") -> fb.Tensor:
    drawn = np.random.default_rng(len(sizes)).random(sizes) > 0.5
    return laid(wrapped(np.asarray(drawn)), way) if len(sizes) else wrapped(np.asarray(drawn))


@pytest.mark.parametrize("dtype", [fb.float32, fb.float64])
def test_masked_fill_of_any_masks(dtype: Any) -> None:
    native, of_any, run = entry("masked_fill"), entry("any_masked_fill"), in_python("masked_fill.Scalar")
    values = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1, -7, (1 << 53) + 1, 1.5e-40, -1e9]
    for sizes, way in itertools.product(SHAPES, ("dense", "columns", "apart")):
        x = filled(sizes, dtype)
        kinds = [sizes, sizes[1:], (1,) * len(sizes), (*sizes[:-1], 1), (1, *sizes[1:])]
        for number, one in enumerate(kinds):
            where, value = mask(one, way), values[(number + len(sizes)) % len(values)]
            assert_same(native(x, where, value), run(x, where, value))
            assert_same(of_any(fb.nn.Parameter(x), where, value), run(x, where, value))
    for value in values:
        x, where = filled((3, 5), dtype), mask((3, 5))
        assert_same(native(x, where, value), run(x, where, value))


def test_what_masked_fill_leaves_to_python() -> None:
    x, where = filled((3, 4)), mask((3, 4))
    calls: list[Any] = [
        (x, where.float(), 1.0), (x, where, True), (x, where, 1j), (x, where, 1e39), (x, where, -1e300),
        (x, where, 1 << 70), (x.half(), where, 1.0), (x.long(), where, 1), (x.t(), where.t(), 1.0),
        (x, mask((2, 3, 4)), 1.0), (x[:1], where, 1.0), (x, mask((3, 3)), 1.0), (x[:0], where[:0], 1.0),
        (filled(()), wrapped(np.array(True)), 1.0), (x, where), (fb.nn.Parameter(x), where, 1.0),
    ]  # fmt: skip
    assert [entry("masked_fill")(*call) for call in calls] == ["missed"] * len(calls)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="without overflow"):
            x.masked_fill(where, 1e39)
        with pytest.raises(RuntimeError, match="only supports boolean masks"):
            x.masked_fill(where.float(), 1.0)


def test_gradients_go_on_through_native_copies() -> None:
    for seed, value in ((0, 2.0), (1, -1.0)):
        draw = np.random.default_rng(seed)
        x = fb.tensor(draw.standard_normal((4, 4)), requires_grad=True)
        where = wrapped(draw.random((4, 4)) > 0.5)
        (x.masked_fill(where, value).tril() * x.t().contiguous()).sum().backward()
        array, hidden = x.detach().numpy(), where.numpy()
        filled_in = np.where(hidden, value, array)
        expected = np.tril(array.T) * ~hidden + np.tril(filled_in).T
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), expected)
    for name in ("masked_fill.Scalar", "tril", "contiguous"):
        assert has_entry(name)
