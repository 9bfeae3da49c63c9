"""Large arrays as other dtypes: the numbers of small ones, wherever they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.executor import large_calls, large_conversions
from flambeau.ops.large import LARGE_HALVES
from flambeau.util.inversions import LARGE

FLOATS = [flambeau.float16, flambeau.bfloat16, flambeau.float32, flambeau.float64]
OTHERS = [flambeau.int64, flambeau.int32, flambeau.uint8, flambeau.bool]
HOSTILE = [
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1e10, -1e10, 3e9, 256.0, -1.0, 1e19, -1e19, 65504.0, 65520.0, 1e-8, -1e-8, 0.5,
    -0.5, 2.0**-24, 2.0**-25, 1.0 + 2.0**-11, 3.4e38, 1e-40,
]  # fmt: skip


def values() -> Any:
    x = np.random.default_rng(0).standard_normal(LARGE) * 100
    x[: len(HOSTILE)] = HOSTILE
    return x


@pytest.mark.parametrize("target", FLOATS + OTHERS, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_numbers_are_those_of_small_conversions(source: Any, target: Any) -> None:
    x = flambeau.from_numpy(values()).to(source)
    parts = [one.to(target) for one in x.split(1000)]
    assert all(len(one) < LARGE_HALVES for one in parts)
    small, large = flambeau.cat(parts), x.to(target)
    assert large.dtype is target
    assert flambeau.equal(large.isnan(), small.isnan())
    assert flambeau.equal(large[~large.isnan()], small[~small.isnan()])
    if target.is_floating_point:
        assert flambeau.equal(large.signbit()[2:], small.signbit()[2:])
    if source is not target:
        known = large_conversions._calls[0].entries.values
        assert any(isinstance(one, large_calls.Served) for one in known)


def test_sizes_and_strides_are_kept() -> None:
    x = flambeau.from_numpy(values().reshape(256, 256))
    for view in (x.t(), x[::2, 1:], x[:1].expand(256, 256), x.reshape(4, 64, 64, 4).permute(0, 3, 1, 2)):
        for dtype in (flambeau.float16, flambeau.float32, flambeau.int32):
            got, whole = view.to(dtype), view.contiguous().to(dtype)
            assert got.shape == view.shape
            assert flambeau.equal(got.nan_to_num(), whole.nan_to_num())
            small = view[:2].to(dtype)
            order = [np.argsort(one.stride(), kind="stable").tolist() for one in (got, small)]
            assert 0 in view.stride() or order[0] == order[1]
