"""`itertools.product`, `combinations` and `permutations`: generators, inlined in loops.

Where the program writes how many items are taken at a time, up to three, they are loops within each other and give
tuples (`product_2`, `combinations_3`). Where only the run tells, they count up indices and give lists
(`product_lists`). They are handed copies of lists, as Python takes them, so that a body may change what it goes over.
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
    """Triples of the items of three lists."""
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


def product_lists(items: Any, repeat: int) -> Iterator[Any]:
    """As many items as is said, each in a list; the last changes first."""
    if repeat < 0:
        raise ValueError("repeat argument cannot be negative")
    digits, going = [0] * repeat, repeat == 0 or len(items) > 0
    while going:
        yield [items[d] for d in digits]
        k = repeat - 1
        while k >= 0 and digits[k] == len(items) - 1:
            digits[k] = 0
            k -= 1
        going = k >= 0
        if going:
            digits[k] += 1


def combination_lists(items: Any, r: int) -> Iterator[Any]:
    """As many items as is said, in order, each in a list."""
    if r < 0:
        raise ValueError("r must be non-negative")
    indices, going = list(range(r)), r <= len(items)
    while going:
        yield [items[i] for i in indices]
        k = r - 1
        while k >= 0 and indices[k] == len(items) - r + k:
            k -= 1
        going = k >= 0
        if going:
            indices[k] += 1
            for j in range(k + 1, r):
                indices[j] = indices[j - 1] + 1


def repeated_combination_lists(items: Any, r: int) -> Iterator[Any]:
    """As many items as is said, in order, each as often as it comes, in a list."""
    if r < 0:
        raise ValueError("r must be non-negative")
    indices, going = [0] * r, r == 0 or len(items) > 0
    while going:
        yield [items[i] for i in indices]
        k = r - 1
        while k >= 0 and indices[k] == len(items) - 1:
            k -= 1
        going = k >= 0
        if going:
            raised = indices[k] + 1
            for j in range(k, r):
                indices[j] = raised


def permutation_lists(items: Any, r: int) -> Iterator[Any]:
    """As many items as is said, in every order, each in a list: which of those that are left comes next counts up."""
    if r < 0:
        raise ValueError("r must be non-negative")
    n = len(items)
    digits, going = [0] * r, r <= n
    while going:
        left = list(range(n))
        yield [items[left.pop(d)] for d in digits]
        k = r - 1
        while k >= 0 and digits[k] == n - 1 - k:
            digits[k] = 0
            k -= 1
        going = k >= 0
        if going:
            digits[k] += 1


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
