"""Results whose channels lie last in memory where those of the input do: of pooling, norms, borders, convolutions.

>>> image = np.ones((1, 4, 4, 3)).transpose(0, 3, 1, 2)
>>> following(image, np.ones((1, 3, 2, 2))).strides
(96, 8, 48, 24)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from flambeau.ops.families.arrays import Array
from flambeau.tensor.array_library import np


def is_channels_last(x: Array) -> bool:
    """Whether channels of images or volumes are innermost in memory, and not merely by having one size."""
    if x.ndim < 4 or x.flags.c_contiguous:
        return False
    last = (0, *range(2, x.ndim), 1)
    return bool(x.transpose(last).flags.c_contiguous)


def room(x: Array, channels: int, sizes: Sequence[int]) -> Array:
    """An array for results (batch, channels, *sizes), whose channels are innermost in memory if those of `x` are."""
    if is_channels_last(x):
        return np.moveaxis(np.empty((len(x), *sizes, channels), x.dtype), -1, 1)
    return np.empty((len(x), channels, *sizes), x.dtype)


def following(x: Array, result: Array) -> Array:
    """A result with channels innermost in memory if those of `x`, a batch of images or volumes, are."""
    if x.ndim != result.ndim or not is_channels_last(x):
        return result
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(result, 1, -1)), -1, 1)


def keeps_channels_last(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an operator over images, whose results lie as its first argument does."""

    @wraps(kernel)
    def call(x: Array, *rest: Any, **named: Any) -> Any:
        results = kernel(x, *rest, **named)
        if not is_channels_last(x):
            return results
        if isinstance(results, tuple):
            return tuple([None if one is None else following(x, one) for one in results])
        return following(x, results)

    return call
