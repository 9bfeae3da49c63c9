"""Convolutions: `isinstance(layer, _ConvNd)` holds for all of them."""

from flambeau.nn.layers.convolution import Conv1d, Conv2d, Conv3d
from flambeau.nn.layers.convolution import Convolution as _ConvNd
from flambeau.nn.layers.convolution_transposed import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from flambeau.nn.layers.lazy_layers import (
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
)

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "_ConvNd",
]  # fmt: skip
