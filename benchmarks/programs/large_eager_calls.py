"""Calls of operators by themselves on some hundred thousand elements, for any library with PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final


class LargeOperands:
    """Tensors that ask for gradients, and what goes with them."""

    def __init__(self, library: Any) -> None:
        library.manual_seed(0)

        def asking(*sizes: int) -> Any:
            return library.randn(*sizes, requires_grad=True)

        def below(limit: int, *sizes: int) -> Any:
            return library.randint(0, limit, sizes)

        self.L = library
        self.F = library.nn.functional
        self.x, self.y, self.z, self.row, self.column = (
            asking(400, 256), asking(400, 256), asking(400, 256), asking(256), asking(400, 1),
        )  # fmt: skip
        self.target = library.rand(400, 256)
        self.mask = library.rand(400, 256) > 0.5
        self.classes, self.rows = below(256, 400), below(400, 400)
        self.row_of, self.column_of = below(400, 20_000), below(256, 20_000)
        self.columns, self.places = below(256, 400, 256), below(400, 400, 256)
        self.images, self.grid = asking(2, 8, 80, 80), (library.rand(2, 80, 80, 2) * 2 - 1).requires_grad_()
        self.planes, self.one = asking(8, 16, 28, 28), asking(16)
        self.patches = asking(2, 72, 1444)
        self.q, self.k, self.v = asking(2, 4, 64, 32), asking(2, 4, 64, 32), asking(2, 4, 64, 32)
        self.table, self.bags, self.tokens = asking(1000, 64), below(1000, 128, 16), below(1000, 1600)
        self.points, self.others = asking(100, 64), asking(100, 64)
        self.batch, self.factors, self.matrix = asking(16, 40, 40), asking(64, 40, 40), asking(200, 200)
        self.regular = (library.randn(64, 64) + 16 * library.eye(64)).requires_grad_()
        self.right, self.wide = asking(64, 8), asking(64, 48)
        self.texts, self.letters = asking(100, 16, 64), library.randint(1, 64, (16, 20))


CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "exp": lambda o: o.x.exp(),
    "tanh": lambda o: o.x.tanh(),
    "gelu": lambda o: o.F.gelu(o.x),
    "cube": lambda o: o.x**3,
    "clamp": lambda o: o.x.clamp(-1, 1),
    "times a row": lambda o: o.x * o.row,
    "by a column": lambda o: o.x / o.column,
    "where": lambda o: o.L.where(o.mask, o.x, o.y),
    "masked_fill": lambda o: o.x.masked_fill(o.mask, 0.0),
    "lerp by a number": lambda o: o.L.lerp(o.x, o.y, 0.3),
    "lerp by a tensor": lambda o: o.L.lerp(o.x, o.y, o.z),
    "sum": lambda o: o.x.sum(),
    "sum 0": lambda o: o.x.sum(0),
    "sum 1": lambda o: o.x.sum(1),
    "mean": lambda o: o.x.mean(),
    "var": lambda o: o.x.var(),
    "var 1": lambda o: o.x.var(1),
    "norm 1": lambda o: o.x.norm(dim=1),
    "prod 1": lambda o: o.x.prod(1),
    "amax": lambda o: o.x.amax(1),
    "max 1": lambda o: o.x.max(1)[0],
    "logsumexp": lambda o: o.x.logsumexp(1),
    "softmax": lambda o: o.x.softmax(1),
    "log_softmax": lambda o: o.x.log_softmax(1),
    "cumsum 1": lambda o: o.x.cumsum(1),
    "cumprod 1": lambda o: o.x.cumprod(1),
    "cummax 0": lambda o: o.x.cummax(0)[0],
    "cummax 1": lambda o: o.x.cummax(1)[0],
    "logcumsumexp 1": lambda o: o.x.logcumsumexp(1),
    "sort": lambda o: o.x.sort(1)[0],
    "topk": lambda o: o.x.topk(10)[0],
    "kthvalue": lambda o: o.x.kthvalue(50)[0],
    "median": lambda o: o.x.median(1)[0],
    "index_select": lambda o: o.x.index_select(0, o.rows),
    "x[rows]": lambda o: o.x[o.rows],
    "x[i, j]": lambda o: o.x[o.row_of, o.column_of],
    "x[mask]": lambda o: o.x[o.mask],
    "gather": lambda o: o.x.gather(1, o.columns),
    "scatter": lambda o: o.x.scatter(1, o.columns, o.y),
    "scatter_add": lambda o: o.x.scatter_add(1, o.columns, o.y),
    "scatter_reduce": lambda o: o.x.scatter_reduce(0, o.places, o.y, "amax"),
    "index_add": lambda o: o.x.index_add(0, o.rows, o.y),
    "index_put, added": lambda o: o.x.index_put((o.rows,), o.y, accumulate=True),
    "masked_select": lambda o: o.x.masked_select(o.mask),
    "embedding": lambda o: o.F.embedding(o.tokens, o.table),
    "embedding_bag, sums": lambda o: o.F.embedding_bag(o.bags, o.table, mode="sum"),
    "embedding_bag, means": lambda o: o.F.embedding_bag(o.bags, o.table, mode="mean"),
    "embedding_bag, largest": lambda o: o.F.embedding_bag(o.bags, o.table, mode="max"),
    "diagonal": lambda o: o.x.diagonal(),
    "triu": lambda o: o.x.triu(),
    "flip": lambda o: o.x.flip((0,)),
    "roll": lambda o: o.x.roll(3, 0),
    "cat": lambda o: o.L.cat([o.x, o.y]),
    "stack": lambda o: o.L.stack([o.x, o.y]),
    "repeat_interleave": lambda o: o.x.repeat_interleave(3),
    "pad": lambda o: o.F.pad(o.images, (3, 3, 3, 3)),
    "pad, reflect": lambda o: o.F.pad(o.images, (3, 3, 3, 3), mode="reflect"),
    "pad, replicate": lambda o: o.F.pad(o.images, (3, 3, 3, 3), mode="replicate"),
    "pixel_shuffle": lambda o: o.F.pixel_shuffle(o.images, 2),
    "unfold": lambda o: o.F.unfold(o.images, 3),
    "fold": lambda o: o.F.fold(o.patches, (40, 40), 3),
    "max_pool2d": lambda o: o.F.max_pool2d(o.images, 2),
    "interpolate, nearest": lambda o: o.F.interpolate(o.images, scale_factor=2.0, mode="nearest"),
    "interpolate, bilinear": lambda o: o.F.interpolate(o.images, scale_factor=2.0, mode="bilinear"),
    "grid_sample, nearest": lambda o: o.F.grid_sample(o.images, o.grid.detach(), mode="nearest", align_corners=False),
    "grid_sample, bilinear": lambda o: o.F.grid_sample(o.images, o.grid, align_corners=False),
    "local_response_norm": lambda o: o.F.local_response_norm(o.images, 5),
    "batch norm": lambda o: o.F.batch_norm(o.planes, None, None, o.one, o.one, training=True),
    "instance norm": lambda o: o.F.instance_norm(o.planes, weight=o.one, bias=o.one),
    "group norm": lambda o: o.F.group_norm(o.planes, 4, o.one, o.one),
    "layer norm": lambda o: o.F.layer_norm(o.x, (256,), o.row, o.row),
    "rms norm": lambda o: o.F.rms_norm(o.x, (256,), o.row),
    "normalize": lambda o: o.F.normalize(o.x),
    "attention": lambda o: o.F.scaled_dot_product_attention(o.q, o.k, o.v),
    "mean squared error": lambda o: o.F.mse_loss(o.x, o.target),
    "huber": lambda o: o.F.huber_loss(o.x, o.target),
    "smooth l1": lambda o: o.F.smooth_l1_loss(o.x, o.target),
    "binary cross entropy": lambda o: o.F.binary_cross_entropy_with_logits(o.x, o.target),
    "kl_div": lambda o: o.F.kl_div(o.x, o.target, reduction="batchmean"),
    "cross entropy": lambda o: o.F.cross_entropy(o.x, o.classes),
    "multi_margin": lambda o: o.F.multi_margin_loss(o.x, o.classes),
    "triplet": lambda o: o.F.triplet_margin_loss(o.x, o.y, o.z),
    "pairwise distance": lambda o: o.F.pairwise_distance(o.x, o.y),
    "cosine similarity": lambda o: o.F.cosine_similarity(o.x, o.y),
    "cdist 1": lambda o: o.L.cdist(o.points, o.others, p=1.0),
    "cdist 2": lambda o: o.L.cdist(o.points, o.others),
    "pdist": lambda o: o.F.pdist(o.points),
    "ctc_loss": lambda o: o.F.ctc_loss(o.texts.log_softmax(2), o.letters, [100] * 16, [20] * 16),
    "matrix product": lambda o: o.matrix @ o.matrix,
    "batched product": lambda o: o.batch @ o.batch,
    "einsum": lambda o: o.L.einsum("bij,bjk->bik", o.batch, o.batch),
    "inverse": lambda o: o.L.linalg.inv(o.regular),
    "solve": lambda o: o.L.linalg.solve(o.regular, o.right),
    "determinant": lambda o: o.L.linalg.det(o.factors),
    "cholesky": lambda o: o.L.linalg.cholesky(o.regular @ o.regular.T),
    "singular values": lambda o: o.L.linalg.svd(o.wide, full_matrices=False)[1],
    "fft": lambda o: o.L.fft.fft(o.x).abs(),
}
"""Operators by name."""
