"""Calls of operators by themselves, as small networks make them, for any library with PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final


class Operands:
    """Small tensors that ask for gradients, and what goes with them."""

    def __init__(self, library: Any) -> None:
        library.manual_seed(0)

        def asking(*sizes: int) -> Any:
            return library.randn(*sizes, requires_grad=True)

        self.L = library
        self.F = library.nn.functional
        self.x, self.one, self.images, self.steps = (
            asking(32, 64), asking(64), asking(4, 16, 16, 16), asking(2, 32, 64),
        )  # fmt: skip
        self.weight, self.bias = asking(128, 64), asking(128)
        self.filters, self.filter_bias = asking(16, 16, 3, 3), asking(16)
        self.p = (library.rand(32, 64) * 0.8 + 0.1).requires_grad_()
        self.classes, self.tokens = library.randint(0, 64, (32,)), library.randint(0, 50, (8, 16))
        self.table = asking(50, 64)
        self.q, self.square = asking(2, 4, 32, 16), asking(16, 16)
        self.mask = library.rand(32, 64) > 0.5
        self.rows, self.columns = library.randint(0, 32, (20,)), library.randint(0, 64, (32, 5))
        self.norm = library.nn.BatchNorm2d(16)
        self.layers = library.nn.Sequential(library.nn.Linear(64, 64), library.nn.ReLU(), library.nn.Linear(64, 64))


CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "relu": lambda o: o.F.relu(o.x),
    "gelu": lambda o: o.F.gelu(o.x),
    "silu": lambda o: o.F.silu(o.x),
    "softplus": lambda o: o.F.softplus(o.x),
    "erf": lambda o: o.x.erf(),
    "dropout": lambda o: o.F.dropout(o.x, 0.1),
    "glu": lambda o: o.F.glu(o.x),
    "linear": lambda o: o.F.linear(o.x, o.weight, o.bias),
    "two layers": lambda o: o.layers(o.x),
    "matrix product": lambda o: o.x @ o.weight.T,
    "batched product": lambda o: o.q @ o.q.transpose(-1, -2),
    "einsum": lambda o: o.L.einsum("bhtd,bhsd->bhts", o.q, o.q),
    "batch norm": lambda o: o.norm(o.images),
    "layer norm": lambda o: o.F.layer_norm(o.steps, [64], o.one, o.one),
    "group norm": lambda o: o.F.group_norm(o.images, 4),
    "conv2d": lambda o: o.F.conv2d(o.images, o.filters, o.filter_bias, padding=1),
    "max_pool2d": lambda o: o.F.max_pool2d(o.images, 2),
    "avg_pool2d": lambda o: o.F.avg_pool2d(o.images, 2),
    "adaptive_avg_pool2d": lambda o: o.F.adaptive_avg_pool2d(o.images, 1),
    "interpolate, bilinear": lambda o: o.F.interpolate(o.images, scale_factor=2.0, mode="bilinear"),
    "pad": lambda o: o.F.pad(o.images, [1, 1, 1, 1]),
    "pad, reflect": lambda o: o.F.pad(o.images, [1, 1, 1, 1], mode="reflect"),
    "softmax": lambda o: o.x.softmax(-1),
    "log_softmax": lambda o: o.x.log_softmax(-1),
    "cross entropy": lambda o: o.F.cross_entropy(o.x, o.classes),
    "mean squared error": lambda o: o.F.mse_loss(o.x, o.p),
    "smooth l1": lambda o: o.F.smooth_l1_loss(o.x, o.p),
    "binary cross entropy": lambda o: o.F.binary_cross_entropy_with_logits(o.x, o.p.detach()),
    "cosine similarity": lambda o: o.F.cosine_similarity(o.x, o.p),
    "embedding": lambda o: o.F.embedding(o.tokens, o.table),
    "attention": lambda o: o.F.scaled_dot_product_attention(o.q, o.q, o.q),
    "attention, causal": lambda o: o.F.scaled_dot_product_attention(o.q, o.q, o.q, is_causal=True),
    "sum": lambda o: o.x.sum(),
    "sum of rows": lambda o: o.x.sum(1),
    "mean": lambda o: o.x.mean(),
    "variance": lambda o: o.x.var(1),
    "largest": lambda o: o.x.max(1)[0],
    "norm": lambda o: o.x.norm(),
    "logsumexp": lambda o: o.x.logsumexp(1),
    "cumsum": lambda o: o.x.cumsum(1),
    "sort": lambda o: o.x.sort(1)[0],
    "topk": lambda o: o.x.topk(5)[0],
    "sum of two": lambda o: o.x + o.p,
    "sum with a row": lambda o: o.x + o.one,
    "times a number": lambda o: o.x * 2.0,
    "quotient": lambda o: o.x / o.p,
    "square": lambda o: o.x**2,
    "exp": lambda o: o.x.exp(),
    "clamp": lambda o: o.x.clamp(-1, 1),
    "where": lambda o: o.L.where(o.mask, o.x, o.p),
    "lerp": lambda o: o.L.lerp(o.x, o.p, 0.3),
    "masked_fill": lambda o: o.x.masked_fill(o.mask, 0.0),
    "view": lambda o: o.x.view(64, 32),
    "permute": lambda o: o.images.permute(0, 2, 3, 1),
    "slice": lambda o: o.x[2:9],
    "index": lambda o: o.x[o.rows],
    "gather": lambda o: o.x.gather(1, o.columns),
    "cat": lambda o: o.L.cat([o.x, o.p]),
    "stack": lambda o: o.L.stack([o.x, o.p]),
    "split": lambda o: o.x.split(16)[1],
    "repeat": lambda o: o.one.repeat(4, 2),
    "flip": lambda o: o.x.flip(0),
    "roll": lambda o: o.x.roll(1, 0),
    "cholesky": lambda o: o.L.linalg.cholesky(o.square @ o.square.T + 20 * o.L.eye(16)),
}
