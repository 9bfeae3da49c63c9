"""Reductions of segments, and histograms of points, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau

torch: Any = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
LENGTHS = [([[2.0, 5.0, 5.0], [0.0, -1.0, float("nan")]], [[1, 0, 2], [0, 3, 0]], 1), ([1.0, 0.0, 4.0], [3, 0], 0)]
ATTEMPTS = [
    lambda lib, x: lib.segment_reduce(x, "sum"),
    lambda lib, x: lib.segment_reduce(x, "most", lengths=lib.tensor([3])),
    lambda lib, x: lib.segment_reduce(x, "sum", lengths=lib.tensor([1])),
    lambda lib, x: lib.segment_reduce(x, "sum", lengths=lib.tensor([4, -1])),
    lambda lib, x: lib.segment_reduce(x, "sum", lengths=lib.tensor([1, 2]), axis=1),
    lambda lib, x: lib.segment_reduce(x.int(), "sum", lengths=lib.tensor([3])),
    lambda lib, x: lib.segment_reduce(x, "sum", lengths=lib.tensor([3.0])),
    lambda lib, x: lib.histogramdd(x[0], [2]),
    lambda lib, x: lib.histogramdd(x, [2]),
    lambda lib, x: lib.histogramdd(x, [2, 0]),
    lambda lib, x: lib.histogramdd(x, [2, 2], range=[0.0, 1.0]),
    lambda lib, x: lib.histogramdd(x, [2, 2], range=[1.0, 0.0, 0.0, 1.0]),
    lambda lib, x: lib.histogramdd(x, [2, 2], weight=lib.ones(2)),
    lambda lib, x: lib.histogramdd(x, [2, 2], weight=lib.ones(3).double()),
    lambda lib, x: lib.histogramdd(x * float("nan"), [2, 2]),
    lambda lib, x: lib.histogramdd(x, [lib.ones(2), lib.ones(2, 2)]),
    lambda lib, x: lib.histogramdd(x.int(), [2, 2]),
]


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "amin"])
@pytest.mark.parametrize("initial", [None, 5.0])
def test_segments(reduce: str, initial: float | None) -> None:
    for values, lengths, axis in LENGTHS:
        seen = []
        for lib in (flambeau, torch):
            x = lib.tensor(values)
            x = (x.nan_to_num() if reduce == "prod" else x).requires_grad_()
            y = lib.segment_reduce(x, reduce, lengths=lib.tensor(lengths), axis=axis, initial=initial)
            starts = np.cumsum(np.insert(lengths, 0, 0, -1), -1)
            again = lib.segment_reduce(x, reduce, offsets=lib.from_numpy(starts), axis=axis, initial=initial)
            y.masked_fill(~y.isfinite(), 0.0).sum().backward()
            seen.append([y.detach().numpy(), again.detach().numpy(), x.grad.numpy()])
            assert y.is_contiguous()
        for mine, theirs in zip(*seen, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_histograms() -> None:
    points = np.random.default_rng(0).integers(0, 5, (40, 2)).astype(np.float32)
    weights = np.linspace(-1, 1, 40, dtype=np.float32)
    edges = np.array([0, 1, 3.5], np.float32)
    seen = []
    for lib in (flambeau, torch):
        x, w, e = map(lib.from_numpy, (points, weights, edges))
        found = [lib.histogramdd(x, 3), lib.histogramdd(x, [3, 2], weight=w, density=True)]
        found += [lib.histogramdd(x.reshape(2, 20, 2), [e, e]), lib.histogramdd(x, 2, range=[0.0, 2.0, 1.0, 1.0])]
        found += [lib.histogramdd(x[:0], 2)]
        seen.append([part.numpy() for result in found for part in (result.hist, *result.bin_edges)])
    for mine, theirs in zip(*seen, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
    assert isinstance(flambeau.histogramdd(flambeau.ones(1, 1), 1), flambeau.return_types.histogramdd)


@pytest.mark.parametrize("attempt", range(len(ATTEMPTS)))
def test_refusals(attempt: int) -> None:
    texts = []
    for lib in (flambeau, torch):
        with pytest.raises((RuntimeError, NotImplementedError)) as caught:
            ATTEMPTS[attempt](lib, lib.ones(3, 2))
        texts.append(f"{type(caught.value).__name__}: {caught.value}"[:100])
    assert texts[0] == texts[1]
