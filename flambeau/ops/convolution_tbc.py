"""Convolution of sequences whose batch is in the middle: (time, batch, channels)."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.composite import composite
from flambeau.ops.families.rules import same_dtype
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def conv_tbc(F: Any, self: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Any:  # noqa: N803
    """`conv1d` with other orders of dimensions. Raises RuntimeError for sizes that do not go together."""
    if self.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if self.size(2) != weight.size(1):
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.size(2) != bias.size(0):
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    result = F.conv1d(F.permute(self, [1, 2, 0]), F.permute(weight, [2, 1, 0]), bias, 1, pad)
    return F.contiguous(F.permute(result, [2, 0, 1]))


def _values(*sizes: int) -> Tensor:
    count = int(np.prod(sizes))
    return wrap((np.arange(count, dtype=np.float32) % 7 - 3).reshape(sizes))


composite(
    "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    outs=("out",),
    body=conv_tbc,
    doc="A convolution over time of (time, batch, channels).",
    dtype=same_dtype,
    shape=ranks.self_rank,
    samples=lambda: [Sample(args=(_values(5, 2, 3), _values(3, 3, 4), _values(4), 1))],
    errors=lambda: [
        ErrorSample(
            args=(_values(5, 3), _values(3, 3, 4), _values(4)), error=RuntimeError, message="Input must have 3 dims"
        )
    ],
    namespaces=("nn.functional",),
)
