"""Layers with random options and inputs that fit them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

Made = tuple[str, tuple[Any, ...], dict[str, Any], list[np.ndarray]]
"""Name, arguments and keywords of a layer, and its inputs."""


def normal(r: Random, *sizes: int) -> np.ndarray:
    return np.random.default_rng(r.randrange(1 << 30)).standard_normal(sizes).astype(np.float32)


def batched(r: Random, sizes: list[int]) -> list[int]:
    """With a batch in front, sometimes an empty one, or without."""
    return sizes if r.random() < 0.3 else [r.choice([0, 1, 2, 2, 2]), *sizes]


def convolution(r: Random) -> Made:
    dims, groups = r.randint(1, 3), r.choice([1, 1, 2, 3])
    channels = groups * r.randint(1, 2), groups * r.randint(1, 3)
    options: dict[str, Any] = {
        "kernel_size": tuple(r.randint(1, 3) for _ in range(dims)),
        "stride": tuple(r.randint(1, 3) for _ in range(dims)),
        "padding": tuple(r.randint(0, 2) for _ in range(dims)),
        "dilation": r.choice([1, 1, 2]),
        "groups": groups,
        "bias": r.random() < 0.5,
    }
    transposed = r.random() < 0.4
    if not transposed:
        options["padding_mode"] = r.choice(["zeros", "zeros", "reflect", "replicate", "circular"])
        if r.random() < 0.3:
            options |= {"padding": "same", "stride": 1}
    x = normal(r, *batched(r, [channels[0], *(r.randint(4, 7) for _ in range(dims))]))
    return f"Conv{'Transpose' if transposed else ''}{dims}d", channels, options, [x]


def pooling(r: Random) -> Made:
    dims, kind = r.randint(1, 3), r.choice(["Max", "Avg", "LP", "AdaptiveAvg", "AdaptiveMax"])
    x = normal(r, *([2] if r.random() < 0.3 else [2, 3]), *(r.randint(4, 8) for _ in range(dims)))
    if kind.startswith("Adaptive"):
        sizes = tuple(r.choice([1, 2, 3, None] if dims > 1 else [1, 2, 3]) for _ in range(dims))
        indices = {"return_indices": True} if kind == "AdaptiveMax" and r.random() < 0.4 else {}
        return f"{kind}Pool{dims}d", (sizes,), indices, [x]
    options: dict[str, Any] = {"stride": r.choice([None, 1, 2, 3]), "ceil_mode": r.random() < 0.5}
    if kind == "LP":
        return f"LPPool{dims}d", (float(r.randint(1, 2)), r.randint(2, 3)), options, [x]
    options["padding"] = r.randint(0, 1)
    if kind == "Max":
        options |= {"dilation": r.choice([1, 1, 2]), "return_indices": r.random() < 0.5}
    else:
        options["count_include_pad"] = r.random() < 0.5
    return f"{kind}Pool{dims}d", (r.randint(2, 3),), options, [x]


def normalisation(r: Random) -> Made:
    dims, kind = r.randint(1, 3), r.choice(["BatchNorm", "InstanceNorm", "GroupNorm", "LayerNorm", "RMSNorm"])
    places = [r.randint(2, 4) for _ in range(dims)]
    x = normal(r, 2, 4, *places)
    is_affine = r.random() < 0.5
    if kind in ("BatchNorm", "InstanceNorm"):
        options = {"affine": is_affine, "track_running_stats": r.random() < 0.5, "momentum": r.choice([0.1, 0.5])}
        return f"{kind}{dims}d", (4,), options, [x]
    if kind == "GroupNorm":
        return kind, (r.choice([1, 2, 4]), 4), {"affine": is_affine}, [x]
    return kind, (tuple(places[-r.randint(1, dims) :]),), {"elementwise_affine": is_affine}, [x]


def recurrent(r: Random) -> Made:
    kind = r.choice(["LSTM", "GRU", "RNN"])
    options: dict[str, Any] = {"num_layers": r.randint(1, 2)}
    options |= {name: r.random() < 0.5 for name in ("bias", "batch_first", "bidirectional")}
    options |= {"proj_size": 2} if kind == "LSTM" and r.random() < 0.3 else {}
    options |= {"nonlinearity": r.choice(["tanh", "relu"])} if kind == "RNN" else {}
    return kind, (3, 4), options, [normal(r, *([5, 3] if r.random() < 0.3 else [5, 2, 3]))]


def resampling(r: Random) -> Made:
    mode = r.choice(["nearest", "nearest-exact", "area", "linear", "bilinear", "bicubic", "trilinear"])
    dims = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}.get(mode, r.randint(1, 3))
    options: dict[str, Any] = {"mode": mode}
    if r.random() < 0.5:
        options["size"] = tuple(r.randint(1, 8) for _ in range(dims))
    else:
        options["scale_factor"] = tuple(r.choice([0.5, 0.7, 1.3, 1.5, 2.0]) for _ in range(dims))
        options["recompute_scale_factor"] = r.choice([None, True, False])
    if mode.endswith(("linear", "cubic")):
        options["align_corners"] = r.choice([True, False, None])
    return "Upsample", (), options, [normal(r, 2, 2, *(r.randint(2, 6) for _ in range(dims)))]


def padding(r: Random) -> Made:
    dims, kind = r.randint(1, 3), r.choice(["Constant", "Zero", "Reflection", "Replication", "Circular"])
    sides = tuple(r.randint(0, 2) for _ in range(2 * dims))
    x = normal(r, *([2] if r.random() < 0.3 else [2, 2]), *[4] * dims)
    return f"{kind}Pad{dims}d", (sides, 1.5) if kind == "Constant" else (sides,), {}, [x]


def attention(r: Random) -> Made:
    options: dict[str, Any] = {n: r.random() < 0.5 for n in ("bias", "add_bias_kv", "add_zero_attn", "batch_first")}
    widths = (5, 3) if r.random() < 0.4 else (8, 8)
    if widths != (8, 8):
        options |= {"kdim": 5, "vdim": 3}
    lengths = zip((4, 5, 5), (8, *widths), strict=True)
    shapes = [(2, n, width) if options["batch_first"] else (n, 2, width) for n, width in lengths]
    return "MultiheadAttention", (8, r.choice([1, 2, 4])), options, [normal(r, *s) for s in shapes]


KINDS: tuple[Callable[[Random], Made], ...] = (
    convolution, convolution, pooling, pooling, normalisation, recurrent, resampling, padding, attention,
)  # fmt: skip


def layer(r: Random) -> Made:
    """Any of them."""
    return r.choice(KINDS)(r)
