"""Losses as modules; each is the function of `nn.functional` of a similar name.

`reduction` is 'mean', 'sum' or 'none'. The older `size_average` and `reduce` are understood too.
"""

from __future__ import annotations

import warnings
from typing import Any

from flambeau.nn import functional
from flambeau.nn.functions.loss import reduction_word
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

Flag = bool | None


class Loss(Module):
    """What all losses have: the word for how they are folded. Raises ValueError for another word."""

    __constants__: tuple[str, ...] = ("reduction",)

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction_word(reduction, size_average, reduce)


class WeightedLoss(Loss):
    """A loss with a weight per class, which is a buffer."""

    def __init__(
        self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.weight: Tensor | None
        self.register_buffer("weight", weight)


class L1Loss(Loss):
    """The distance."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.l1_loss(input, target, reduction=self.reduction)


class MSELoss(Loss):
    """The squared difference."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """The distance, squared (and scaled) below `beta`: Girshick (2015)."""

    __constants__ = ("beta", "reduction")

    def __init__(
        self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = float(beta)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)


class HuberLoss(Loss):
    """Half the square of the distance, and a straight line from `delta` on: Huber (1964)."""

    __constants__ = ("delta", "reduction")

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = float(delta)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.huber_loss(input, target, delta=self.delta, reduction=self.reduction)


class NLLLoss(WeightedLoss):
    """Minus the entries of log-probabilities that the targets choose; classes are dimension 1."""

    __constants__ = ("ignore_index", "reduction")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Flag = None,
        ignore_index: int = -100,
        reduce: Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.nll_loss(
            input, target, ignore_index=self.ignore_index, weight=self.weight, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """`NLLLoss` under an older name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("NLLLoss2d is deprecated: write NLLLoss, which is the same", FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class CrossEntropyLoss(WeightedLoss):
    """The negative log-likelihood of the targets (classes or probabilities) after log_softmax."""

    __constants__ = ("ignore_index", "label_smoothing", "reduction")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Flag = None,
        ignore_index: int = -100,
        reduce: Flag = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = float(label_smoothing)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.cross_entropy(
            input,
            target,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            weight=self.weight,
            reduction=self.reduction,
        )


class BCELoss(WeightedLoss):
    """Cross entropy of two classes; the input is the probability of the second."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(WeightedLoss):
    """Cross entropy of two classes; the input is the logarithm of the odds. `pos_weight` counts the second class."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Flag = None,
        reduce: Flag = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.pos_weight: Tensor | None
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(Loss):
    """target (log(target) - input); reduction 'batchmean' divides the sum by the size of the batch."""

    __constants__ = ("log_target", "reduction")

    def __init__(
        self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.kl_div(input, target, log_target=self.log_target, reduction=self.reduction)


class PoissonNLLLoss(Loss):
    """Minus the logarithm of a Poisson probability."""

    __constants__ = ("log_input", "full", "eps", "reduction")

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Flag = None,
        eps: float = 1e-8,
        reduce: Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = float(eps)

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(Loss):
    """Minus the logarithm of a normal density with variance `var`."""

    __constants__ = ("full", "eps", "reduction")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = float(eps)

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)
