"""Cross entropy with the linear layer before it."""

from __future__ import annotations

from math import prod
from typing import Any

from flambeau.nn import functional
from flambeau.nn.layers.linear import Linear
from flambeau.nn.layers.loss import WeightedLoss
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


class LinearCrossEntropyLoss(WeightedLoss):
    """A linear layer to the logits of classes, and `CrossEntropyLoss` of them; `out_features` makes several losses.

    Args:
        in_features: features of the input, its last dimension.
        num_classes: the number of classes.
        out_features: features of the result.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.
        reduction: "mean", "sum" or "none": what becomes of the losses of the elements.
        weight: how much each class counts.
        ignore_index: the class that does not count.
        label_smoothing: how much of the target is spread over all classes, from 0 to 1.
        options: `LinearCrossEntropyOptions`, to go through samples in chunks; None computes the loss at once.

    Shape:
        (N, in_features) and classes (N,), to () or, with reduction "none", to (N,).

    >>> import flambeau
    >>> LinearCrossEntropyLoss(4, 3)(flambeau.ones(2, 4), flambeau.tensor([0, 2])).shape
    flambeau.Size([])
    """

    __constants__ = ["ignore_index", "label_smoothing", "reduction"]

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
        device: Device | str | None = None, dtype: DType | None = None, reduction: str = "mean",
        weight: Tensor | None = None, ignore_index: int | None = None, label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(weight, None, None, reduction)
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = float(label_smoothing)
        self.linear = Linear(in_features, num_classes * prod(self.out_features), bias, device, dtype)
        self.options = options
        self.sizes = [num_classes, *self.out_features]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """(features) or (batch, features), and classes or their probabilities: one number, or with 'none' several."""
        bias = self.linear.bias
        return functional.linear_cross_entropy(
            input,
            self.linear.weight.reshape(self.sizes + [self.in_features]),  # noqa: RUF005  (no starred lists in programs)
            target,
            linear_bias=None if bias is None else bias.reshape(self.sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
