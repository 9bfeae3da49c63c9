"""Affine layers."""

from __future__ import annotations

import math

from flambeau.nn import functional, init
from flambeau.nn.layers import fresh
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


class Linear(Module):
    """x W^T + b: (..., in_features) to (..., out_features).

    The parameters are `weight` (out_features, in_features) and `bias` (out_features,), uniform in
    +-1/sqrt(in_features).

    Args:
        in_features: features of the input, its last dimension.
        out_features: features of the result.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (..., in_features) to (..., out_features).

    >>> import flambeau
    >>> flambeau.nn.Linear(3, 2)(flambeau.ones(5, 3)).shape
    flambeau.Size([5, 2])
    """

    __constants__ = ["in_features", "out_features"]

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = fresh.parameter(out_features, in_features, dtype=dtype, device=device)
        self.bias: Parameter | None
        self.register_parameter("bias", fresh.parameter(out_features, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1.0 / math.sqrt(self.in_features) if self.in_features else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Apply to the last dimension."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` as it is within attention, which reads its parameters instead of calling it."""


class Bilinear(Module):
    """x1^T A x2 + b: (..., in1_features) and (..., in2_features) to (..., out_features).

    Args:
        in1_features: features of the first input.
        in2_features: features of the second input.
        out_features: features of the result.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (..., in1_features) and (..., in2_features) to (..., out_features).

    >>> import flambeau
    >>> flambeau.nn.Bilinear(3, 4, 2)(flambeau.ones(5, 3), flambeau.ones(5, 4)).shape
    flambeau.Size([5, 2])
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = fresh.parameter(out_features, in1_features, in2_features, dtype=dtype, device=device)
        self.bias: Parameter | None
        self.register_parameter("bias", fresh.parameter(out_features, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1.0 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Apply to the last dimensions."""
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}"
        return f"{sizes}, out_features={self.out_features}, bias={self.bias is not None}"
