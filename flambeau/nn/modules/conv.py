"""Convolutions: `isinstance(layer, _ConvNd)` holds for all of them."""

from flambeau.nn.layers.convolution import Conv1d, Conv2d, Conv3d
from flambeau.nn.layers.convolution import Convolution as _ConvNd
from flambeau.nn.layers.convolution_transposed import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "_ConvNd"]
