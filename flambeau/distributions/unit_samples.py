"""Uniform numbers that lie strictly between 0 and 1, whose logarithms are finite."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.distributions.operators import F
from flambeau.tensor.tensor import Tensor


def open_uniform(like: Tensor, shape: Sequence[int]) -> Tensor:
    """Numbers between 0 and 1, both left out, of the dtype and device of a tensor.

    >>> import flambeau
    >>> bool((open_uniform(flambeau.zeros(()), (100,)) > 0).all())
    True
    """
    tiny, eps = (1.17549435e-38, 1.1920929e-07) if like.element_size() < 8 else (2.2250738585072014e-308, 2.22e-16)
    return F.rand([*shape], dtype=like.dtype, device=like.device).clamp(tiny, 1 - eps)
