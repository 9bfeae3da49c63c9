"""One number as several equal ones: what layers do with `kernel_size=3`, in Python and in programs.

>>> _pair(3), _triple([1, 2, 3])
((3, 3), (1, 2, 3))

In Python they give tuples, in programs, which know no tuples of unknown length, lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from flambeau.util.broadcasting import BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingList4
from flambeau.util.scripting import is_scripting


def _ntuple(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """What makes `n` of one, and leaves several as they are."""

    def tuple_of(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    return tuple_of


def _single(x: BroadcastingList1[int]) -> list[int]:
    """One number as a tuple of it."""
    if is_scripting():
        return x  # type: ignore[return-value]  # in a program it is a list
    return _ntuple(1)(x)  # type: ignore[return-value]


def _pair(x: BroadcastingList2[int]) -> list[int]:
    """One number as two."""
    if is_scripting():
        return x  # type: ignore[return-value]
    return _ntuple(2)(x)  # type: ignore[return-value]


def _triple(x: BroadcastingList3[int]) -> list[int]:
    """One number as three."""
    if is_scripting():
        return x  # type: ignore[return-value]
    return _ntuple(3)(x)  # type: ignore[return-value]


def _quadruple(x: BroadcastingList4[int]) -> list[int]:
    """One number as four."""
    if is_scripting():
        return x  # type: ignore[return-value]
    return _ntuple(4)(x)  # type: ignore[return-value]


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """Each of them `n` times, the last first: sizes of padding from sizes per dimension.

    >>> _reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))
