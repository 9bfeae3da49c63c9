"""The first few of many elements are what sorting gives: with equal ones, nan and infinities among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.ops import sorting


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("spread", [3.0, 1e4])
def test_topk_is_the_beginning_of_a_stable_sort(
    dtype: Any, largest: bool, spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = (np.random.default_rng(0).standard_normal((4, 90, 3)) * spread).astype(dtype)
    rows = [x, x.copy(), x[::2]]
    if dtype is np.float32:
        rows[1][0, 5, 0], rows[1][1, 6, 2] = np.nan, np.inf
    quickly = [flambeau.topk(flambeau.from_numpy(a), 7, 1, largest) for a in rows]
    monkeypatch.setattr(sorting, "_selected", lambda *arguments: None)
    for a, found in zip(rows, quickly, strict=True):
        for got, want in zip(found, flambeau.topk(flambeau.from_numpy(a), 7, 1, largest), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_distinct_elements_are_not_sorted() -> None:
    x = np.random.default_rng(0).permutation(400).reshape(2, 200)
    assert sorting._selected(x, 1, 5, True) is not None
    assert sorting._selected(np.zeros((2, 200)), 1, 5, True) is None


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, np.inf])
def test_distances_in_pieces(p: float) -> None:
    draw = np.random.default_rng(0).standard_normal
    left, right = draw((700, 9)), draw((300, 9))
    want = np.linalg.norm(left[:, None] - right, ord=p, axis=-1)
    got = flambeau.cdist(flambeau.from_numpy(left), flambeau.from_numpy(right), p).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-12)
