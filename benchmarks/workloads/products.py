"""Matrix products with the work around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Cost, Goal, Workload
from benchmarks.programs import numpy_arrays as theirs
from benchmarks.programs import products as ours
from benchmarks.workloads.entries import doubled, entries, normal


def workloads(small: bool) -> Iterator[Workload]:
    """Perceptrons of two layers, and an LSTM cell in a loop."""
    for batch, width, goal in ((3, 16, 2.0),) if small else ((128, 512, 0.9), (1, 512, 0.9), (8, 64, 2.0)):
        yield _mlp(batch, width, goal)
    for batch, width in ((2, 8),) if small else ((1, 32), (64, 128)):
        yield _lstm(4 if small else 32, batch, width)


def _torch_mlp(torch: Any) -> Any:
    return lambda x, w1, b1, w2, b2: torch.addmm(b2, torch.relu_(torch.addmm(b1, x, w1)), w2)


def _mlp(batch: int, width: int, goal: float) -> Workload:
    scale = np.float32(width**-0.5)
    arrays = (
        normal(batch, width), normal(width, width, seed=1) * scale, normal(width, seed=2),
        normal(width, width, seed=3) * scale, normal(width, seed=4),
    )  # fmt: skip
    return Workload(
        name=f"MLP {batch}x{width}",
        kind="products",
        peers=entries(ours.mlp, *arrays, numpy=theirs.mlp, numba=theirs.mlp, torch_library=_torch_mlp, jax="mlp"),
        expected=lambda: theirs.mlp(*doubled(*arrays)),
        tolerance=1e-3,
        cost=Cost(
            read=sum(a.nbytes for a in arrays), written=arrays[0].nbytes, flops=4 * batch * width * (width + 1)
        ),
        goal=Goal(times=goal),
    )


def _torch_lstm(torch: Any) -> Any:
    layers: dict[int, Any] = {}

    def run(xs: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> Any:
        if not layers:
            layer = layers[0] = torch.nn.LSTM(w.shape[0], u.shape[0])
            for name, value in (("weight_ih_l0", w.T), ("weight_hh_l0", u.T), ("bias_ih_l0", b), ("bias_hh_l0", 0 * b)):
                setattr(layer, name, torch.nn.Parameter(value.contiguous(), requires_grad=False))
            layer.flatten_parameters()
        with torch.no_grad():
            return layers[0](xs, (h[None], c[None]))[1][0][0]

    return run


def _lstm(steps: int, batch: int, width: int) -> Workload:
    scale = np.float32(width**-0.5)
    arrays = (
        normal(steps, batch, width), normal(batch, width, seed=1), normal(batch, width, seed=2),
        normal(width, 4 * width, seed=3) * scale, normal(width, 4 * width, seed=4) * scale, normal(4 * width, seed=5),
    )  # fmt: skip
    return Workload(
        name=f"LSTM cell, {steps} steps, {batch}x{width}",
        kind="products",
        peers=entries(
            ours.lstm, *arrays, numpy=theirs.lstm, numba=theirs.lstm, torch_library=_torch_lstm, jax="lstm"
        ),
        expected=lambda: theirs.lstm(*doubled(*arrays)),
        tolerance=1e-3,
        cost=Cost(
            read=sum(a.nbytes for a in arrays), written=arrays[1].nbytes,
            flops=steps * batch * width * (16 * width + 110),
        ),
        goal=Goal(times=3.0, against="torch.jit"),
    )  # fmt: skip
