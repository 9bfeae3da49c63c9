"""Activations without parameters as modules; each is the function of `nn.functional` of the same name."""

from __future__ import annotations

from typing import Any

from flambeau.nn import functional
from flambeau.nn.layers.layer import Activation
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor


class Identity(Module):
    """Its input, unchanged, whatever arguments it is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class _InPlace(Activation):
    __constants__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class ReLU(_InPlace):
    """max(x, 0)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.relu(input, inplace=self.inplace)


class ReLU6(_InPlace):
    """min(max(x, 0), 6)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.relu6(input, inplace=self.inplace)


class SELU(_InPlace):
    """`ELU` with the constants that keep mean 0 and variance 1 through layers: Klambauer et al. (2017)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.selu(input, inplace=self.inplace)


class SiLU(_InPlace):
    """x sigmoid(x): Elfwing et al. (2017)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """x tanh(softplus(x)): Misra (2019)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.mish(input, inplace=self.inplace)


class Hardswish(_InPlace):
    """x relu6(x + 3) / 6: Howard et al. (2019)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.hardswish(input, inplace=self.inplace)


class Hardsigmoid(_InPlace):
    """relu6(x + 3) / 6."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.hardsigmoid(input, inplace=self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.tanh(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.tanhshrink(input)
