"""Activations without parameters as modules; each is the function of `nn.functional` of the same name."""

from __future__ import annotations

from typing import Any

from flambeau.nn import functional
from flambeau.nn.layers.layer import Activation
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor


class Identity(Module):
    """Its input, unchanged, whatever arguments it is made with.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Identity()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-2.,  0.,  3.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class _InPlace(Activation):
    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class ReLU(_InPlace):
    """max(x, 0).

    Args:
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.ReLU()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0., 0., 3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.relu(input, inplace=self.inplace)


class ReLU6(_InPlace):
    """min(max(x, 0), 6).

    Args:
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.ReLU6()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0., 0., 3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.relu6(input, inplace=self.inplace)


class SELU(_InPlace):
    """`ELU` with the constants that keep mean 0 and variance 1 through layers: Klambauer et al. (2017).

    Args:
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.SELU()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.5202,  0.0000,  3.1521])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.selu(input, inplace=self.inplace)


class SiLU(_InPlace):
    """x sigmoid(x): Elfwing et al. (2017).

    Args:
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.SiLU()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.2384,  0.0000,  2.8577])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """x tanh(softplus(x)): Misra (2019).

    Args:
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Mish()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.2525,  0.0000,  2.9865])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.mish(input, inplace=self.inplace)


class Hardswish(_InPlace):
    """x relu6(x + 3) / 6: Howard et al. (2019).

    Args:
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Hardswish()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.3333,  0.0000,  3.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.hardswish(input, inplace=self.inplace)


class Hardsigmoid(_InPlace):
    """relu6(x + 3) / 6.

    Args:
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Hardsigmoid()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0.1667, 0.5000, 1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.hardsigmoid(input, inplace=self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Sigmoid()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0.1192, 0.5000, 0.9526])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Tanh()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.9640,  0.0000,  0.9951])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.tanh(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), without overflow.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.LogSigmoid()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-2.1269, -0.6931, -0.0486])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|).

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Softsign()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.6667,  0.0000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Tanhshrink()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.0360,  0.0000,  2.0049])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.tanhshrink(input)
