"""Activations as modules; each is the function of `nn.functional` of the same name."""

from __future__ import annotations

from flambeau.nn import functional
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor


class Identity(Module):
    """Its input, unchanged."""

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.relu(input)


class ReLU6(Module):
    """min(max(x, 0), 6)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.relu6(input)


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


class SiLU(Module):
    """x sigmoid(x): Elfwing et al. (2017)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.silu(input)


class Mish(Module):
    """x tanh(softplus(x)): Misra (2019)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.mish(input)


class Hardswish(Module):
    """x relu6(x + 3) / 6: Howard et al. (2019)."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.hardswish(input)


class Hardsigmoid(Module):
    """relu6(x + 3) / 6."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.hardsigmoid(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.logsigmoid(input)


class GELU(Module):
    """x times the normal distribution function of x: Hendrycks and Gimpel (2016); `approximate` is 'none' or 'tanh'."""

    __constants__ = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """The parameters."""
        return f"approximate={self.approximate!r}"


class ELU(Module):
    """x above 0, alpha (exp(x) - 1) below: Clevert et al. (2015)."""

    __constants__ = ("alpha",)

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.elu(input, self.alpha)

    def extra_repr(self) -> str:
        """The parameters."""
        return f"alpha={self.alpha!r}"


class LeakyReLU(Module):
    """x above 0, negative_slope x below."""

    __constants__ = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.leaky_relu(input, self.negative_slope)

    def extra_repr(self) -> str:
        """The parameters."""
        return f"negative_slope={self.negative_slope!r}"


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above threshold."""

    __constants__ = (
        "beta",
        "threshold",
    )

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """The parameters."""
        return f"beta={self.beta!r}, threshold={self.threshold!r}"


class Hardtanh(Module):
    """x cut to [min_val, max_val]."""

    __constants__ = (
        "min_val",
        "max_val",
    )

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        self.min_val = min_val
        self.max_val = max_val

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.hardtanh(input, self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """The parameters."""
        return f"min_val={self.min_val!r}, max_val={self.max_val!r}"


class Softmax(Module):
    """exp(x) / sum(exp(x)) along `dim`."""

    __constants__ = ("dim",)

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The parameters."""
        return f"dim={self.dim!r}"


class LogSoftmax(Module):
    """log(softmax(x)) along `dim`, without overflow."""

    __constants__ = ("dim",)

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The parameters."""
        return f"dim={self.dim!r}"
