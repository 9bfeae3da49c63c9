"""Cross entropy of what a linear layer makes of its input."""

from __future__ import annotations

import warnings
from typing import Any, Final

from flambeau.nn.functions.loss import cross_entropy
from flambeau.nn.functions.loss_in_chunks import linear_cross_entropy_in_chunks
from flambeau.ops.families.composite import F
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor
from flambeau.util.scripting import is_scripting

SEVERAL: Final = "linear_cross_entropy with several losses for each sample is computed at once: options do nothing"


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any | None = None,
) -> Tensor:  # fmt: skip
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`, with the weight (classes, ..., features).

    Several dimensions between classes and features make as many losses for each sample. Raises RuntimeError for sizes
    that do not go together.

    Args:
        input: the tensor.
        linear_weight: the layer's weight.
        target: what the input should be.
        linear_bias: the layer's bias.
        weight: how much each class counts.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        ignore_index: the class that does not count.
        label_smoothing: how much of the target is spread over all classes, from 0 to 1.
        options: `nn.LinearCrossEntropyOptions`, with which samples are gone through in chunks, so that not all scores
            are in memory at once; for several losses of a sample the loss is computed at once, with a warning.

    Shape:
        (N, in_features) and classes (N,), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> weight, target = flambeau.zeros(4, 3), flambeau.tensor([0, 2])
    >>> round(linear_cross_entropy(flambeau.ones(2, 3), weight, target).item(), 4)
    1.3863
    """
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.dim() != 1 and input.dim() != 2:
        raise RuntimeError(f"expected input (features) or (batch, features), got {list(input.size())}")
    features = linear_weight.size(-1)
    if not is_tracing() and input.size(-1) != features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.size(-1)} and {features}, respectively"
        )
    if ignore_index is not None and not is_tracing() and F.is_floating_point(target):
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if options is not None:
        if is_scripting():
            raise RuntimeError("linear_cross_entropy in a program computes the loss at once: leave options out")
        else:
            return _in_chunks(
                input, linear_weight, target, linear_bias, weight, reduction, ignore_index, label_smoothing, options
            )
    if linear_weight.dim() == 2:
        logits = F.linear(input, linear_weight, linear_bias)
    else:
        if input.dim() != 2:
            raise RuntimeError(
                f"K-dimensional loss defined by linear_weight shape {list(linear_weight.size())} requires batched "
                f"input, (N, {features}), got unbatched input with shape {list(input.size())}"
            )
        flat = None if linear_bias is None else F.reshape(linear_bias, [-1])
        scores = F.linear(input, F.reshape(linear_weight, [-1, features]), flat)
        sizes = list(linear_weight.size())
        logits = F.reshape(scores, [input.size(0)] + sizes[:-1])  # noqa: RUF005  (programs have no starred lists)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _in_chunks(
    input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None, weight: Tensor | None,
    reduction: str, ignore_index: int | None, label_smoothing: float, options: Any,
) -> Tensor:  # fmt: skip
    """The loss with options: in chunks, one sample where there is no batch; at once for several losses of a sample."""
    if not hasattr(options, "batch_chunk_size"):
        raise RuntimeError(f"expected options to be nn.LinearCrossEntropyOptions, got {type(options).__name__}")
    if linear_weight.dim() > 2:
        warnings.warn(SEVERAL, stacklevel=3)
        return linear_cross_entropy(
            input, linear_weight, target, linear_bias=linear_bias, weight=weight, reduction=reduction,
            ignore_index=ignore_index, label_smoothing=label_smoothing,
        )  # fmt: skip
    ignored = -100 if ignore_index is None else ignore_index
    has_batch = input.dim() == 2
    loss = linear_cross_entropy_in_chunks(
        input if has_batch else input[None], linear_weight, target if has_batch else target[None], linear_bias, weight,
        reduction, ignored, label_smoothing, options,
    )  # fmt: skip
    return loss[0] if reduction == "none" and not has_batch else loss
