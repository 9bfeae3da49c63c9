"""Losses of `nn.functional` about margins: between classes, pairs and triplets.

`reduction` is 'mean', 'sum' or 'none'. The older `size_average` and `reduce` are understood too.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.nn.functions.loss import reduced, reduction_number
from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The input where the target is 1, what lacks to `margin` where it is -1.

    Args:
        input: the tensor.
        target: what the input should be.
        margin: how far apart things have to be to cost nothing.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.hinge_embedding_loss(flambeau.tensor([0.5, 1.0]), flambeau.tensor([-1.0, 1.0]))
    tensor(0.7500)
    """
    return F.hinge_embedding_loss(input, target, margin, reduction_number(reduction, size_average, reduce))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How far two inputs fall short of `margin` in the order that the target asks for.

    Args:
        input1: the first tensor.
        input2: the second tensor.
        target: 1 where the first should be larger, else -1.
        margin: how far apart things have to be to cost nothing.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        three of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> x = flambeau.tensor([0.5, 1.0])
    >>> F.margin_ranking_loss(x, flambeau.tensor([1.0, 3.0]), flambeau.tensor([1.0, -1.0]))
    tensor(0.2500)
    """
    number = reduction_number(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: torch.Size({list(input1.size())}), input2: torch.Size({list(input2.size())}), target: "
            f"torch.Size({list(target.size())}) "
        )
    return F.margin_ranking_loss(input1, input2, target, margin, number)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """One less the cosine where the target is 1, what the cosine exceeds `margin` by where it is -1.

    Args:
        input1: the first tensor.
        input2: the second tensor.
        target: 1 or -1 for each pair.
        margin: how far apart things have to be to cost nothing.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two (N, D) and a target (N,), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.cosine_embedding_loss(flambeau.ones(2, 3), flambeau.ones(2, 3), flambeau.tensor([1.0, -1.0]))
    tensor(0.5000)
    """
    number = reduction_number(reduction, size_average, reduce)
    return F.cosine_embedding_loss(input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How far the negative falls short of being `margin` further away than the positive.

    Raises ValueError for margin <= 0.

    Args:
        anchor: (batch, features).
        positive: what is to be near, as the anchor.
        negative: what is to be far, as the anchor.
        margin: how far apart things have to be to cost nothing.
        p: the p of the p-norm.
        eps: a small number that keeps a divisor from zero.
        swap: whether the negative counts that is nearer to anchor or positive.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        three (N, D), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.triplet_margin_loss(flambeau.zeros(1, 2), flambeau.ones(1, 2), flambeau.tensor([[3.0, 4.0]]))
    tensor(0.)
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    number = reduction_number(reduction, size_average, reduce)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Cross entropy of every class for itself, averaged over the classes (the last dimension).

    Args:
        input: the tensor.
        target: what the input should be.
        weight: how much each class counts.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two (N, C), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.multilabel_soft_margin_loss(flambeau.tensor([[2.0, 0.0], [0.0, 1.0]]), flambeau.ones(2, 2))
    tensor(0.4566)
    """
    likely = F.mul(target, F.log_sigmoid(input))
    losses = F.neg(F.add(likely, F.mul(F.rsub(target, 1), F.log_sigmoid(F.neg(input)))))
    if weight is not None:
        losses = F.mul(losses, weight)
    dims = input.dim() - 1
    return reduced(
        F.div(F.sum(losses, [dims]), input.size(dims)), reduction_number(reduction, size_average, reduce)
    )


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How far the scores fall short of a margin of 1 between the classes listed in the target, up to a -1, and others.

    Args:
        input: the tensor.
        target: what the input should be.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        (N, C) and classes (N, C), -1 behind the last, to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.multilabel_margin_loss(flambeau.tensor([[0.1, 0.8]]), flambeau.tensor([[1, -1]]))
    tensor(0.1500)
    """
    return F.multilabel_margin_loss(input, target, reduction_number(reduction, size_average, reduce))


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How far the scores fall short of `margin` between the target class and the others, to the power of `p` (1 or 2).

    Args:
        input: the tensor.
        target: what the input should be.
        p: 1 or 2: the exponent.
        margin: how far apart things have to be to cost nothing.
        weight: how much each class counts.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        (N, C) and classes (N,), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.multi_margin_loss(flambeau.tensor([[2.0, 0.0], [0.0, 1.0]]), flambeau.tensor([0, 0]))
    tensor(0.5000)
    """
    if p != 1 and p != 2:
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    number = reduction_number(reduction, size_average, reduce)
    return F.multi_margin_loss(input, target, p, margin, weight, number)


def check_ranks(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    """Raise RuntimeError unless all have the same number of dimensions."""
    if positive.dim() != anchor.dim() or negative.dim() != anchor.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0, swap: bool = False,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with another distance than the Euclidean one; for Python, since a distance is passed.

    Raises ValueError unless the margin is positive, RuntimeError for tensors of different ranks.

    Args:
        anchor: (batch, features).
        positive: what is to be near, as the anchor.
        negative: what is to be far, as the anchor.
        distance_function: two tensors to their distance; Euclidean by default.
        margin: how far apart things have to be to cost nothing.
        swap: whether the negative counts that is nearer to anchor or positive.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        three (N, D), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> x = flambeau.zeros(1, 2)
    >>> F.triplet_margin_with_distance_loss(x, flambeau.ones(1, 2), flambeau.tensor([[3.0, 4.0]]))
    tensor(0.)
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    check_ranks(anchor, positive, negative)
    distance = F.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = F.minimum(far, distance(positive, negative))
    return reduced(F.clamp_min(F.add(F.sub(near, far), margin), 0.0), reduction_number(reduction))
