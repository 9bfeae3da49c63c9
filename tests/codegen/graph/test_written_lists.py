"""Lists that are written out beside lists of other lengths, on other ways or in the next iteration: all native."""

# ruff: noqa: RUF005 (sums of lists are what is tested)
from __future__ import annotations

from typing import Any

import pytest

import flambeau


def of_other_lengths(n: int) -> tuple[int, list[int]]:
    xs = [1]
    if n > 2:
        xs = [1, 2]
    if n > 5:
        xs = list(range(n))
    return sum(xs), xs


def carried(n: int) -> list[float]:
    xs = [0.5]
    for i in range(n):
        xs = xs + [float(i)] if i % 2 == 0 else [1.0, 2.0]
    return xs


def changed_by_another_name(n: int) -> list[int]:
    xs = [1]
    for i in range(n):
        ys = xs
        if i % 3 == 2:
            xs = [7, 8, 9]
        ys.append(i)
        xs.append(10)
    return xs


def rows(n: int) -> list[list[int]]:
    row, out = [1], [[0]]
    for _ in range(n):
        out.append(row)
        row = [1] + [row[j] + row[j + 1] for j in range(len(row) - 1)] + [1]
    return out


def texts(n: int) -> tuple[str, list[str]]:
    xs = ["a"]
    for i in range(n):
        xs = ["b", "c"] + xs if i % 2 else ["d"]
    return " ".join(xs), xs


def in_tuples(n: int) -> tuple[list[int], int]:
    t = ([1], 2)
    for i in range(n):
        t = (t[0] + [i], t[1] + 1)
    return t


def or_none(n: int) -> list[int] | None:
    best: list[int] | None = None
    for i in range(n):
        best = [1] if best is None else best + [i]
    return best


def given_by_a_function(n: int) -> tuple[int, list[int]]:
    def halves(k: int) -> list[int]:
        if k == 0:
            return [0]
        return [k] + [k * 2]

    total = 0
    for i in range(n):
        total += sum(halves(i))
    return total, halves(n)


def queue(n: int) -> list[list[int]]:
    waiting, out = [(0, [0])], [[5, 6]]
    while waiting:
        depth, path = waiting.pop(0)
        if depth == 2:
            out.append(path)
            continue
        for k in range(n % 3 + 1):
            waiting.append((depth + 1, path + [k]))
    return out


def lists_in_lists(n: int) -> tuple[list[list[int]], list[list[list[int]]], list[list[int]]]:
    out, nested, parts = [[0], [1, 2], [3, 4, 5]], [[[1]], [[2, 3], [4]]], [[0]]
    for i in range(n):
        out[i % 3].append(i)
        nested[i % 2].append([i])
        parts[0:1] = [[i], [i, i]]
        parts = parts + [[1, 2]]
    return out, nested, parts


PROGRAMS = [
    of_other_lengths, carried, changed_by_another_name, rows, texts, in_tuples, or_none, given_by_a_function, queue,
    lists_in_lists,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_lists_are_pythons(program: Any) -> None:
    """And native from end to end."""
    scripted = flambeau.script(program)
    for n in (0, 1, 3, 7, 40):
        assert scripted(n) == program(n), n
    assert scripted.explain().is_native


def twice(n: int) -> tuple[list[list[int]], bool]:
    row = [1]
    out = [row, row]
    for _ in range(n):
        row = [2, 3]
        out.append(row)
        out.append(row)
    out[0].append(5)
    return out, out[0] is out[1]


@pytest.mark.parametrize("n", [0, 3])
def test_a_list_that_is_put_in_twice_is_one(n: int) -> None:
    """Also where it was written out."""
    got, is_one = flambeau.script(twice)(n)
    assert (got, is_one) == twice(n)
    assert [got[0] is other for other in got] == [k < 2 for k in range(len(got))]
