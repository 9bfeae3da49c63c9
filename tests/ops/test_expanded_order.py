"""Quantiles, counts and `ravel` as plans have them: beside eager calls, errors too, and native from end to end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.testing import assert_close

NAN, INF = float("nan"), float("inf")


def quantiles(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return flambeau.quantile(x, 0.3), x.quantile(0.7, -1), x.quantile(0.0, 0, True), flambeau.quantile(x, 1.0)


def counts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x.count_nonzero(), flambeau.count_nonzero(x, 0), flambeau.count_nonzero(x, [0, -1])


def flat(x: Tensor) -> Tensor:
    return x.ravel() * 2


def outside(x: Tensor) -> Tensor:
    return flambeau.quantile(x, 1.5)


def raveled(x: Tensor) -> Tensor:
    return x.ravel()


def strange(dtype: Any) -> list[Tensor]:
    x = flambeau.from_numpy(np.random.default_rng(0).normal(size=(7, 70))).to(dtype)
    some = x.clone()
    some[2, 3:9], some[4, 4] = NAN, INF
    return [x, some, x.t(), x[::2, 1::3], x[:1, :1], x[:, :1].expand(7, 5), -INF * x.abs(), x[2:2]]


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
@pytest.mark.parametrize("function", [quantiles, counts, flat])
def test_values(function: Any, dtype: Any) -> None:
    scripted = flambeau.script(function)
    for x in strange(dtype):
        if not x.numel() and function is quantiles:
            with pytest.raises(RuntimeError, match="input tensor must be non-empty"):
                scripted(x)
            continue
        for _ in range(4):
            assert_close(scripted(x), function(x), equal_nan=True)
    if available():
        assert scripted.explain(measure=False).is_native, str(scripted.explain(measure=False))


def test_counts_of_ints_and_bools() -> None:
    scripted = flambeau.script(counts)
    for x in (flambeau.tensor([[0, 3], [-1, 0]]), flambeau.tensor([[True, False]])):
        for _ in range(4):
            assert_close(scripted(x), counts(x))


def test_fractions_outside_are_refused() -> None:
    scripted = flambeau.script(outside)
    for _ in range(4):
        with pytest.raises(RuntimeError, match=r"q must be in the range \[0, 1\] but got 1.5"):
            scripted(flambeau.ones(3))


def test_of_one_line_memory_is_its_own() -> None:
    x = flambeau.arange(10.0)
    scripted = flambeau.script(raveled)
    for _ in range(4):
        assert scripted(x).tolist() == x.tolist()
        assert scripted(x[::2]).stride() == (1,)
