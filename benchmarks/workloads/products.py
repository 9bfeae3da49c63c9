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
    for shape, is_causal in (((2, 4, 3), True),) if small else (((8, 128, 64), False), ((1, 2048, 64), True)):
        yield _attention(shape, is_causal)


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


def _attention(shape: tuple[int, int, int], is_causal: bool) -> Workload:
    arrays = [normal(*shape, seed=k) for k in range(3)]
    heads, length, width = shape
    name = "causal_attention" if is_causal else "attention"
    reference = getattr(theirs, name)

    def with_batch(torch: Any) -> Any:
        run = torch.nn.functional.scaled_dot_product_attention
        return lambda q, k, v: run(q[None], k[None], v[None], is_causal=is_causal)[0]

    return Workload(
        name=f"{'causal ' if is_causal else ''}attention {heads}x{length}x{width}",
        kind="products",
        peers=entries(getattr(ours, name), *arrays, numpy=reference, torch_library=with_batch, jax=name),
        expected=lambda: reference(*doubled(*arrays)),
        tolerance=1e-3,
        cost=Cost(
            read=3 * arrays[0].nbytes, written=arrays[0].nbytes,
            flops=heads * length * length * (4 * width + 24) // (2 if is_causal else 1),
        ),
        goal=Goal(times=1.2),
    )  # fmt: skip


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
