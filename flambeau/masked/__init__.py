"""Folds, running folds and normalisations of the elements where a mask holds: `masked.mean(x, 1, mask=mask)`.

>>> import flambeau
>>> from flambeau import masked
>>> masked.mean(flambeau.tensor([1.0, 2.0, 9.0]), mask=flambeau.tensor([True, True, False]))
tensor(1.5000)

What is masked out takes no part; where nothing is left, folds give what they begin with, and means nan.
"""

from __future__ import annotations

from typing import NoReturn

from flambeau.masked.along_lines import cumprod, cumsum, log_softmax, normalize, softmax, softmin
from flambeau.masked.folds import amax, amin, argmax, argmin, logaddexp, logsumexp, norm, prod, sum
from flambeau.masked.statistics import mean, median, std, var

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip
_CLASSES = ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor")
_NO_CLASS = "flambeau has no masked tensors: keep the mask beside the values, and pass both to the functions here"


def __getattr__(name: str) -> NoReturn:
    if name in _CLASSES:
        raise AttributeError(_NO_CLASS)
    raise AttributeError(f"module 'flambeau.masked' has no attribute '{name}'")
