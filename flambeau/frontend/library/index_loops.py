"""`np.ndindex` and `np.ndenumerate`, as loops within each other: generators, which are inlined where a loop asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def ndindex_1(a: int) -> Iterator[tuple[int]]:
    """The places of an axis."""
    for i in range(a):
        yield (i,)


def ndindex_2(a: int, b: int) -> Iterator[tuple[int, int]]:
    """The indexes of an array with two axes."""
    for i in range(a):
        for j in range(b):
            yield i, j


def ndindex_3(a: int, b: int, c: int) -> Iterator[tuple[int, int, int]]:
    """The indexes of an array with three axes."""
    for i in range(a):
        for j in range(b):
            for k in range(c):
                yield i, j, k


def ndenumerate_1(x: Any) -> Iterator[Any]:
    """The place and the element of each in a line."""
    for i in range(x.shape[0]):
        yield (i,), x[i]


def ndenumerate_2(x: Any) -> Iterator[Any]:
    """The indexes and elements of a matrix."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            yield (i, j), x[i, j]


def ndenumerate_3(x: Any) -> Iterator[Any]:
    """The indexes and elements of an array with three axes."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                yield (i, j, k), x[i, j, k]
