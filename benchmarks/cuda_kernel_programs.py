"""The functions of `benchmarks.cuda_kernels` that flambeau compiles."""

from __future__ import annotations

import flambeau
from flambeau import Tensor
from flambeau.nn import functional


def softmax(x: Tensor) -> Tensor:
    return flambeau.softmax(x, -1)


def layer_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return functional.layer_norm(x, [1024], w, b)


def row_sums(x: Tensor) -> Tensor:
    return x.sum(1)


def argmax_of_rows(x: Tensor) -> Tensor:
    return x.argmax(1)


def column_sums(x: Tensor) -> Tensor:
    return x.sum(0)


def total(x: Tensor) -> Tensor:
    return x.sum()


BY_NAME = (
    ("softmax", softmax),
    ("layer norm", layer_norm),
    ("row sums", row_sums),
    ("argmax", argmax_of_rows),
    ("column sums", column_sums),
    ("sum of", total),
)
"""By the beginning of a workload's name."""
