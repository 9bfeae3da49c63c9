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


def integers(r: Random, below: int, *sizes: int) -> np.ndarray:
    return np.random.default_rng(r.randrange(1 << 30)).integers(0, below, sizes)


def chances(r: Random, *sizes: int) -> np.ndarray:
    return np.random.default_rng(r.randrange(1 << 30)).uniform(0.05, 0.95, sizes).astype(np.float32)


def activation(r: Random) -> Made:
    number = r.choice([0.1, 0.5, 1.0, 2.0, 0, 3])
    name, options = r.choice([
        ("ELU", {"alpha": number}), ("CELU", {"alpha": number or 1.0}), ("LeakyReLU", {"negative_slope": number}),
        ("Threshold", {"threshold": number, "value": -1.5}), ("Softplus", {"beta": number or 2.0, "threshold": 1}),
        ("Hardshrink", {"lambd": number}), ("Softshrink", {"lambd": number}), ("GELU", {"approximate": "tanh"}),
        ("Hardtanh", {"min_val": -number - 0.1, "max_val": number}), ("GLU", {"dim": r.choice([0, -1])}),
        ("Softmax", {"dim": r.choice([0, 1, -1])}), ("LogSoftmax", {"dim": r.choice([0, 1, -1])}),
        ("Softmin", {"dim": r.choice([0, 1, -1])}), ("RReLU", {"lower": 0.2, "upper": 0.2}),
        ("PReLU", {"num_parameters": r.choice([1, 4]), "init": number}), (r.choice(["ReLU", "ReLU6", "SELU"]), {}),
        (r.choice(["SiLU", "Mish", "Hardswish", "Hardsigmoid"]), {}), (r.choice(["Sigmoid", "Tanh", "LogSigmoid"]), {}),
    ])  # fmt: skip
    if r.random() < 0.3 and name in ("ELU", "CELU", "LeakyReLU", "Threshold", "Hardtanh", "ReLU", "SiLU"):
        options = {**options, "inplace": True}
    return name, (), options, [normal(r, 2, 4, *([] if r.random() < 0.5 else [r.choice([0, 3])])) * 3]


def loss(r: Random) -> Made:
    options: dict[str, Any] = {"reduction": r.choice(["mean", "sum", "none"])}
    places = [] if r.random() < 0.5 else [r.randint(1, 3)]
    kind = r.choice(["pairs", "pairs", "classes", "signs", "margins"])
    if kind == "pairs":
        names = ["L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss", "KLDivLoss"]
        name = r.choice([*names, "PoissonNLLLoss", "SoftMarginLoss", "MultiLabelSoftMarginLoss", "GaussianNLLLoss"])
        extra: dict[str, dict[str, Any]] = {
            "SmoothL1Loss": {"beta": r.choice([0.0, 0.5, 2.0])}, "HuberLoss": {"delta": r.choice([0.5, 2.0])},
            "KLDivLoss": {"log_target": r.random() < 0.5, "reduction": r.choice(["batchmean", "sum"])},
            "PoissonNLLLoss": {"log_input": r.random() < 0.5, "full": r.random() < 0.5},
            "GaussianNLLLoss": {"full": r.random() < 0.5, "eps": r.choice([1e-6, 0.5])},
        }  # fmt: skip
        given = [chances(r, 3, 4, *places) for _ in range(3 if name == "GaussianNLLLoss" else 2)]
        return name, (), options | extra.get(name, {}), given
    if kind == "classes":
        x, y = normal(r, 3, 4, *places), integers(r, 4, 3, *places)
        options |= {"ignore_index": r.choice([-100, 0, 2])}
        if r.random() < 0.5:
            return "NLLLoss", (), options, [x, y]
        return "CrossEntropyLoss", (), options | {"label_smoothing": r.choice([0.0, 0.2])}, [x, y]
    if kind == "signs":
        x, y, signs = normal(r, 3, 4), normal(r, 3, 4), np.sign(normal(r, 3, 4))
        margin = {"margin": r.choice([0.0, 0.5, 1.0])}
        return r.choice([
            ("HingeEmbeddingLoss", (), options | margin, [x, signs]),
            ("MarginRankingLoss", (), options | margin, [x, y, signs]),
            ("CosineEmbeddingLoss", (), options | margin, [x, y, signs[:, 0]]),
        ])  # fmt: skip
    if r.random() < 0.5:
        options |= {"p": r.choice([1, 2]), "margin": r.choice([0.5, 1.0])}
        return "MultiMarginLoss", (), options, [normal(r, 3, 4), integers(r, 4, 3)]
    options |= {"p": r.choice([1.0, 2.0, 3.0]), "margin": r.choice([0.5, 1.0]), "swap": r.random() < 0.5}
    return "TripletMarginLoss", (), options, [normal(r, 3, 4) for _ in range(3)]


def rearranging(r: Random) -> Made:
    sides: dict[str, Any] = {name: r.randint(1, 2) for name in ("kernel_size", "dilation", "stride")}
    sides["padding"] = r.randint(0, 1)
    windows = np.prod([(n + 2 * sides["padding"] - sides["dilation"] * (sides["kernel_size"] - 1) - 1)
                       // sides["stride"] + 1 for n in (4, 5)])  # fmt: skip
    return r.choice([
        ("Unfold", (), sides, [normal(r, 2, 3, 4, 5)]),
        ("Fold", ((4, 5),), sides, [normal(r, 2, 3 * sides["kernel_size"] ** 2, int(windows))]),
        ("PixelShuffle", (r.randint(1, 3),), {}, [normal(r, 2, 36, 2, 3)]),
        ("PixelUnshuffle", (r.randint(1, 3),), {}, [normal(r, 2, 2, 6, 12)]),
        ("ChannelShuffle", (r.choice([1, 2, 3, 6]),), {}, [normal(r, 2, 6, 2, 2)]),
        ("Flatten", (r.randint(0, 2), r.choice([-1, -2, 2])), {}, [normal(r, 2, 3, 4)]),
        ("Unflatten", (1, r.choice([(2, 3), (-1, 2), (6,)])), {}, [normal(r, 2, 6, 2)]),
        ("CosineSimilarity", (r.choice([0, 1, -1]),), {}, [normal(r, 3, 4), normal(r, 3, 4)]),
        ("PairwiseDistance", (r.choice([1.0, 2.0, 0.5]),), {"keepdim": r.random() < 0.5}, [normal(r, 3, 4)] * 2),
        ("LocalResponseNorm", (r.randint(1, 4),), {"alpha": 0.1, "k": r.choice([1, 2.0])}, [normal(r, 2, 5, 3)]),
    ])  # fmt: skip


def table(r: Random) -> Made:
    options: dict[str, Any] = {"padding_idx": r.choice([None, 0, 2, -1]), "max_norm": r.choice([None, None, 0.5, 2.0])}
    options |= {"norm_type": r.choice([1.0, 2.0])}
    if r.random() < 0.4:
        return "Embedding", (6, 3), options, [integers(r, 6, *r.choice([(4,), (2, 3), (0,), ()]))]
    options |= {"mode": r.choice(["sum", "mean", "max"])}
    if r.random() < 0.5:
        return "EmbeddingBag", (6, 3), options, [integers(r, 6, 4, 2)]
    starts = np.array(sorted([0, *(r.randint(0, 7) for _ in range(2))]))
    return "EmbeddingBag", (6, 3), options, [integers(r, 6, 7), starts]


def transformer(r: Random) -> Made:
    options: dict[str, Any] = {n: r.random() < 0.5 for n in ("batch_first", "norm_first", "bias")}
    options |= {"dim_feedforward": 12, "dropout": 0.0, "activation": r.choice(["relu", "gelu"])}
    sizes = [(2, 5, 8), (2, 4, 8)] if options["batch_first"] else [(5, 2, 8), (4, 2, 8)]
    kind = r.choice(["TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"])
    if kind == "Transformer":
        options |= {"num_encoder_layers": 1, "num_decoder_layers": 1}
    heads = r.choice([1, 2, 4])
    return kind, (8, heads), options, [normal(r, *s) for s in sizes[: 1 if kind.endswith("EncoderLayer") else 2]]


KINDS: tuple[Callable[[Random], Made], ...] = (
    convolution, convolution, pooling, pooling, normalisation, recurrent, resampling, padding, attention, activation,
    loss, loss, rearranging, table, transformer,
)  # fmt: skip


def layer(r: Random) -> Made:
    """Any of them."""
    return r.choice(KINDS)(r)
