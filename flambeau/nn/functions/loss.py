"""Losses of `nn.functional`: the operators, with the reduction as a word.

`reduction` is 'mean', 'sum' or 'none'. The older `size_average` and `reduce` are understood too.
"""

from __future__ import annotations

from flambeau.nn.functions import warned
from flambeau.ops.families.composite import F
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor
from flambeau.util.scripting import is_scripting


def reduction_number(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """The number of a word. Raises ValueError for another word.

    >>> reduction_number("sum")
    2
    """
    if size_average is not None or reduce is not None:
        number = 0 if reduce is False else 2 if size_average is False else 1
        if not is_scripting():
            warned.of_older_reduction(("none", "mean", "sum")[number])
        return number
    if reduction == "none":
        return 0
    if reduction == "mean" or reduction == "elementwise_mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError(f"{reduction} is not a valid value for reduction; write 'none', 'mean' or 'sum'")


def reduction_word(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The word that says it all, where the older flags are given too.

    >>> reduction_word("mean")
    'mean'
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
    """The squared difference.

    Args:
        input: the tensor.
        target: what the input should be.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        weight: how much each class counts.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.mse_loss(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(2.1250)
    """
    if not is_scripting():
        warned.of_sizes(input, target)
    number = reduction_number(reduction, size_average, reduce)
    if weight is None:
        return F.mse_loss(input, target, number)
    return _weighted(F.mse_loss(input, target, 0), weight, number)


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The distance.

    Args:
        input: the tensor.
        target: what the input should be.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        weight: how much each class counts.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.l1_loss(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(1.2500)
    """
    if not is_scripting():
        warned.of_sizes(input, target)
    number = reduction_number(reduction, size_average, reduce)
    if weight is None:
        return F.l1_loss(input, target, number)
    return _weighted(F.l1_loss(input, target, 0), weight, number)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """The distance, squared (and scaled) below `beta`.

    Args:
        input: the tensor.
        target: what the input should be.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        beta: the distance below which it is squared.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.smooth_l1_loss(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(0.8125)
    """
    if not is_scripting():
        warned.of_sizes(input, target)
    return F.smooth_l1_loss(input, target, reduction_number(reduction, size_average, reduce), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the square of the distance, and a straight line from `delta` on.

    Args:
        input: the tensor.
        target: what the input should be.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        delta: the distance at which the square becomes a straight line.
        weight: how much each class counts.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.huber_loss(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(0.8125)
    """
    if not is_scripting():
        warned.of_sizes(input, target)
    number = reduction_number(reduction)
    if weight is None:
        return F.huber_loss(input, target, number, delta)
    return _weighted(F.huber_loss(input, target, 0, delta), weight, number)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """log(1 + exp(-target * input)).

    Args:
        input: the tensor.
        target: what the input should be.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.soft_margin_loss(flambeau.tensor([0.5, 1.0]), flambeau.tensor([-1.0, 1.0]))
    tensor(0.6437)
    """
    return F.soft_margin_loss(input, target, reduction_number(reduction, size_average, reduce))


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the entries that the targets choose; classes are dimension 1.

    Args:
        input: the tensor.
        target: what the input should be.
        weight: how much each class counts.
        size_average: an older way to say `reduction`.
        ignore_index: the class that does not count.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        (N, C) and classes (N,), or further dimensions behind C; to () or, with reduction "none", to the classes'
        shape.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.nll_loss(flambeau.tensor([[2.0, 0.0], [0.0, 1.0]]).log_softmax(1), flambeau.tensor([0, 1]))
    tensor(0.2201)
    """
    return F.nll_loss_nd(input, target, weight, reduction_number(reduction, size_average, reduce), ignore_index)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of the targets (classes or probabilities) after log_softmax.

    Args:
        input: the tensor.
        target: what the input should be.
        weight: how much each class counts.
        size_average: an older way to say `reduction`.
        ignore_index: the class that does not count.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        label_smoothing: how much of the target is spread over all classes, from 0 to 1.

    Shape:
        (N, C) and classes (N,), or further dimensions behind C; to () or, with reduction "none", to the classes'
        shape.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.cross_entropy(flambeau.tensor([[2.0, 0.0], [0.0, 1.0]]), flambeau.tensor([0, 1]))
    tensor(0.2201)
    """
    number = reduction_number(reduction, size_average, reduce)
    return F.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Cross entropy of two classes; `input` is the probability of the second. Raises ValueError for other sizes.

    Args:
        input: the tensor.
        target: what the input should be.
        weight: a factor for every element.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.binary_cross_entropy(flambeau.tensor([0.5, 0.9]), flambeau.tensor([0.0, 1.0]))
    tensor(0.3993)
    """
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
    """Cross entropy of two classes; `input` is the logarithm of the odds. Raises ValueError for other sizes.

    Args:
        input: the tensor.
        target: what the input should be.
        weight: a factor for every element.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        pos_weight: how much the second class counts.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.binary_cross_entropy_with_logits(flambeau.tensor([0.5, 1.0]), flambeau.tensor([0.0, 1.0]))
    tensor(0.6437)
    """
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
    """target * (log(target) - input); 'batchmean' divides the sum by the size of the batch.

    Args:
        input: the tensor.
        target: what the input should be.
        size_average: an older way to say `reduction`.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        log_target: whether the target is a logarithm as well.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.kl_div(flambeau.tensor([0.5, 0.5]).log(), flambeau.tensor([0.25, 0.75]), reduction="sum")
    tensor(0.1308)
    """
    if reduction == "batchmean":
        added = F.kl_div(input, target, 2, log_target=log_target)
        return F.div(added, input.size(0)) if input.dim() > 0 else added
    number = reduction_number(reduction, size_average, reduce)
    if number == 1 and not is_scripting():
        warned.of_mean()
    return F.kl_div(input, target, number, log_target=log_target)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the logarithm of a Poisson probability.

    Args:
        input: the tensor.
        target: what the input should be.
        log_input: whether the input is the logarithm of the rate.
        full: whether terms that do not depend on the input are added.
        size_average: an older way to say `reduction`.
        eps: a small number that keeps a divisor from zero.
        reduce: an older way to say `reduction`.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        two of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.poisson_nll_loss(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]))
    tensor(0.4335)
    """
    return F.poisson_nll_loss(
        input, target, log_input, full, eps, reduction_number(reduction, size_average, reduce)
    )


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Minus the logarithm of a normal density with variance `var`, which is at least `eps`.

    There is one variance for each element, or one for each row of the last dimension. Raises ValueError for other
    sizes, and for negative variances.

    Args:
        input: the tensor.
        target: what the input should be.
        var: the variance of every element.
        full: whether terms that do not depend on the input are added.
        eps: a small number that keeps a divisor from zero.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.

    Shape:
        input, target and variance of the same shape, to () or, with reduction "none", to it.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.gaussian_nll_loss(flambeau.tensor([0.5, 1.0]), flambeau.tensor([1.0, 3.0]), flambeau.ones(2))
    tensor(1.0625)
    """
    expanded = F.mul(F.ones_like(input), var) if isinstance(var, float) else var
    rows, sizes = list(input.size())[:-1], list(expanded.size())
    if sizes == rows:
        expanded = F.unsqueeze(expanded, -1)
    elif not is_tracing() and sizes != list(input.size()) and (sizes[:-1] != rows or sizes[-1:] != [1]):
        raise ValueError(f"var is of incorrect size: {sizes}, for an input of {list(input.size())}")
    if not is_tracing() and bool(F.any(F.lt(expanded, 0.0))):
        raise ValueError("var has negative entry/entries")
    variance = F.clamp_min(expanded, eps)
    difference = F.sub(input, target)
    losses = F.mul(F.add(F.log(variance), F.div(F.mul(difference, difference), variance)), 0.5)
    if full:
        losses = F.add(losses, 0.9189385332046727)  # log(2 pi) / 2
    return reduced(losses, reduction_number(reduction))


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the probability of all ways to write the targets: Graves et al. (2006).

    Args:
        log_probs: (time, batch, classes).
        targets: (batch, length), or all in a row.
        input_lengths: how many steps of each sequence count.
        target_lengths: how many targets of each sequence count.
        blank: the class that stands for nothing.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        zero_infinity: whether infinite losses are made zero.

    Shape:
        log-probabilities (time, batch, classes), targets (batch, length) or in a row, and the lengths of both, to
        ().

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.ctc_loss(flambeau.zeros(5, 1, 3).log_softmax(2), flambeau.tensor([[1, 2]]), (5,), (2,))
    tensor(0.9689)
    """
    number = reduction_number(reduction)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)
