"""`bisect`: places in sorted lists, by halving."""

from __future__ import annotations

from typing import Any, Optional


def bisect_left(a: Any, x: Any, lo: int = 0, hi: Optional[int] = None, key: Any = None) -> int:  # noqa: UP045
    """Where `x` goes so that it stands before its equals. Raises ValueError for a negative `lo`."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        item = a[middle] if key is None else key(a[middle])
        if item < x:
            lo = middle + 1
        else:
            end = middle
    return lo


def bisect_right(a: Any, x: Any, lo: int = 0, hi: Optional[int] = None, key: Any = None) -> int:  # noqa: UP045
    """Where `x` goes so that it stands behind its equals. Raises ValueError for a negative `lo`."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        item = a[middle] if key is None else key(a[middle])
        if x < item:
            end = middle
        else:
            lo = middle + 1
    return lo


def insort_left(a: Any, x: Any, lo: int = 0, hi: Optional[int] = None, key: Any = None) -> None:  # noqa: UP045
    """Put `x` into the list, before its equals."""
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(a: Any, x: Any, lo: int = 0, hi: Optional[int] = None, key: Any = None) -> None:  # noqa: UP045
    """Put `x` into the list, behind its equals."""
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)
