"""Losses of `nn.functional`: the operators, with the reduction as a word.

`reduction` is 'mean', 'sum' or 'none'. The older `size_average` and `reduce` are understood too.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.ops.families.composite import F
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor


def reduction_number(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """The number of a word. Raises ValueError for another word.

    >>> reduction_number("sum")
    2
    """
    if size_average is not None or reduce is not None:
        if reduce is False:
            return 0
        return 2 if size_average is False else 1
    if reduction == "none":
        return 0
    if reduction == "mean" or reduction == "elementwise_mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError(f"{reduction} is not a valid value for reduction; write 'none', 'mean' or 'sum'")


def reduction_word(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The word that says it all, where the older flags are given too.

    >>> reduction_word("mean", size_average=False)
    'sum'
    """
    if size_average is None and reduce is None:
        return reduction
    return ("none", "mean", "sum")[reduction_number(reduction, size_average, reduce)]


def reduced(losses: Tensor, number: int) -> Tensor:
    """The losses themselves (0), their mean (1) or their sum (2)."""
    if number == 0:
        return losses
    return F.mean(losses) if number == 1 else F.sum(losses)


def _weighted(losses: Tensor, weight: Tensor, number: int) -> Tensor:
    """Losses times weights; the mean is that of the weights."""
    weighted = F.mul(losses, weight)
    if number == 1:
        return F.div(F.sum(weighted), F.sum(F.expand_as(weight, losses)))
    return F.sum(weighted) if number == 2 else weighted


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The squared difference."""
    number = reduction_number(reduction, size_average, reduce)
    if weight is None:
        return F.mse_loss(input, target, number)
    return _weighted(F.mse_loss(input, target, 0), weight, number)


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The distance."""
    number = reduction_number(reduction, size_average, reduce)
    if weight is None:
        return F.l1_loss(input, target, number)
    return _weighted(F.l1_loss(input, target, 0), weight, number)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """The distance, squared (and scaled) below `beta`."""
    return F.smooth_l1_loss(input, target, reduction_number(reduction, size_average, reduce), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the square of the distance, and a straight line from `delta` on."""
    number = reduction_number(reduction)
    if weight is None:
        return F.huber_loss(input, target, number, delta)
    return _weighted(F.huber_loss(input, target, 0, delta), weight, number)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """log(1 + exp(-target * input))."""
    return F.soft_margin_loss(input, target, reduction_number(reduction, size_average, reduce))


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the entries that the targets choose; classes are dimension 1."""
    return F.nll_loss_nd(input, target, weight, reduction_number(reduction, size_average, reduce), ignore_index)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of the targets (classes or probabilities) after log_softmax."""
    number = reduction_number(reduction, size_average, reduce)
    return F.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Cross entropy of two classes; `input` is the probability of the second. Raises ValueError for other sizes."""
    number = reduction_number(reduction, size_average, reduce)
    if not is_tracing() and not F.is_same_size(target, input):
        raise ValueError(
            f"Using a target size (torch.Size({list(target.size())})) that is different to the input size "
            f"(torch.Size({list(input.size())})) is deprecated. Please ensure they have the same size."
        )
    return F.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Cross entropy of two classes; `input` is the logarithm of the odds. Raises ValueError for other sizes."""
    number = reduction_number(reduction, size_average, reduce)
    if not is_tracing() and not F.is_same_size(target, input):
        raise ValueError(
            f"Target size (torch.Size({list(target.size())})) must be the same as input size "
            f"(torch.Size({list(input.size())}))"
        )
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """target * (log(target) - input); 'batchmean' divides the sum by the size of the batch."""
    if reduction == "batchmean":
        added = F.kl_div(input, target, 2, log_target=log_target)
        return F.div(added, input.size(0)) if input.dim() > 0 else added
    number = reduction_number(reduction, size_average, reduce)
    return F.kl_div(input, target, number, log_target=log_target)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the logarithm of a Poisson probability."""
    return F.poisson_nll_loss(
        input, target, log_input, full, eps, reduction_number(reduction, size_average, reduce)
    )


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Minus the logarithm of a normal density with variance `var`, which is at least `eps`.

    There is one variance for each element, or one for each row of the last dimension. Raises ValueError for other
    sizes, and for negative variances.
    """
    given = F.mul(F.ones_like(input), var) if isinstance(var, float) else var
    rows, sizes = list(input.size())[:-1], list(given.size())
    if sizes == rows:
        given = F.unsqueeze(given, -1)
    elif not is_tracing() and sizes != list(input.size()) and (sizes[:-1] != rows or sizes[-1:] != [1]):
        raise ValueError(f"var is of incorrect size: {sizes}, for an input of {list(input.size())}")
    if not is_tracing() and bool(F.any(F.lt(given, 0.0))):
        raise ValueError("var has negative entry/entries")
    variance = F.clamp_min(given, eps)
    difference = F.sub(input, target)
    losses = F.mul(F.add(F.log(variance), F.div(F.mul(difference, difference), variance)), 0.5)
    if full:
        losses = F.add(losses, 0.9189385332046727)  # log(2 pi) / 2
    return reduced(losses, reduction_number(reduction))


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The input where the target is 1, what lacks to `margin` where it is -1."""
    return F.hinge_embedding_loss(input, target, margin, reduction_number(reduction, size_average, reduce))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """What lacks to `margin` in the wanted order of two inputs."""
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
    """One less the cosine where the target is 1, what the cosine exceeds `margin` by where it is -1."""
    number = reduction_number(reduction, size_average, reduce)
    return F.cosine_embedding_loss(input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """What lacks for the negative to be `margin` further away than the positive. Raises ValueError for margin <= 0."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    number = reduction_number(reduction, size_average, reduce)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Cross entropy of every class for itself, averaged over the classes (the last dimension)."""
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
    """What lacks to a margin of 1 between the classes that the target lists, up to a -1, and the others."""
    return F.multilabel_margin_loss(input, target, reduction_number(reduction, size_average, reduce))


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """What lacks to `margin` between the target class and the others, to the power of `p`, which is 1 or 2."""
    if p != 1 and p != 2:
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    number = reduction_number(reduction, size_average, reduce)
    return F.multi_margin_loss(input, target, p, margin, weight, number)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the probability of all ways to write the targets: Graves et al. (2006)."""
    number = reduction_number(reduction)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)


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
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    check_ranks(anchor, positive, negative)
    distance = F.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = F.minimum(far, distance(positive, negative))
    return reduced(F.clamp_min(F.add(F.sub(near, far), margin), 0.0), reduction_number(reduction))
