"""`collections.defaultdict` and `collections.Counter` in programs do what Python's do, natively."""

from __future__ import annotations

import collections
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, DefaultDict, Dict, List  # noqa: UP035

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError
from tests.codegen.graph.one_meaning import assert_native


def counted(x: np.ndarray):
    counts = defaultdict(int)
    for v in x:
        counts[int(v)] += 1
    before = len(counts)
    missing = counts[99]
    return counts[3], before, missing, len(counts), 99 in counts, 98 in counts


def grouped(x: np.ndarray):
    groups = defaultdict(list)
    for i in range(len(x)):
        groups[int(x[i]) % 3].append(i)
    sizes = [(k, len(v)) for k, v in groups.items()]
    return groups[0], groups[2], sorted(groups.keys()), sizes, groups[7]


def totals(x: np.ndarray):
    sums = defaultdict(float)
    for i in range(len(x)):
        sums[i % 4] += x[i] * 0.5
    del sums[2]
    best = 0.0
    for key in sums:
        best = max(best, sums[key])
    return best, sum(sums.values()), dict(sums), sums.get(0), sums.get(17), sums.get(17, 2.5)


def neighbours(edges: np.ndarray):
    graph = defaultdict(list)
    for i in range(len(edges)):
        a, b = int(edges[i, 0]), int(edges[i, 1])
        graph[a].append(b)
        graph[b].append(a)
    seen = set()
    waiting = [int(edges[0, 0])]
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            for to in graph[at]:
                waiting.append(to)
    return len(seen)


def words(text: str):
    counts = Counter(text.split())
    counts["the"] += 2
    letters = collections.Counter(text)
    nothing = Counter()
    nothing.update([1, 1, 2])
    return (
        counts.most_common(2), counts["absent"], len(counts), letters.most_common(1)[0], counts.most_common(0),
        sorted(counts.elements()), dict(nothing), nothing[5], len(nothing), sum(letters.values()), "the" in counts,
    )  # fmt: skip


def most(items: List[int]):  # noqa: UP006
    counter = Counter(items)
    counter.subtract([1, 1, 9])
    pairs = [(k, v) for k, v in counter.items()]
    keys = [k + 1 for k in counter]
    return counter.most_common(), pairs, keys, counter.total(), bool(Counter([0])), counter.pop(9)


def flags(items: List[str]):  # noqa: UP006
    seen = defaultdict(bool)
    names = defaultdict(str)
    for item in items:
        seen[item] = True
        names[item] += item + "!"
    return seen["a"], seen["zz"], names["b"], names["zz"], [k + "." for k in seen]


def sums(text: str):
    first, second = Counter("abca"), Counter(text)
    first.update("aab")
    second.subtract("xyx")
    third = Counter("ab")
    third.subtract("aabbbz")
    both = dict(first + third), dict(third + first), dict(first - third), dict(third - first)
    return dict(first + second), dict(first - second), dict(second - first), first.most_common(), both


def pairs(items: List[int]):  # noqa: UP006
    table = defaultdict(lambda: [0, 0])
    least, most = defaultdict(lambda: math.inf), defaultdict(lambda: float("-inf"))
    signs, seen = defaultdict(lambda: -0.0), defaultdict(lambda: (True, 0.5, "a"))
    for k, item in enumerate(items):
        table[item][0] += 1
        table[item][1] += k
        least[item % 2] = min(least[item % 2], item * 0.5)
        most[item % 2] = max(most[item % 2], item * 0.5)
        flag, number, text = seen[item]
        seen[item] = not flag, number * 2, text + "!"
    return dict(table), dict(least), dict(most), math.copysign(1.0, signs[2]), dict(seen), table[-1]


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (counted, (np.array([3, 1, 2, 3, 1]),)), (grouped, (np.array([3, 1, 2, 3, 1, 5, 6]),)), (totals, (np.arange(9.0),)),
    (neighbours, (np.array([[0, 1], [1, 2], [3, 4], [2, 0]]),)), (words, ("the cat and the dog and the end",)),
    (most, ([1, 2, 2, 3, 3, 3, 1],)), (flags, (["a", "b", "b"],)), (sums, ("bcdcx",)),
    (pairs, ([3, 1, 3, 2, 1, 3],)),
]  # fmt: skip


@pytest.mark.parametrize(("program", "arguments"), CASES, ids=[program.__name__ for program, _ in CASES])
def test_mappings_do_what_those_of_python_do(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    wanted = program(*arguments)
    for options in ({}, {"backend": "interpreter"}):
        function = flambeau.script(program, **options)
        for _ in range(2):
            assert function(*arguments) == wanted


def test_counts_of_ints_are_native() -> None:
    def program(items: List[int]):  # noqa: UP006
        counts = defaultdict(int)
        for item in items:
            counts[item % 7] += 1
        return counts[3] + len(counts)

    function = flambeau.script(program)
    items = list(range(1000))
    for _ in range(2):
        assert function(items) == program(items)
    assert_native(function)


def test_mappings_that_programs_have_not_say_what_to_write() -> None:
    def result(x: np.ndarray):
        d = defaultdict(int)
        d[1] += 1
        return d

    def within(x: np.ndarray):
        return Counter([1]), x

    def made(x: np.ndarray):
        d = defaultdict(lambda: [7, []])
        return d[1] + x

    def keywords(x: np.ndarray):
        return Counter(a=1)["a"] + x

    for program, text in (
        (result, r"a defaultdict stays in the function that makes it: return dict\(...\) of it"),
        (within, r"a Counter stays in the function that makes it: return dict\(...\) of it"),
        (made, "takes one of int, float, bool, str, list and set for what is missing"),
        (keywords, "Counter takes what it counts here"),
    ):
        with pytest.raises(CompileError, match=text):
            flambeau.script(program)


def annotated_as_dict(words: List[str]) -> int:  # noqa: UP006
    groups: Dict[str, List[str]] = defaultdict(list)  # noqa: UP006
    for w in words:
        groups["".join(sorted(w))].append(w)
    return 10 * len(groups) + max([len(g) for g in groups.values()])


def annotated_as_itself(words: List[str]) -> int:  # noqa: UP006
    counts: defaultdict[str, int] = defaultdict(int)
    for w in words:
        counts[w] += 1
    return 100 * counts["ab"] + counts["nowhere"] + len(counts)


def annotated_as_typing_does(words: List[str]) -> int:  # noqa: UP006
    counts: DefaultDict[str, float] = defaultdict(float)  # noqa: UP006
    for w in words:
        counts[w] += 0.5
    return int(2 * counts["ab"]) + len(counts)


def annotated_counter(words: List[str]) -> int:  # noqa: UP006
    counts: Counter[str] = Counter(words)
    return 100 * counts["ab"] + counts["nowhere"] + len(counts)


def dicts_of_dicts(words: List[str]) -> int:  # noqa: UP006
    table: Dict[str, Dict[str, int]] = defaultdict(dict)  # noqa: UP006
    for w in words:
        table[w[0]][w] = len(table)
    return sum([sum(row.values()) + 10 * len(row) for row in table.values()])


def given_back(words: List[str]) -> Dict[str, int]:  # noqa: UP006
    counts: Dict[str, int] = defaultdict(int)  # noqa: UP006
    for w in words:
        counts[w] += 1
    return dict(counts)


@pytest.mark.parametrize(
    "program",
    [annotated_as_dict, annotated_as_itself, annotated_as_typing_does, annotated_counter, dicts_of_dicts, given_back],
)
def test_annotated_variables(program: Callable[..., Any]) -> None:
    scripted = flambeau.script(program)
    for words in (["ab", "ba", "c"], ["xy"] * 4, ["ab", "ab", "b", "ac"], ["q"]):
        assert scripted(words) == program(words)


def test_annotations_of_other_items() -> None:
    def other(words: List[str]) -> int:  # noqa: UP006
        counts: Dict[str, float] = defaultdict(int)  # noqa: UP006
        return len(counts)

    with pytest.raises(CompileError, match=r"annotated with type Dict\[str, float\] but is being assigned"):
        flambeau.script(other)
