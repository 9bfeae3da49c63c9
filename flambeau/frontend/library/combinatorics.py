"""`itertools.product`, `combinations` and `permutations`, as loops within each other: generators, inlined in loops.

Those of lists take copies, as Python's do, so that a body may change what it goes over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def product_1(a: Any) -> Iterator[Any]:
    """The items of a list, each in a tuple."""
    for x in a:
        yield (x,)


def product_2(a: Any, b: Any) -> Iterator[Any]:
    """Pairs of the items of two lists; the last changes first."""
    for x in a:
        for y in b:
            yield x, y


def product_3(a: Any, b: Any, c: Any) -> Iterator[Any]:
    """Those of three."""
    for x in a:
        for y in b:
            for z in c:
                yield x, y, z


def combinations_2(items: Any) -> Iterator[Any]:
    """Two items each, in order."""
    for i in range(len(items)):
        for j in range(i + 1, len(items)):
            yield items[i], items[j]


def combinations_3(items: Any) -> Iterator[Any]:
    """Three items each."""
    for i in range(len(items)):
        for j in range(i + 1, len(items)):
            for k in range(j + 1, len(items)):
                yield items[i], items[j], items[k]


def permutations_2(items: Any) -> Iterator[Any]:
    """Two items each, in every order."""
    for i in range(len(items)):
        for j in range(len(items)):
            if i != j:
                yield items[i], items[j]


def permutations_3(items: Any) -> Iterator[Any]:
    """Three items each, in every order."""
    for i in range(len(items)):
        for j in range(len(items)):
            for k in range(len(items)):
                if i != j and i != k and j != k:
                    yield items[i], items[j], items[k]


def index_combinations_2(n: int) -> Iterator[tuple[int, int]]:
    """Two numbers below n each, in order."""
    for i in range(n):
        for j in range(i + 1, n):
            yield i, j


def index_combinations_3(n: int) -> Iterator[tuple[int, int, int]]:
    """Three numbers below n each, in order."""
    for i in range(n):
        for j in range(i + 1, n):
            for k in range(j + 1, n):
                yield i, j, k
