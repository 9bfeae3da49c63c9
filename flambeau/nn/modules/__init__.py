"""Base classes and helpers of layers under the paths that other code imports them from."""

from flambeau.nn.modules import batchnorm, conv, lazy, loss, module, utils

__all__ = ["batchnorm", "conv", "lazy", "loss", "module", "utils"]
