"""Activations with settings as modules; each is the function of `nn.functional` of the same name."""

from __future__ import annotations

from flambeau.nn import functional, init
from flambeau.nn.layers import fresh
from flambeau.nn.layers.layer import Activation, Layer
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


class GELU(Layer):
    """x times the normal distribution function of x: Hendrycks and Gimpel (2016); `approximate` is 'none' or 'tanh'.

    Args:
        approximate: "none" for the exact function, "tanh" for the approximation by tanh.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.GELU()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.0455,  0.0000,  2.9960])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.gelu(input, approximate=self.approximate)


class _Exponential(Activation):
    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = float(alpha)
        self.inplace = inplace


class ELU(_Exponential):
    """x above 0, alpha (exp(x) - 1) below: Clevert et al. (2015).

    Args:
        alpha: how steep or how large the negative side is.
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.ELU()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.8647,  0.0000,  3.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.elu(input, self.alpha, self.inplace)


class CELU(_Exponential):
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)): Barron (2017).

    Args:
        alpha: how steep or how large the negative side is.
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.CELU()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.8647,  0.0000,  3.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.celu(input, self.alpha, self.inplace)


class LeakyReLU(Activation):
    """x above 0, negative_slope x below.

    Args:
        negative_slope: the slope below zero.
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.LeakyReLU()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.0200,  0.0000,  3.0000])
    """

    __constants__ = ["negative_slope", "inplace"]

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = float(negative_slope)
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.leaky_relu(input, self.negative_slope, self.inplace)


class RReLU(Activation):
    """x above 0, x times a slope below: random while training, the mean otherwise.

    Args:
        lower: the smallest slope.
        upper: the largest slope.
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.RReLU().eval()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.4583,  0.0000,  3.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = float(lower)
        self.upper = float(upper)
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Threshold(Activation):
    """x above `threshold`, `value` elsewhere.

    Args:
        threshold: where the function changes.
        value: what stands where x is not above the threshold.
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Threshold(1.0, 0.5)(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0.5000, 0.5000, 3.0000])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.threshold(input, float(self.threshold), float(self.value), self.inplace)


class Softplus(Layer):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above threshold.

    Args:
        beta: the factor of x.
        threshold: where the function changes.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Softplus()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0.1269, 0.6931, 3.0486])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = float(beta)
        self.threshold = float(threshold)

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.softplus(input, self.beta, self.threshold)


class _Shrink(Layer):
    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = float(lambd)

    def extra_repr(self) -> str:
        """The setting."""
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """0 between -lambd and lambd, else x.

    Args:
        lambd: the threshold.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Hardshrink()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-2.,  0.,  3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x moved towards 0 by lambd, but not past it.

    Args:
        lambd: the threshold.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Softshrink()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.5000,  0.0000,  2.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.softshrink(input, self.lambd)


class Hardtanh(Activation):
    """x cut to [min_val, max_val]. Raises ValueError unless the first is smaller.

    Args:
        min_val: the smallest value.
        max_val: the largest value.
        inplace: whether the input is written to.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Hardtanh()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if not max_val > min_val:
            raise ValueError(f"max_val must be larger than min_val, got {max_val} and {min_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Element by element; the shape stays."""
        return functional.hardtanh(input, float(self.min_val), float(self.max_val), self.inplace)


class GLU(Layer):
    """The first half of `dim` times the sigmoid of the second: Dauphin et al. (2016).

    Args:
        dim: the dimension along which it works.

    Shape:
        any, even along `dim`, which is halved.

    >>> import flambeau
    >>> flambeau.nn.GLU()(flambeau.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """`dim` is half as long."""
        return functional.glu(input, self.dim)


class _AlongDim(Layer):
    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_AlongDim):
    """exp(x) / sum(exp(x)) along `dim`.

    Args:
        dim: the dimension along which it works.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Softmax(dim=0)(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0.0064, 0.0471, 0.9465])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along `dim`, without overflow.

    Args:
        dim: the dimension along which it works.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.LogSoftmax(dim=0)(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-5.0550, -3.0550, -0.0550])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.log_softmax(input, self.dim)


class Softmin(_AlongDim):
    """softmax(-x) along `dim`.

    Args:
        dim: the dimension along which it works.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.Softmin(dim=0)(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0.8756, 0.1185, 0.0059])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.softmin(input, self.dim)


class Softmax2d(Layer):
    """Softmax over the channels of every place of (N, C, H, W) or (C, H, W).

    Shape:
        (N, C, H, W) or (C, H, W); it stays.

    >>> import flambeau
    >>> flambeau.nn.Softmax2d()(flambeau.zeros(1, 4, 1, 1)).flatten()
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays. Raises ValueError for another number of dimensions."""
        if input.dim() != 3 and input.dim() != 4:
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return functional.softmax(input, -3)


class PReLU(Layer):
    """x above 0, weight x below, with one weight or one for every channel: He et al. (2015).

    Args:
        num_parameters: one weight, or one for every channel.
        init: the weight's first value.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        any; it stays.

    >>> import flambeau
    >>> flambeau.nn.PReLU()(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  3.0000], grad_fn=<PreluKernelBackward0>)
    """

    __constants__ = ["num_parameters"]

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = fresh.parameter(num_parameters, dtype=dtype, device=device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All slopes what they were in the beginning."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The shape stays."""
        return functional.prelu(input, self.weight)
