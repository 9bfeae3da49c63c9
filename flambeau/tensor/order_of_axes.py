"""`Tensor.dim_order()`: the axes, from the one whose elements lie farthest apart to that whose elements are neighbours.

>>> import flambeau
>>> flambeau.zeros(2, 3, 4, 5).to(memory_format=flambeau.channels_last).dim_order()
(0, 2, 3, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from flambeau.tensor.formats import MemoryFormat
from flambeau.tensor.tensor import Tensor, install_method

NOT_ONE: Final = "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
NO_UNIQUE: Final = "The tensor does not have unique dim order."
KIND: Final = "The ambiguity_check argument must be a bool or a list of memory formats."


def dim_order(self: Tensor, *, ambiguity_check: bool | Sequence[MemoryFormat] = False) -> tuple[int, ...]:
    """The axes in the order of memory, outermost first.

    Args:
        ambiguity_check: whether another order that fits as well is an error; with a list of formats, whether not one of
            them alone fits.

    Raises RuntimeError for such a tensor, TypeError for another kind of argument.

    >>> import flambeau
    >>> flambeau.zeros(2, 3).t().dim_order()
    (1, 0)
    """
    _check_one_order(self, ambiguity_check)
    axes = tuple(range(self.dim()))
    is_last = len(axes) == 4 and self.is_contiguous(memory_format=MemoryFormat.channels_last)
    if self.is_contiguous() and not is_last:
        return axes
    if is_last and not self.is_contiguous():
        return (0, *axes[2:], 1)
    if ambiguity_check is True and len(axes) > 1 and 0 in self.stride():
        raise RuntimeError(NO_UNIQUE)
    return _order(list(self.shape), list(self.stride()))


def _check_one_order(tensor: Tensor, ambiguity_check: Any) -> None:
    """Raise where users want to know of several orders, or of formats of which not one fits, and there are."""
    if isinstance(ambiguity_check, list | tuple):
        if not all(isinstance(one, MemoryFormat) for one in ambiguity_check):
            raise TypeError(KIND)
        is_one = sum(tensor.is_contiguous(memory_format=one) for one in ambiguity_check) == 1
        wants_one = not is_one
    elif isinstance(ambiguity_check, bool):
        wants_one = ambiguity_check
    else:
        raise TypeError(KIND)
    if wants_one and _has_several(tensor):
        raise RuntimeError(NOT_ONE)


def _has_several(tensor: Tensor) -> bool:
    """Whether there are orders that fit as well: axes with one element, or with the same stride."""
    strides = sorted(tensor.stride())
    return any(a == b for a, b in pairwise(strides)) or any(size == 1 for size in tensor.shape)


def _order(sizes: list[int], strides: list[int]) -> tuple[int, ...]:
    """Axes by their strides, each moved past those behind it that lie farther apart; strides of 0 say nothing."""
    order = list(range(len(sizes)))[::-1]
    for first in range(1, len(order)):
        at = first
        for before in reversed(range(first)):
            inner, outer = order[before], order[at]
            if 0 in (strides[inner], strides[outer]):
                continue
            if (strides[inner], sizes[inner]) > (strides[outer], sizes[outer]):
                order[before], order[at], at = outer, inner, before
            elif strides[inner] < strides[outer] or sizes[inner] <= sizes[outer]:
                break
    return tuple(order[::-1])


install_method("dim_order", dim_order)
