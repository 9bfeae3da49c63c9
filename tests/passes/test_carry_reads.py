"""Elements that the condition of a loop reads, and its next iteration again, are carried as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau

LINKS = np.array([0, 0, 1, 2, 3, 4, 5, 6, -3, -4])


def root(parent, k):
    a = k
    while parent[a] != a:
        a = parent[a]
    return a


def steps_of_rows(table, k, row):
    a, n = k, 0
    while table[row, a] != a and n < 50:
        a = table[row, a]
        n += 1
    return a, n


def descent(x, k):
    i = k
    while i > 0 and x[i] > x[i - 1]:
        i -= 1
    return i


def halved(parent, k):
    a = k
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


def marked(parent, k, seen):
    a = k
    while parent[a] != a:
        seen[a] += 1
        a = parent[a]
    return a


def nexts(x, k):
    s = 0.0
    a = k
    v = x[a]
    while v > 0.5:
        s += x[a]
        a += 1
        v = x[a]
    return s


def copies(function: Callable[..., Any], *arguments: Any) -> tuple[Any, list[Any]]:
    own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    return function(*own), own


def both(function: Callable[..., Any], scripted: Callable[..., Any], *arguments: Any) -> None:
    expected, left = copies(function, *arguments)
    result, changed = copies(scripted, *arguments)
    assert result == expected
    assert all(map(np.array_equal, changed, left))


def elements_read(scripted: Any, *arguments: Any) -> int:
    """How many elements the loop of a function's plan reads in each iteration."""
    loop = scripted.graph_for(*copies(lambda *own: own, *arguments)[0]).find("prim::Loop")
    return sum(node.op == "aten::Int" or node.op == "aten::Float" for node in loop.nested_blocks[0])


@pytest.mark.parametrize("k", [0, 1, 7, 8, 9, -1, -3])
def test_roots(k: int) -> None:
    scripted = flambeau.script(root)
    for parent in (LINKS, LINKS.astype(np.int32), np.arange(10)[::-1] // 2):
        both(root, scripted, parent, k)
    both(steps_of_rows, flambeau.script(steps_of_rows), np.stack([LINKS, LINKS[::-1] % 10]), k, k % 2)
    assert elements_read(scripted, LINKS, k) == 1


@pytest.mark.parametrize("k", [0, 3, 8, 9])
def test_what_the_loop_writes_is_read_again(k: int) -> None:
    scripted = flambeau.script(halved)
    both(halved, scripted, LINKS, k)
    assert elements_read(scripted, LINKS, k) > 1
    both(marked, flambeau.script(marked), LINKS, k, np.zeros(10, np.int64))
    shared = flambeau.script(marked)
    one, other = LINKS.copy(), LINKS.copy()
    one[:], other[:] = np.maximum(LINKS - 1, 0), np.maximum(LINKS - 1, 0)
    for links, function in ((one, marked), (other, shared)):
        links[0] = -9
        links[1] = 1
        assert function(links, 5, links[::1]) in range(-10, 10)
    assert np.array_equal(one, other)


def test_other_loops() -> None:
    x = np.random.RandomState(3).rand(40) + 0.4
    x[30] = 0.0
    for k in range(25):
        both(nexts, flambeau.script(nexts), x, k)
        both(descent, flambeau.script(descent), x, k)


def test_errors_stay_where_they_were() -> None:
    links = np.array([0, 5, 1])
    with pytest.raises(IndexError, match=r"(?s)while parent\[a\] != a.*index 5 is out of bounds for axis 0"):
        flambeau.script(root)(links, 2)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        flambeau.script(root)(links, 7)
