"""Losses as modules; each is the function of `nn.functional` of a similar name.

`reduction` is 'mean', 'sum' or 'none'. The older `size_average` and `reduce` are understood too.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from flambeau.nn import functional
from flambeau.nn.functions.loss import reduction_word
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

Flag = bool | None


class Loss(Module):
    """What all losses have: the word for how they are folded. Raises ValueError for another word.

    >>> from flambeau import nn
    >>> isinstance(nn.MSELoss(), Loss), nn.MSELoss().reduction
    (True, 'mean')
    """

    __constants__: ClassVar[list[str]] = ["reduction"]

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction_word(reduction, size_average, reduce)


class WeightedLoss(Loss):
    """A loss with a weight per class, which is a buffer.

    >>> import flambeau
    >>> from flambeau import nn
    >>> nn.CrossEntropyLoss(weight=flambeau.ones(3)).weight
    tensor([1., 1., 1.])
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.weight: Tensor | None
        self.register_buffer("weight", weight)


class L1Loss(Loss):
    """The distance.

    Args:
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.L1Loss()(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(1.2500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.l1_loss(input, target, reduction=self.reduction)


class MSELoss(Loss):
    """The squared difference.

    Args:
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.MSELoss()(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(2.1250)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """The distance, squared (and scaled) below `beta`: Girshick (2015).

    Args:
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        beta: the distance below which it is squared.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.SmoothL1Loss()(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(0.8125)
    """

    __constants__ = ["beta", "reduction"]

    def __init__(
        self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = float(beta)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)


class HuberLoss(Loss):
    """Half the square of the distance, and a straight line from `delta` on: Huber (1964).

    Args:
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        delta: the distance at which the square becomes a straight line.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.HuberLoss()(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(0.8125)
    """

    __constants__ = ["delta", "reduction"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = float(delta)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.huber_loss(input, target, delta=self.delta, reduction=self.reduction)


class NLLLoss(WeightedLoss):
    """Minus the entries of log-probabilities that the targets choose; classes are dimension 1.

    Args:
        weight: how much each class counts.
        size_average: an older way to say `reduction`.
        ignore_index: the class that does not count.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        (N, C) and classes (N,), (C,) and one class, or further dimensions behind C; to () or, with reduction
        "none", to the classes' shape.

    >>> import flambeau
    >>> flambeau.nn.NLLLoss()(flambeau.tensor([[2.0, 0.0], [0.0, 1.0]]).log_softmax(1), flambeau.tensor([0, 1]))
    tensor(0.2201)
    """

    __constants__ = ["ignore_index", "reduction"]

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
    """`NLLLoss` under an older name.

    Shape:
        (N, C) and classes (N,), (C,) and one class, or further dimensions behind C; to () or, with reduction
        "none", to the classes' shape.

    >>> issubclass(NLLLoss2d, NLLLoss)
    True
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("NLLLoss2d is deprecated: write NLLLoss, which is the same", FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class CrossEntropyLoss(WeightedLoss):
    """The negative log-likelihood of the targets (classes or probabilities) after log_softmax.

    Args:
        weight: how much each class counts.
        size_average: an older way to say `reduction`.
        ignore_index: the class that does not count.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        label_smoothing: how much of the target is spread over all classes, from 0 to 1.

    Shape:
        (N, C) and classes (N,), (C,) and one class, or further dimensions behind C; to () or, with reduction
        "none", to the classes' shape.

    >>> import flambeau
    >>> flambeau.nn.CrossEntropyLoss()(flambeau.tensor([[2.0, 0.0], [0.0, 1.0]]), flambeau.tensor([0, 1]))
    tensor(0.2201)
    """

    __constants__ = ["ignore_index", "label_smoothing", "reduction"]

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
    """Cross entropy of two classes; the input is the probability of the second.

    Args:
        weight: a factor for every element.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.BCELoss()(flambeau.tensor([0.5, 0.9]), flambeau.tensor([0.0, 1.0]))
    tensor(0.3993)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(WeightedLoss):
    """Cross entropy of two classes; the input is the logarithm of the odds. `pos_weight` counts the second class.

    Args:
        weight: a factor for every element.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        pos_weight: how much the second class counts.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.BCEWithLogitsLoss()(flambeau.tensor([0.5, 1.0]), flambeau.tensor([0.0, 1.0]))
    tensor(0.6437)
    """

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
    """target (log(target) - input); reduction 'batchmean' divides the sum by the size of the batch.

    Args:
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        log_target: whether the target is a logarithm as well.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.KLDivLoss(reduction="sum")(flambeau.tensor([0.5, 0.5]).log(), flambeau.tensor([0.25, 0.75]))
    tensor(0.1308)
    """

    __constants__ = ["log_target", "reduction"]

    def __init__(
        self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.kl_div(input, target, log_target=self.log_target, reduction=self.reduction)


class PoissonNLLLoss(Loss):
    """Minus the logarithm of a Poisson probability.

    Args:
        log_input: whether the input is the logarithm of the rate.
        full: whether terms that do not depend on the input are added.
        size_average: an older way to say `reduction`.
        eps: keeps the logarithm from zero.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.PoissonNLLLoss()(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(0.4335)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

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
    """Minus the logarithm of a normal density with variance `var`.

    Args:
        full: whether terms that do not depend on the input are added.
        eps: the smallest variance.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        input, target and variance of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> flambeau.nn.GaussianNLLLoss()(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]), flambeau.ones(2))
    tensor(1.0625)
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = float(eps)

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        """One number, or with reduction 'none' one for each element."""
        return functional.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)
