"""Losses: `isinstance(layer, _Loss)` holds for all of them, `_WeightedLoss` for those with a weight per class."""

from flambeau.nn.layers.loss import Loss as _Loss
from flambeau.nn.layers.loss import WeightedLoss as _WeightedLoss

__all__ = ["_Loss", "_WeightedLoss"]
