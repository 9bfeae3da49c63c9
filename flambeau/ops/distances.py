"""How far vectors are apart, and losses of that."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from typing import Any

from flambeau.ops.distance_losses import cosines
from flambeau.ops.families import ranks
from flambeau.ops.families.composite import composite
from flambeau.ops.families.promotion import common_dtype
from flambeau.ops.loss import NONE, OTHER_RANKS, _pair, fractional_dtype, reduced
from flambeau.schema.dtype import DType, float32, float64
from flambeau.schema.opdef import UNKNOWN, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def cosine_similarity(F: Any, x1: Tensor, x2: Tensor, dim: int, eps: float) -> Any:
    """The cosine of the angle between vectors along `dim`."""
    dtype = common_dtype((TensorType(dtype=x1.dtype, sizes=x1.shape), TensorType(dtype=x2.dtype, sizes=x2.shape)))
    if dtype is None or not dtype.is_floating_point:
        shown = "" if dtype is None else dtype.display
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {shown}")
    a, b = F.broadcast_tensors([F.to(x1, dtype), F.to(x2, dtype)])
    first = F.div(a, F.clamp_min(F.linalg_vector_norm(a, 2, [dim], True), eps))
    second = F.div(b, F.clamp_min(F.linalg_vector_norm(b, 2, [dim], True), eps))
    return F.sum(F.mul(first, second), [dim])


def cosine_embedding(
    F: Any,
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float,
    reduction: int,
) -> Any:
    """One less the cosine where the target is 1, what the cosine exceeds `margin` by where it is -1."""
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    dim = [target.ndim]
    dot = F.sum(F.mul(input1, input2), dim)
    first = F.add(F.sum(F.mul(input1, input1), dim), 1e-12)
    second = F.add(F.sum(F.mul(input2, input2), dim), 1e-12)
    cosine = F.div(dot, F.sqrt(F.mul(first, second)))
    zeros = F.zeros_like(cosine)
    loss = F.add(
        F.where(F.eq(target, 1), F.rsub(cosine, 1), zeros),
        F.where(F.eq(target, -1), F.clamp_min(F.sub(cosine, margin), 0), zeros),
    )
    return reduced(F, loss, reduction)


def pairwise_distance(F: Any, x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Any:
    """The norm of differences along the last dimension."""
    return F.norm(F.add(F.sub(x1, x2), eps), p, [-1], keepdim)


def triplet_margin(
    F: Any, anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool,
    reduction: int,
) -> Any:  # fmt: skip
    """How far the negative falls short of being `margin` further away than the positive. Raises for other ranks."""
    ranks_given = anchor.dim(), positive.dim(), negative.dim()
    if len(set(ranks_given)) > 1:
        raise RuntimeError(OTHER_RANKS.format(*ranks_given))
    near = F.pairwise_distance(anchor, positive, p, eps)
    far = F.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = F.minimum(far, F.pairwise_distance(positive, negative, p, eps))
    return reduced(F, F.clamp_min(F.sub(F.add(near, margin), far), 0), reduction)


def dist(F: Any, self: Tensor, other: Tensor, p: float) -> Any:
    """The norm of the difference."""
    return F.norm(F.sub(self, other), p)


def _norm_dtype(dtype: DType | None) -> DType | None:
    """The dtype of the norm of numbers."""
    return dtype and dtype.to_real()


def _distance_shape(sizes: Sizes | None, keepdim: Any) -> Sizes | None:
    if not sizes or keepdim is UNKNOWN:
        return None
    return (*sizes[:-1], 1) if keepdim else sizes[:-1]


composite(
    "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    body=cosine_similarity,
    quickly=cosines,
    dtype=lambda x1, x2: common_dtype((x1, x2)),
    shape=lambda x1, x2, dim: ranks.without_dim(ranks.both(x1, x2), dim),
    doc="The cosine of the angle between vectors along `dim`.",
    samples=lambda: [Sample(args=_pair()), Sample(args=(*_pair(), 0))],
    reference=lambda a, b, dim=1: (
        (a * b).sum(dim) / np.maximum(np.linalg.norm(a, axis=dim) * np.linalg.norm(b, axis=dim), 1e-8)
    ),
    ulp={float32: 4, float64: 4},
    namespaces=("nn.functional",),
    is_expanded=True,
)

composite(
    "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1)"
    " -> Tensor",
    body=cosine_embedding,
    dtype=lambda input1, input2: fractional_dtype(input1, input2),
    shape=lambda reduction: None if reduction is UNKNOWN or reduction == NONE else (),
    samples=lambda: [Sample(args=(*_pair(), wrap(np.array([1, -1], np.float32))))],
    is_expanded=True,
)

composite(
    "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False)"
    " -> Tensor",
    body=pairwise_distance,
    dtype=lambda x1, x2: _norm_dtype(fractional_dtype(x1, x2)),
    shape=lambda x1, x2, keepdim: _distance_shape(ranks.both(x1, x2), keepdim),
    doc="The norm of the differences of vectors along the last dimension.",
    samples=lambda: [Sample(args=_pair())],
    reference=lambda a, b: np.linalg.norm(a - b + 1e-6, axis=-1),
    namespaces=("nn.functional",),
    is_expanded=True,
)

composite(
    "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., "
    "float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
    body=triplet_margin,
    dtype=lambda anchor, positive, negative: _norm_dtype(fractional_dtype(anchor, positive, negative)),
    shape=lambda reduction: None if reduction is UNKNOWN or reduction == NONE else (),
    samples=lambda: [
        Sample(args=(*_pair(), _pair(1.0)[1])),
        Sample(args=(*_pair(), _pair(1.0)[1], 1.0, 2.0, 1e-6, True)),
    ],
    is_expanded=True,
)

composite(
    "aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
    outs=("out",),
    body=dist,
    dtype=lambda self, other: _norm_dtype(common_dtype((self, other))),
    shape=ranks.no_dims,
    doc="The norm of the difference.",
    samples=lambda: [Sample(args=_pair())],
    reference=lambda a, b: np.linalg.norm((a - b).reshape(-1)),
    is_method=True,
    is_expanded=True,
)
