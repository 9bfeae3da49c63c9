"""Schedules of learning rates.

>>> import flambeau
>>> from flambeau.optim import SGD, lr_scheduler
>>> optimizer = SGD([flambeau.zeros(1, requires_grad=True)], lr=0.1)
>>> scheduler = lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
>>> for epoch in range(2):
...     optimizer.step()
...     scheduler.step()
>>> scheduler.get_last_lr()
[0.025]
"""

from flambeau.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from flambeau.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from flambeau.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from flambeau.optim.lr_scheduler.decays import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from flambeau.optim.lr_scheduler.plateau import ReduceLROnPlateau
from flambeau.optim.lr_scheduler.scheduler import LRScheduler

_LRScheduler = LRScheduler
__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
