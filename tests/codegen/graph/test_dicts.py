"""Dicts and sets in native code: what Python gives, in Python's order, with Python's errors."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau.codegen.graph.entry.entry_stub import Parameter, Signature
from flambeau.codegen.graph.representation import Bool, Float, Int, Listed, Mapped, Tupled
from tests.codegen.graph.one_meaning import CALLS, agree, assert_native
from tests.codegen.graph.test_graph_entry import both

LARGEST, SMALLEST = (1 << 63) - 1, -(1 << 63)
KEYS = [5, -1, 0, 5, LARGEST, SMALLEST, 3, 0, -1, 1 << 32, 1 << 40, 7, *range(100, 160), 3]
PROGRAMS: dict[str, tuple[str, Callable[[], tuple[Any, ...]]]] = {
    "counting": ("""
def f(x: List[int]):
    counts: Dict[int, int] = {}
    for k in x:
        counts[k] = counts.get(k, 0) + 1
    return counts, list(counts), counts.keys(), counts.values(), counts.items(), len(counts)
""", lambda: (list(KEYS),)),
    "the first of a pair": ("""
def f(x: List[int], total: int):
    seen: Dict[int, int] = {}
    for i, v in enumerate(x):
        if total - v in seen:
            return seen[total - v], i, seen
        seen[v] = i
    return -1, -1, seen
""", lambda: (list(range(50)), 97)),
    "lists as values": ("""
def f(x: List[int]):
    groups: Dict[int, List[int]] = {}
    for v in x:
        k = v % 7
        if k not in groups:
            groups[k] = []
        groups[k].append(v)
        if len(groups[k]) > 5:
            groups[k] = groups[k][1:]
    for k in list(groups):
        if k % 2 == 0:
            del groups[k]
    shared = groups[1]
    shared.append(-1)
    return groups, shared
""", lambda: (list(range(60)),)),
    "taken out and put in": ("""
def f(n: int):
    d: Dict[int, float] = {}
    out: List[float] = []
    for i in range(n):
        d[i * 37 % 101] = i * 0.5
        if i % 3 == 2:
            k = list(d)[0]
            out.append(d.pop(k))
        if i % 5 == 4:
            out.append(d.popitem()[1])
        out.append(d.pop(i, -1.0))
        out.append(d.setdefault(i % 11, 0.25))
    return d, out
""", lambda: (300,)),
    "tuples of ints as keys": ("""
def f(n: int):
    paths: Dict[Tuple[int, int], int] = {(0, 0): 1}
    for i in range(n):
        for j in range(n):
            if i or j:
                paths[i, j] = paths.get((i - 1, j), 0) + paths.get((i, j - 1), 0)
    flags: Dict[Tuple[bool, Tuple[int, bool]], int] = {}
    for i in range(n):
        flags[i % 2 == 0, (i % 3, i % 5 == 0)] = i
    return paths, flags
""", lambda: (9,)),
    "bools as keys": ("""
def f(x: List[int]):
    d: Dict[bool, int] = {}
    for v in x:
        d[v % 3 == 0] = v
    return d, True in d
""", lambda: ([1, 2, 4, 6],)),
    "dicts in dicts and in lists": ("""
def f(n: int):
    table: Dict[int, Dict[int, int]] = {}
    rows: List[Dict[int, int]] = []
    for i in range(n):
        if i % 4 not in table:
            table[i % 4] = {}
        table[i % 4][i] = i * i
        rows.append(table[i % 4])
    rows[0][1000] = 1
    lists: List[List[int]] = []
    for i in range(n):
        lists.append([i] if i < 3 else lists[1])
    return table, rows, rows[0] is rows[4], rows[0] is not rows[4], lists[1] is lists[3], lists[0] is lists[1]
""", lambda: (30,)),
    "update, copy, clear": ("""
def f(x: Dict[int, int], n: int):
    a = x.copy()
    b = {k: v + 1 for k, v in a.items()}
    for i in range(n):
        b[i] = i
    a.update(b)
    c = dict(a)
    a.clear()
    for i in range(n):
        a[i % 20] = i
    d = dict([(i, i * 2) for i in range(n)])
    a.update(a)
    return a, b, c, d
""", lambda: ({3: 1, -4: 2}, 40)),
    "None for what is not there": ("""
def f(x: List[int]):
    d: Dict[int, float] = {}
    for v in x:
        d[v] = v * 0.5
    total = 0.0
    for v in range(20):
        y = d.get(v)
        if y is not None:
            total += y
    return total
""", lambda: ([1, 2, 3, 40],)),
    "a function that remembers": ("""
def f(n: int):
    known: Dict[int, int] = {}
    def fib(k: int) -> int:
        if k < 2:
            return k
        if k in known:
            return known[k]
        r = fib(k - 1) + fib(k - 2)
        known[k] = r
        return r
    return fib(n), known
""", lambda: (60,)),
    "one of two dicts": ("""
def f(x: List[int], flag: bool):
    a: Dict[int, int] = {}
    b: Dict[int, int] = {}
    for v in x:
        c = a if (v % 2 == 0) == flag else b
        c[v] = c.get(v, 0) + 1
    d: Optional[Dict[int, int]] = None
    if flag:
        d = a
    return a, b, d
""", lambda: (list(KEYS), True)),
    "sets": ("""
def f(x: List[int], n: int):
    seen: Set[int] = set()
    order: List[int] = []
    for v in x:
        if v not in seen:
            seen.add(v)
            order.append(v)
    other = set(range(n))
    both, either, rest = seen & other, seen | other, seen - other
    other.discard(3)
    other.discard(-77)
    other.remove(4)
    copy = seen.copy()
    copy.update(either)
    copy -= both
    found = (len(both), len(either), len(rest), sum(rest), max(either), min(seen))
    same = (seen == other, seen != either, both <= seen, both < both, rest.isdisjoint(other))
    return order, found, same, both, other, copy
""", lambda: ([*range(20), 3, 3, 90, 91], 12)),
    "sets in order": ("""
def f(n: int):
    s: Set[int] = set()
    for i in range(n):
        s.add(i * 7 % 64)
    total: List[int] = []
    for v in s:
        total.append(v)
    return total
""", lambda: (40,)),
    "sets of pairs": ("""
def f(n: int):
    live: Set[Tuple[int, int]] = set()
    for i in range(n):
        live.add((i % 5, i % 3))
        if (i % 5, 1) in live:
            live.discard((i % 5, 1))
    return len(live), live
""", lambda: (40,)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_dicts_and_sets_are_those_of_python(name: str) -> None:
    agree(*PROGRAMS[name])


WRONG: dict[str, str] = {
    "t += d[n]": "KeyError: 20", "t += d.pop(n)": "KeyError: 20", "t += d.popitem()[0]": "dictionary is empty",
    "s.remove(n)": "KeyError: 20", "del d[n]": "KeyError: 20",
}  # fmt: skip


@pytest.mark.parametrize("line", WRONG)
def test_errors_of_dicts_are_those_of_python(line: str) -> None:
    source = f"""
def f(n: int):
    d: Dict[int, int] = {{}}
    s: Set[int] = set()
    t = 0
    for i in range(n):
        d[i] = i
        s.add(i)
    for i in range(n):
        t += d[i]
        if {"popitem" in line}:
            del d[i]
    {line}
    return t, d, s
"""
    agree(source, lambda: (20,))
    with pytest.raises(Exception, match=WRONG[line]) as caught:
        flambeau.CompilationUnit(source).f(20)
    assert line in str(caught.value)


OPERATIONS = """
def f(ops: List[int], keys: List[int], d: Dict[int, int]):
    out: List[int] = []
    for k in range(len(ops)):
        op, key = ops[k], keys[k]
        if op == 0:
            d[key] = k
        elif op == 1:
            out.append(d.pop(key, -1))
        elif op == 2:
            out.append(d.get(key, -2))
        elif op == 3:
            out.append(d.setdefault(key, k))
        elif op == 4:
            if len(d) > 0:
                last, value = d.popitem()
                out.append(last)
                out.append(value)
        elif op == 5:
            if key in d:
                del d[key]
        elif op == 6:
            d[key] = d.get(key, 0) + 1
        else:
            out.append(len(d))
            for v in d.keys():
                out.append(v)
    return d, out
"""


def _by_python(ops: list[int], keys: list[int], d: dict[int, int]) -> Any:
    space: dict[str, Any] = {}
    exec("from typing import *\n" + OPERATIONS, space)
    return space["f"](ops, keys, d)


@pytest.mark.parametrize("seed", range(6))
def test_random_operations_leave_what_they_leave_in_python(seed: int) -> None:
    draw = random.Random(seed)
    function = flambeau.CompilationUnit(OPERATIONS).f
    for _ in range(30):
        size = draw.choice([0, 3, 9, 40, 2000])
        span = draw.choice([2, 8, 20, 3000])
        step = draw.choice([1, -1, 1 << 20, 1 << 33, 1 << 58, 0x61C8864680B583EB])
        kinds = draw.choice([range(8), range(7), (0, 4), (0, 5), (0, 1, 6)])
        ops = [draw.choice(kinds) if k % 97 else 7 for k in range(size)]
        keys = [_wrapped(draw.randrange(span) * step) for _ in range(size)]
        start = {_wrapped(k * step): -k for k in range(draw.choice([0, 1, 8, 9, 30]))}
        expected = _by_python(ops, keys, dict(start))
        found = function(ops, keys, dict(start))
        assert found == expected
        assert list(found[0].items()) == list(expected[0].items())
    assert_native(function)


def _wrapped(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def test_dicts_of_entries_are_the_same_natively_and_by_hand() -> None:
    kinds = (
        Mapped(Int(), Int()), Mapped(Tupled((Int(), Bool())), Float()), Mapped(Int(), Listed(Int())),
        Mapped(Bool(), Mapped(Int(), Tupled((Float(), Float())))),
    )  # fmt: skip
    given: list[Any] = [
        {1: 2, -3: 4, **{k: k for k in range(100)}}, {(1, True): 0.5, (2, False): -0.0}, {7: [1, 2], 8: []},
        {True: {1: (0.5, 1.5)}, False: {}},
    ]  # fmt: skip
    body = "call void @llvm.memcpy.p0.p0.i64(ptr %results, ptr %arguments, i64 8, i1 false)\n  ret i64 0"
    for kind, value in zip(kinds, given, strict=True):
        for call in both(Signature((Parameter(kind),), (kind,)), body):
            for one in (value, {}):
                found = call(one)
                assert found == one
                assert list(found) == list(one)
                assert found is not one
            assert repr(call([1])) == repr(call({"a": 1})) == repr(call({1: "a"}))


def test_a_dict_that_two_results_show_is_one_dict() -> None:
    source = """
def f(n: int):
    d: Dict[int, int] = {}
    for i in range(n):
        d[i] = i
    return d, [d, d], {0: d}
"""
    function = flambeau.CompilationUnit(source).f
    for _ in range(CALLS):
        first, (second, third), last = function(20)
        assert first is second is third is last[0]
    assert_native(function)
