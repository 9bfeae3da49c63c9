"""Losses with a margin, as modules; each is the function of `nn.functional` of a similar name."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.nn import functional
from flambeau.nn.functions.loss import reduced, reduction_number
from flambeau.nn.functions.loss_margin import check_ranks
from flambeau.nn.layers.loss import Flag, Loss, WeightedLoss
from flambeau.nn.layers.reshaping import PairwiseDistance
from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor


class SoftMarginLoss(Loss):
    """log(1 + exp(-target input)).

    Args:
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.SoftMarginLoss()(flambeau.tensor([0.5, 1.0]), flambeau.tensor([-1.0, 1.0]))
    tensor(0.6437)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class HingeEmbeddingLoss(Loss):
    """The input where the target is 1, what lacks to `margin` where it is -1.

    Args:
        margin: how far apart things have to be to cost nothing.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.HingeEmbeddingLoss()(flambeau.tensor([0.5, 0.25]), flambeau.tensor([1.0, -1.0]))
    tensor(0.6250)
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self, margin: float = 1.0, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = float(margin)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class _MarginLoss(Loss):
    __constants__ = ["margin", "reduction"]

    def __init__(
        self, margin: float = 0.0, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = float(margin)


class MarginRankingLoss(_MarginLoss):
    """How far two inputs fall short of `margin` in the order that the target asks for.

    Args:
        margin: how far apart things have to be to cost nothing.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        three of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> loss = flambeau.nn.MarginRankingLoss()
    >>> loss(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]), flambeau.tensor([1.0, -1.0]))
    tensor(0.2500)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """One less the cosine where the target is 1, what the cosine exceeds `margin` by where it is -1.

    Args:
        margin: how far apart things have to be to cost nothing.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two (N, D) and a target (N,), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> flambeau.nn.CosineEmbeddingLoss()(flambeau.ones(2, 3), flambeau.ones(2, 3), flambeau.tensor([1.0, -1.0]))
    tensor(0.5000)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MultiLabelSoftMarginLoss(WeightedLoss):
    """Cross entropy of every class for itself, averaged over the classes.

    Args:
        weight: how much each class counts.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two (N, C), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> loss = flambeau.nn.MultiLabelSoftMarginLoss()
    >>> loss(flambeau.tensor([[2.0, 0.0], [0.0, 1.0]]), flambeau.tensor([[1.0, 0.0], [1.0, 1.0]]))
    tensor(0.4566)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(Loss):
    """How far the scores fall short of a margin of 1 between the classes in the target and the others.

    Args:
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        (N, C) and classes (N, C), -1 behind the last, to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> flambeau.nn.MultiLabelMarginLoss()(flambeau.tensor([[0.1, 0.8]]), flambeau.tensor([[1, -1]]))
    tensor(0.1500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(WeightedLoss):
    """How far the scores fall short of `margin` between the target class and the others, to the power of `p`.

    Args:
        p: 1 or 2: the exponent.
        margin: how far apart things have to be to cost nothing.
        weight: how much each class counts.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        (N, C) and classes (N,), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> flambeau.nn.MultiMarginLoss()(flambeau.tensor([[2.0, 0.0], [0.0, 1.0]]), flambeau.tensor([0, 0]))
    tensor(0.5000)
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: Flag = None,
        reduce: Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p != 1 and p != 2:
            raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"weight must be None or have one dimension, got {weight.dim()}")
        self.p = p
        self.margin = float(margin)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


def _positive(margin: float, owner: str) -> float:
    if margin <= 0:
        raise ValueError(f"{owner}: expected margin to be greater than 0, got {margin} instead")
    return float(margin)


class TripletMarginLoss(Loss):
    """How far the negative falls short of being `margin` further away than the positive: Balntas et al. (2016).

    Args:
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
    >>> flambeau.nn.TripletMarginLoss()(flambeau.zeros(1, 2), flambeau.ones(1, 2), flambeau.tensor([[3.0, 4.0]]))
    tensor(0.)
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: Flag = None,
        reduce: Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = _positive(margin, "TripletMarginLoss")
        self.p = float(p)
        self.eps = float(eps)
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(Loss):
    """Connectionist temporal classification: Graves et al. (2006).

    Args:
        blank: the class that stands for nothing.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        zero_infinity: whether infinite losses are made zero.

    Shape:
        log-probabilities (time, batch, classes), targets (batch, length) or in a row, and the lengths of both, to
        ().

    >>> import flambeau
    >>> loss, scores = flambeau.nn.CTCLoss(), flambeau.zeros(5, 1, 3).log_softmax(2)
    >>> loss(scores, flambeau.tensor([[1, 2]]), flambeau.tensor([5]), flambeau.tensor([2]))
    tensor(0.9689)
    """

    __constants__ = ["blank", "reduction"]

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        """Log-probabilities (time, batch, classes), targets (batch, length) or all in a row, and the lengths."""
        return functional.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with another distance than the Euclidean one.

    Args:
        distance_function: two tensors to their distance; Euclidean by default.
        margin: how far apart things have to be to cost nothing.
        swap: whether the negative counts that is nearer to anchor or positive.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        three (N, D), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> loss = flambeau.nn.TripletMarginWithDistanceLoss()
    >>> loss(flambeau.zeros(1, 2), flambeau.ones(1, 2), flambeau.tensor([[3.0, 4.0]]))
    tensor(0.)
    """

    def __init__(
        self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
        swap: bool = False, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(reduction=reduction)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = _positive(margin, "TripletMarginWithDistanceLoss")
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each triplet."""
        check_ranks(anchor, positive, negative)
        near = self.distance_function(anchor, positive)
        far = self.distance_function(anchor, negative)
        if self.swap:
            far = F.minimum(far, self.distance_function(positive, negative))
        losses = F.clamp_min(near - far + self.margin, 0.0)
        return reduced(losses, reduction_number(self.reduction))
