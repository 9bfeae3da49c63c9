"""Sets that calls bring, annotated or not: native code takes them, in Python's order where that shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.util.errors import CompileError

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code here")


def counted(s: set[int], n: int) -> int:
    count = 0
    for k in range(n):
        if k in s and k + 1 not in s:
            count += k
    return count


def in_order(s: set[int]) -> list[int]:
    return [v * 2 for v in s]


def compared(a: set[int], b: set[int]) -> tuple[int, bool, list[int], bool]:
    total = 0
    for v in sorted(a | b):
        total = total * 3 + v + len(a & b)
    return total, a <= b, sorted(a ^ b), a == b


def grown(s: set[int], n: int) -> set[int]:
    t = s.copy()
    for k in range(n):
        t.add(k * 7)
    return t


def pairs(s: set[tuple[int, int]], n: int) -> int:
    count = 0
    for i in range(n):
        for j in range(n):
            if (i, j) in s:
                count += 1
    return count


def known(words: set[str], text: list[str]) -> int:
    count = 0
    for word in text:
        if word in words:
            count += len(word)
    return count


def union_in_order(s: set[int], n: int) -> list[int]:
    out: list[int] = []
    for k in range(n):
        for v in s | {k}:
            out.append(v)
    return out


def open_counted(s, n):
    count = 0
    for k in range(n):
        if k in s:
            count += 1
    return count, len(s), sum(s)


def open_pairs(s, n):
    count = 0
    for i in range(n):
        for j in range(n):
            if (i, j) in s:
                count += 1
    return count


THINNED = set(range(1000)) - set(range(990)) | {0, 8000}
CALLS = [
    (counted, [({1, 5, 3}, 10), (set(range(0, 1000, 7)), 500), (set(), 3), (THINNED, 1100)]),
    (in_order, [({1, 5, 3},), ({-1, -2, 2**40},), (set(),), (set(range(40)),)]),
    (compared, [({1, 2}, {2, 3}), ({2}, {1, 2}), (set(), set()), (set(range(30)), {5})]),
    (grown, [({1, 2}, 3), (set(), 40)]),
    (pairs, [({(1, 2), (2, 2)}, 3), ({(i, i) for i in range(30)}, 30)]),
    (known, [({"a", "bc"}, ["a", "b", "bc"]), (set(), ["a"]), ({"ä", "漢字"}, ["漢字"] * 9)]),
    (open_counted, [({1, 2}, 5), (set(range(9)), 40), (frozenset({3}), 4)]),
    (open_pairs, [({(1, 2)}, 3), ({(i, 2 * i) for i in range(9)}, 20)]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "calls"), CALLS)
def test_python_gives_the_same(program: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    function = flambeau.script(program)
    for _ in range(3):
        for arguments in calls:
            assert function(*arguments) == program(*arguments)
    assert all(c.state == "native from end to end" for c in function.explain().compilations)


def test_the_order_of_what_is_made_of_a_set_is_pythons() -> None:
    function = flambeau.script(union_in_order)
    for s, n in (({5, 900}, 3), ({1, 2}, 40), (set(range(50)), 60)):
        assert function(s, n) == union_in_order(s, n)


def test_items_that_have_no_native_form_are_interpreted() -> None:
    function = flambeau.script(pairs)
    for _ in range(3):
        assert function({(1, 1)}, 3) == 1
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            function({1}, 3)
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            function({(1, 2**70)}, 3)


def test_a_set_that_a_call_brings_is_not_changed() -> None:
    def adds(s):
        s.add(5)
        return len(s)

    with pytest.raises(CompileError, match=r"changes 's', which is a set here: .* Change s.copy\(\) and return that"):
        flambeau.script(adds)({1})


def test_sets_are_given_back_that_failed_to_cross() -> None:
    function = flambeau.script(counted)
    assert function({1, 2}, 5) == function({1, 2}, 5) == 2
    for odd in ({True, 5}, {np.int64(3)}, {2**62}):
        expected = counted(odd, 9)
        assert function(odd, 9) == expected
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        function({1, "a"}, 3)
