"""Cross entropy of what a linear layer makes of its input."""

from __future__ import annotations

from typing import Any

from flambeau.nn.functions.loss import cross_entropy
from flambeau.ops.families.composite import F
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any | None = None,
) -> Tensor:  # fmt: skip
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`, with the weight (classes, ..., features).

    Several dimensions between classes and features make as many losses for each sample. Raises RuntimeError for sizes
    that do not go together, and for `options`.

    Args:
        input: the tensor.
        linear_weight: the layer's weight.
        target: what the input should be.
        linear_bias: the layer's bias.
        weight: how much each class counts.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        ignore_index: the class that does not count.
        label_smoothing: how much of the target is spread over all classes, from 0 to 1.
        options: refused: the loss is computed at once.

    Shape:
        (N, in_features) and classes (N,), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> weight, target = flambeau.zeros(4, 3), flambeau.tensor([0, 2])
    >>> round(linear_cross_entropy(flambeau.ones(2, 3), weight, target).item(), 4)
    1.3863
    """
    if options is not None:
        raise RuntimeError("linear_cross_entropy computes the loss at once: leave options out")
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
    place = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=place, reduction=reduction, label_smoothing=label_smoothing
    )
