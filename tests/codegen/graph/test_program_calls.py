"""Functions that call themselves as native code: what they give, where they fail, how deep they go."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.tensor.tensor import wrap
from tests.codegen.graph.one_meaning import CALLS, assert_native, numbers, outcome

Backends = ("native", "interpreter", "reference")


def fib(n: int) -> int:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def is_even(n: int) -> bool:
    return True if n == 0 else is_odd(n - 1)


def is_odd(n: int) -> bool:
    return False if n == 0 else is_even(n - 1)


def place(board: list[int], row: int) -> int:
    if row == len(board):
        return 1
    count = 0
    for column in range(len(board)):
        free = True
        for r in range(row):
            if board[r] == column or abs(board[r] - column) == row - r:
                free = False
                break
        if free:
            board[row] = column
            count += place(board, row + 1)
    return count


def queens(n: int) -> int:
    return place([0] * n, 0)


def part(x: Tensor, low: int, high: int) -> None:
    if low >= high:
        return
    pivot, i, j = x[(low + high) // 2].item(), low, high
    while i <= j:
        while x[i] < pivot:
            i += 1
        while x[j] > pivot:
            j -= 1
        if i <= j:
            held = x[i].item()
            x[i] = x[j]
            x[j] = held
            i += 1
            j -= 1
    part(x, low, j)
    part(x, i, high)


def quicksort(x: Tensor) -> Tensor:
    y = x.clone()
    part(y, 0, len(y) - 1)
    return y


def merge_sorted(x: Tensor) -> Tensor:
    if len(x) <= 1:
        return x
    half = len(x) // 2
    a, b = merge_sorted(x[:half]), merge_sorted(x[half:])
    y = flambeau.zeros_like(x)
    i = j = 0
    for k in range(len(x)):
        if j >= len(b) or (i < len(a) and a[i] <= b[j]):
            y[k] = a[i]
            i += 1
        else:
            y[k] = b[j]
            j += 1
    return y


def sorted_list(items: list[int]) -> list[int]:
    if len(items) <= 1:
        return items
    first = items[0]
    less = sorted_list([v for v in items[1:] if v < first])
    less.append(first)
    return less + sorted_list([v for v in items[1:] if v >= first])


def tree_sum(at: int, left: Tensor, right: Tensor, values: Tensor) -> float:
    if at < 0:
        return 0.0
    here = float(values[at])
    return here + tree_sum(int(left[at]), left, right, values) + tree_sum(int(right[at]), left, right, values)


def extremes(x: Tensor) -> tuple[float, int]:
    if len(x) == 1:
        return float(x[0]), 1
    half = len(x) // 2
    a, m = extremes(x[:half])
    b, n = extremes(x[half:])
    return max(a, b), m + n


def found(items: list[int], wanted: int, low: int, high: int) -> int | None:
    if low >= high:
        return None
    middle = (low + high) // 2
    if items[middle] == wanted:
        return middle
    if items[middle] < wanted:
        return found(items, wanted, middle + 1, high)
    return found(items, wanted, low, middle)


def search(items: list[int], wanted: int) -> int:
    place = found(items, wanted, 0, len(items))
    return -1 if place is None else place


def visit(node: int, edges: list[list[int]], seen: list[bool], order: list[int]) -> None:
    seen[node] = True
    for other in edges[node]:
        if not seen[other]:
            visit(other, edges, seen, order)
    order.append(node)


def topological(edges: list[list[int]]) -> list[int]:
    seen = [False] * len(edges)
    order: list[int] = []
    for node in range(len(edges)):
        if not seen[node]:
            visit(node, edges, seen, order)
    return order


def fill(grid: Tensor, i: int, j: int) -> int:
    if i < 0 or j < 0 or i >= grid.shape[0] or j >= grid.shape[1] or grid[i, j] == 0:
        return 0
    grid[i, j] = 0
    return 1 + fill(grid, i + 1, j) + fill(grid, i - 1, j) + fill(grid, i, j + 1) + fill(grid, i, j - 1)


def halved(x: Tensor) -> Tensor:
    return x if len(x) < 2 else doubled(x[: len(x) // 2]) + 1


def doubled(x: Tensor) -> Tensor:
    return halved(x) * 2


def sines(x: Tensor, n: int) -> Tensor:
    return x if n == 0 else sines((x * 2).relu() + x.unsqueeze(0).sum(0), n - 1) - x.max()


def counted(n: int) -> int:
    if n == 0:
        return 0
    total = 0
    for _ in range(n):
        total += 1
    return total + counted(n - 1)


TREE = 31
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "fib": (fib, lambda: (12,)),
    "ackermann": (ackermann, lambda: (2, 5)),
    "mutual": (is_even, lambda: (101,)),
    "queens": (queens, lambda: (5,)),
    "quicksort": (quicksort, lambda: (wrap(np.random.default_rng(0).standard_normal(50)),)),
    "sorted parts": (merge_sorted, lambda: (wrap(np.random.default_rng(0).standard_normal(37).astype(np.float32)),)),
    "a part of a matrix": (merge_sorted, lambda: (wrap(np.random.default_rng(0).standard_normal((9, 2)))[:, 1],)),
    "new lists": (sorted_list, lambda: (np.random.default_rng(0).integers(0, 40, 40).tolist(),)),
    "an argument given back": (sorted_list, lambda: ([3],)),
    "a tree": (tree_sum, lambda: (
        0, flambeau.tensor([2 * i + 1 if 2 * i + 1 < TREE else -1 for i in range(TREE)]),
        flambeau.tensor([2 * i + 2 if 2 * i + 2 < TREE else -1 for i in range(TREE)]), flambeau.arange(TREE) * 0.5,
    )),
    "tuples": (extremes, lambda: (wrap(np.random.default_rng(0).standard_normal(21)),)),
    "None": (search, lambda: (list(range(0, 40, 3)), 33)),
    "nothing found": (search, lambda: (list(range(0, 40, 3)), 34)),
    "lists that are changed": (topological, lambda: ([[1, 2], [3], [3, 4], [5], [5], []],)),
    "a tensor that is changed": (fill, lambda: (flambeau.ones(6, 7, dtype=flambeau.int64), 2, 3)),
    "results known last": (halved, lambda: (flambeau.arange(20.0),)),
    "kernels": (sines, lambda: (flambeau.arange(9.0), 5)),
    "loops": (counted, lambda: (30,)),
}  # fmt: skip


def scripted(python: Callable[..., Any]) -> dict[str, Any]:
    return {backend: flambeau.script(backend=backend)(python) for backend in Backends}


@pytest.mark.parametrize("name", PROGRAMS)
def test_c17_functions_that_call_themselves(name: str) -> None:
    python, arguments = PROGRAMS[name]
    by = scripted(python)
    given = arguments()
    expected = numbers(python(*given)), numbers(given)
    for backend in ("interpreter", "reference"):
        assert outcome(by[backend], arguments())[:2] == expected, backend
    for _ in range(CALLS):
        assert outcome(by["native"], arguments())[:2] == expected
    assert_native(by["native"])


def deep(n: int) -> int:
    return 0 if n == 0 else 1 + deep(n - 1)


def endless(n: int) -> int:
    return endless(n + 1) + 1


def test_c17_deep_recursion_is_as_deep_as_the_stack() -> None:
    function = flambeau.script(deep)
    assert function(20_000) == 20_000
    assert_native(function)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_c17_endless_recursion_is_an_error_in_words(backend: str) -> None:
    function = flambeau.script(backend=backend)(endless)
    with pytest.raises(RuntimeError, match="maximum recursion depth exceeded") as caught:
        function(0)
    text = str(caught.value)
    assert "endless(n + 1) + 1" in text
    assert "<--- HERE" in text
    with pytest.raises(RuntimeError, match="maximum recursion depth exceeded"):
        function(0)


@pytest.mark.parametrize("size", [1 << 18, 1 << 20])
def test_c17_the_stack_of_a_small_thread_is_known(size: int) -> None:
    function = flambeau.script(endless)
    deepest = flambeau.script(deep)
    said: list[str] = []

    def run() -> None:
        assert deepest(400) == 400
        try:
            function(0)
        except RuntimeError as error:
            said.append(str(error))

    before = threading.stack_size(size)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(said) == 1
    assert "maximum recursion depth exceeded" in said[0]


def beyond(items: list[int], at: int) -> int:
    if at == 3:
        return items[at + 7]
    return beyond(items, at + 1) + 1


def first(items: list[int]) -> int:
    return beyond(items, 0)


def test_c17_an_error_says_by_which_calls_it_came_about() -> None:
    by = scripted(first)
    texts = []
    for backend in ("native", "interpreter"):
        for _ in range(CALLS):
            with pytest.raises(Exception, match="out of range") as caught:
                by[backend]([1, 2, 3])
        texts.append((type(caught.value).__name__, str(caught.value)))
    assert texts[0] == texts[1]
    assert texts[0][1].count("return beyond(items, at + 1) + 1") >= 3
    assert_native(by["native"])


def refused(n: int) -> int:
    if n == 0:
        raise ValueError("down here")
    return refused(n - 1)


def test_c17_exceptions_of_the_program_come_through() -> None:
    by = scripted(refused)
    texts = []
    for backend in ("native", "interpreter"):
        for _ in range(CALLS):
            with pytest.raises(Exception, match="down here") as caught:
                by[backend](4)
        texts.append((type(caught.value).__name__, str(caught.value)))
    assert texts[0] == texts[1]


def in_a_loop(n: int) -> int:
    total = 0
    for k in range(n):
        total += fib(k % 7)
    return total


def test_c17_calls_stand_in_loops_beside_what_is_interpreted() -> None:
    def mixed(words: str, n: int) -> tuple[int, int]:
        total = 0
        for k in range(n):
            total += fib(k % 5)
        return total, len(words.split())

    function, plain = flambeau.script(in_a_loop), flambeau.script(mixed)
    for _ in range(CALLS):
        assert function(30) == in_a_loop(30)
        assert plain("a b c", 30) == mixed("a b c", 30)
    assert_native(function)


def test_c17_threads_call_at_the_same_time() -> None:
    function = flambeau.script(fib)
    function(5)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(function(22))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [fib(22)] * 4


def test_c17_what_calls_made_is_freed_whichever_way_they_end() -> None:
    tracemalloc = pytest.importorskip("tracemalloc")

    def lists(n: int, fails: int) -> list[int]:
        if n == 0:
            return [1, 2, 3][fails:][: 3 - fails]
        more = lists(n - 1, fails)
        more.append(more[2])
        return more

    function = flambeau.script(lists)
    for _ in range(3):
        function(20, 0)
    tracemalloc.start()
    try:
        for k in range(200):
            if k == 20:
                before = tracemalloc.get_traced_memory()[0]
            function(20, 0)
            with pytest.raises(Exception, match="out of range"):
                function(20, 1)
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()


def test_c17_pythons_limit_is_not_ours() -> None:
    assert sys.getrecursionlimit() < 20_000
    with pytest.raises(RecursionError):
        deep(20_000)


def test_c17_many_calls_without_a_name_for_what_they_return() -> None:
    """Looking for functions that are returned takes no longer for calls in calls."""

    def nested(n: int) -> int:
        if n < 1:
            return 1
        return nested(nested(nested(nested(n - 1) - 1) - 1) - 1)

    assert flambeau.script(nested)(2) == nested(2)


def lowered(g: Tensor, i: int) -> Tensor:
    if i >= g.size(0):
        return g
    g[i:] -= 1
    return lowered(g, i + 1)


@pytest.mark.parametrize("sizes", [(5, 3), (0, 3), (2, 0), (1, 1)])
def test_functions_met_on_a_walk_that_begins_again_are_emitted(sizes: tuple[int, int]) -> None:
    """What a branch before the call gives is learned on the walk that meets the function first."""

    def main(x: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        if bool((~mask).all()):
            v = (v - v).clamp(-50, 50)
        return v, lowered(x.clone(), 0)

    function = flambeau.script(main)
    x, v = flambeau.ones(*sizes), flambeau.ones(sizes[1])
    for _ in range(4):
        got = function(x, v, v > 0)
        assert [t.tolist() for t in got] == [t.tolist() for t in main(x, v, v > 0)]
    assert function.explain(measure=False).is_native
