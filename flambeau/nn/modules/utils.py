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


def _list_with_default(out_size: list[int], defaults: list[int]) -> list[int]:
    """Sizes with None replaced by the last of `defaults`. Raises ValueError if there are too few of those.

    In Python, one size alone stays one, and None may stand for a size.
    """
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    kept = defaults[-len(out_size) :]
    return [own if size is None else size for size, own in zip(out_size, kept)]  # noqa: B905


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names that have it, in place.

    >>> state = {"module.a": 1, "b": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'b': 2, 'a': 1}
    """
    for name in [n for n in state_dict if n.startswith(prefix)]:
        state_dict[name[len(prefix) :]] = state_dict.pop(name)
