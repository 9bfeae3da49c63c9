"""Normalisation per channel: `isinstance(layer, _BatchNorm)` holds for all of them."""

from flambeau.nn.layers.batch_norm import BatchNorm as _BatchNorm
from flambeau.nn.layers.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm
from flambeau.nn.layers.batch_norm import ChannelNorm as _NormBase
from flambeau.nn.layers.lazy_layers import LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm", "_BatchNorm", "_NormBase",
]  # fmt: skip
