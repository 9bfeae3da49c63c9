"""Dropout layers: active while `training`, the identity otherwise. Srivastava et al. (2014)."""

from __future__ import annotations

from flambeau.nn import functional
from flambeau.nn.functions.dropout import check_probability
from flambeau.nn.layers.layer import Layer
from flambeau.tensor.tensor import Tensor


class _Dropout(Layer):
    __constants__ = ["p", "inplace"]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(p)
        self.p = float(p)
        self.inplace = inplace


class Dropout(_Dropout):
    """Each element zeroed with probability `p`, the others divided by 1 - p.

    Args:
        p: the probability with which values are dropped while training.
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Dropout().eval()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-2.,  0.,  3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Whole channels of (N, C, L) or (C, L) zeroed with probability `p`.

    Args:
        p: the probability with which values are dropped while training.
        inplace: whether the input is written to.

    Shape:
        (N, C, L) or (C, L); it stays.

    >>> import flambeau
    >>> flambeau.nn.Dropout1d(0.5).eval()(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Whole channels of (N, C, H, W) zeroed with probability `p`.

    Args:
        p: the probability with which values are dropped while training.
        inplace: whether the input is written to.

    Shape:
        (N, C, H, W) or (C, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.Dropout2d(0.5).eval()(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) zeroed with probability `p`.

    Args:
        p: the probability with which values are dropped while training.
        inplace: whether the input is written to.

    Shape:
        (N, C, D, H, W) or (C, D, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.Dropout3d(0.5).eval()(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 8, 8, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance of what `SELU` gives: Klambauer et al. (2017).

    Args:
        p: the probability with which values are dropped while training.
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.AlphaDropout().eval()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-2.,  0.,  3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels.

    Args:
        p: the probability with which values are dropped while training.
        inplace: whether the input is written to.

    Shape:
        (N, C, ...); it stays.

    >>> import flambeau
    >>> flambeau.nn.FeatureAlphaDropout(0.5).eval()(flambeau.ones(1, 2, 3)).shape
    flambeau.Size([1, 2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.feature_alpha_dropout(input, self.p, self.training, self.inplace)
