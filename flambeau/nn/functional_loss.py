"""Losses of `nn.functional`: the operators, with the reduction as a word.

`reduction` is 'mean', 'sum' or 'none'. The older `size_average` and `reduce` are understood too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.families.composite import F
from flambeau.tensor.dispatch import call
from flambeau.tensor.tensor import Tensor

_WORDS: Final = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def reduction_number(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """The number of a word. Raises ValueError for another word.

    >>> reduction_number("sum")
    2
    """
    if size_average is not None or reduce is not None:
        if reduce is False:
            return 0
        return 2 if size_average is False else 1
    if reduction not in _WORDS:
        raise ValueError(f"{reduction} is not a valid value for reduction; write 'none', 'mean' or 'sum'")
    return _WORDS[reduction]


def _plain(name: str, doc: str) -> Callable[..., Any]:
    """A loss of an input and a target, with nothing else to say."""

    def loss(
        input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean",
    ) -> Any:  # fmt: skip
        return call(f"aten::{name}", input, target, reduction_number(reduction, size_average, reduce))

    loss.__name__ = loss.__qualname__ = name
    loss.__doc__ = doc
    return loss


soft_margin_loss = _plain("soft_margin_loss", "log(1 + exp(-target * input)).")


def _weighted(name: str, input: Tensor, target: Tensor, weight: Tensor | None, reduction: int) -> Any:
    """A plain loss, or its elements times weights."""
    if weight is None:
        return call(f"aten::{name}", input, target, reduction)
    losses = F.mul(call(f"aten::{name}", input, target, 0), weight)
    if reduction == 1:
        return F.div(F.sum(losses), F.sum(F.expand_as(weight, losses)))
    return F.sum(losses) if reduction == 2 else losses


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Any:  # fmt: skip
    """The squared difference."""
    return _weighted("mse_loss", input, target, weight, reduction_number(reduction, size_average, reduce))


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Any:  # fmt: skip
    """The distance."""
    return _weighted("l1_loss", input, target, weight, reduction_number(reduction, size_average, reduce))


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Any:  # fmt: skip
    """The distance, squared (and scaled) below `beta`."""
    return call("aten::smooth_l1_loss", input, target, reduction_number(reduction, size_average, reduce), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Any:
    """Half the square of the distance, and a straight line from `delta` on."""
    if weight is None:
        return call("aten::huber_loss", input, target, reduction_number(reduction), delta)
    losses = F.mul(call("aten::huber_loss", input, target, 0, delta), weight)
    number = reduction_number(reduction)
    if number == 1:
        return F.div(F.sum(losses), F.sum(weight))
    return F.sum(losses) if number == 2 else losses


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Minus the entries that the targets choose; classes are dimension 1."""
    number = reduction_number(reduction, size_average, reduce)
    return call("aten::nll_loss_nd", input, target, weight, number, ignore_index)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The negative log-likelihood of the targets (classes or probabilities) after log_softmax."""
    number = reduction_number(reduction, size_average, reduce)
    return call("aten::cross_entropy_loss", input, target, weight, number, ignore_index, label_smoothing)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Cross entropy of two classes; `input` is the probability of the second. Raises ValueError for other sizes."""
    number = reduction_number(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    return call("aten::binary_cross_entropy", input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Any:  # fmt: skip
    """Cross entropy of two classes; `input` is the logarithm of the odds. Raises ValueError for other sizes."""
    number = reduction_number(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return call("aten::binary_cross_entropy_with_logits", input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Any:  # fmt: skip
    """target * (log(target) - input); 'batchmean' divides the sum by the size of the batch."""
    if reduction == "batchmean":
        added = call("aten::kl_div", input, target, 2, log_target=log_target)
        return F.div(added, input.shape[0]) if input.ndim else added
    number = reduction_number(reduction, size_average, reduce)
    return call("aten::kl_div", input, target, number, log_target=log_target)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Minus the logarithm of a Poisson probability."""
    number = reduction_number(reduction, size_average, reduce)
    return call("aten::poisson_nll_loss", input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Minus the logarithm of a normal density with variance `var`, which is at least `eps`."""
    variance = F.clamp_min(var if isinstance(var, Tensor) else F.mul(F.ones_like(input), var), eps)
    difference = F.sub(input, target)
    losses = F.mul(F.add(F.log(variance), F.div(F.mul(difference, difference), variance)), 0.5)
    if full:
        losses = F.add(losses, 0.9189385332046727)
    number = reduction_number(reduction)
    return F.mean(losses) if number == 1 else F.sum(losses) if number == 2 else losses


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The input where the target is 1, what lacks to `margin` where it is -1."""
    number = reduction_number(reduction, size_average, reduce)
    return call("aten::hinge_embedding_loss", input, target, margin, number)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """What lacks to `margin` in the wanted order of two inputs."""
    number = reduction_number(reduction, size_average, reduce)
    if not (input1.ndim == input2.ndim == target.ndim):
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return call("aten::margin_ranking_loss", input1, input2, target, margin, number)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """One less the cosine where the target is 1, what the cosine exceeds `margin` by where it is -1."""
    number = reduction_number(reduction, size_average, reduce)
    return call("aten::cosine_embedding_loss", input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """What lacks for the negative to be `margin` further away than the positive. Raises ValueError for margin <= 0."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    number = reduction_number(reduction, size_average, reduce)
    return call("aten::triplet_margin_loss", anchor, positive, negative, margin, p, eps, swap, number)
