"""What a program computes for nobody still fails, as in Python: natively, interpreted, inlined, saved and loaded."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

Options = dict[str, Any]
OPTIONS: list[Options] = [{}, {"backend": "interpreter"}, {"tiered": False}]


def item(d: dict[str, int], k: str) -> int:
    d[k]
    return 1


def item_bound(d: dict[str, int], k: str) -> int:
    v = d[k]  # noqa: F841
    return 1


def index_caught(d: list[int], k: int) -> bool:
    try:
        d.index(k)
    except ValueError:
        return False
    return True


def number(s: str) -> bool:
    try:
        float(s)
    except ValueError:
        return False
    return True


def whole(s: str) -> int:
    int(s)
    return 1


def element(x: list[int], i: int) -> int:
    x[i]
    return 1


def letter(s: str, i: int) -> int:
    s[i]
    return 1


def of_tuple(i: int) -> int:
    t = (1, 2, 3)
    t[i]
    return 1


def quotient(a: int, b: int) -> int:
    a // b
    return 1


def remainder(a: int, b: int) -> int:
    c = a % b  # noqa: F841
    return 1


def shifted(a: int, b: int) -> int:
    a << b
    return 1


def smallest(x: list[int]) -> int:
    min(x)
    return 1


def two(x: list[int]) -> int:
    a, b = x  # noqa: RUF059
    return 1


def in_a_loop(x: list[int], n: int) -> int:
    count = 0
    for i in range(n):
        x[i]
        count += 1
    return count


def in_a_branch(x: list[int], i: int) -> int:
    if i > 0:
        x[i]
    return 1


def in_a_condition(x: list[int], i: int) -> int:
    b = i > 0 and x[i] > 0  # noqa: F841
    return 1


def in_a_list(x: list[int], n: int) -> int:
    b = [x[i] for i in range(n)]  # noqa: F841
    return 1


def _looks(x: list[int], i: int) -> int:
    return x[i]


def in_a_call(x: list[int], i: int) -> int:
    _looks(x, i)
    return 1


CASES = [
    (item, [({"a": 1}, "a"), ({"a": 1}, "b"), ({"b": 1}, "b")]),
    (item_bound, [({"a": 1}, "a"), ({"a": 1}, "b"), ({}, "")]),
    (index_caught, [([1, 2], 1), ([1, 2], 3), ([], 3)]),
    (number, [("1",), ("x",), ("nan",), ("",)]),
    (whole, [("1",), ("x",), ("-7",), ("",)]),
    (element, [([1, 2], 1), ([1], 9), ([1], -1), ([1], -2)]),
    (letter, [("ab", 1), ("ab", 2), ("", 0)]),
    (of_tuple, [(2,), (3,), (-3,), (-4,)]),
    (quotient, [(1, 2), (1, 0)]),
    (remainder, [(1, 2), (1, 0)]),
    (shifted, [(1, 2), (1, -1)]),
    (smallest, [([1],), ([],), ([3, 2],)]),
    (two, [([1, 2],), ([1],), ([1, 2, 3],)]),
    (in_a_loop, [([1, 2], 2), ([1, 2], 3), ([], 0)]),
    (in_a_branch, [([1, 2], 1), ([1, 2], 3), ([], 0)]),
    (in_a_condition, [([1, 2], 1), ([1, 2], 3), ([], 0)]),
    (in_a_list, [([1, 2], 2), ([1, 2], 3), ([], 0)]),
    (in_a_call, [([1, 2], 1), ([1, 2], 2)]),
]


def outcome(fn: Any, arguments: Any) -> Any:
    """What it gives, or whether it fails."""
    try:
        return fn(*copy.deepcopy(arguments))
    except Exception:
        return "fails"


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("fn", "calls"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_fails_as_python_does(fn: Any, calls: Any, options: Options) -> None:
    scripted = flambeau.script(fn, **options)
    for _ in range(3):  # before there is a plan, by it, and natively
        assert [outcome(scripted, a) for a in calls] == [outcome(fn, a) for a in calls]


@pytest.mark.parametrize(("fn", "calls"), CASES[:1] + CASES[5:9] + CASES[13:], ids=lambda v: getattr(v, "__name__", ""))
def test_fails_when_loaded(fn: Any, calls: Any) -> None:
    stored = io.BytesIO()
    flambeau.jit.save(flambeau.script(fn), stored)
    stored.seek(0)
    loaded = flambeau.jit.load(stored)
    for _ in range(3):
        assert [outcome(loaded, a) for a in calls] == [outcome(fn, a) for a in calls]


def read(x, i):
    x[i]
    return 1


def reshaped(x, n):
    x.reshape(n, 2)
    return n


def added(x, n):
    y = x + np.zeros(n)  # noqa: F841
    return n


def largest(x, n):
    x[:n].max()
    return n


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("fn", [read, reshaped, added, largest])
def test_fails_of_arrays(fn: Any, options: Options) -> None:
    scripted = flambeau.script(fn, **options)
    calls = [(np.arange(4.0), n) for n in (2, 4, 5, 0)] + [(np.arange(6.0), n) for n in (3, 6, 7)]
    for _ in range(3):
        assert [outcome(scripted, a) for a in calls] == [outcome(fn, a) for a in calls]


def test_operators_of_tensors_are_left_out() -> None:
    def fn(x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
        z = x + y  # noqa: F841
        return x

    graph = flambeau.script(fn).graph
    assert graph.find("aten::add") is None


def removed(n: int) -> int:
    x = [1, 2]
    x.remove(n)
    return 1


def test_changes_of_what_nobody_sees_fail() -> None:
    scripted = flambeau.script(removed)
    for _ in range(3):
        assert [outcome(scripted, (n,)) for n in (1, 3, 2, 0)] == [1, "fails", 1, "fails"]


def changed_in_try(d, k):
    try:
        d[k] = 1
    except KeyError:
        return 0
    return 1


def changed_in_inner_try(d, k):
    r = 0
    try:
        try:
            r = d[k]
        except KeyError:
            d.clear()
    except ValueError:
        return 0
    return r


def read_in_try(d, k):
    try:
        return d[k]
    except KeyError:
        return 0




def test_who_reads_a_container_in_try_does_not_change_it() -> None:
    scripted = flambeau.script(read_in_try)
    assert [scripted({"a": 3}, "a"), scripted({"b": 4}, "a"), scripted({"c": 5, "a": 6}, "a")] == [3, 0, 6]


def test_who_goes_over_a_list_does_not_change_it() -> None:
    def first(x):
        items = iter(x)
        return next(items) + next(items)

    scripted = flambeau.script(first)
    assert [scripted([1, 2]), scripted([5, 6, 7])] == [3, 11]


@pytest.mark.parametrize("fn", [changed_in_try, changed_in_inner_try])
def test_who_changes_a_container_in_try_is_refused(fn: Any) -> None:
    with pytest.raises(CompileError, match=f"{fn.__name__} changes 'd', which is a dict here"):
        flambeau.script(fn)({"a": 1}, "b")


def goes_over(x: list[int], t: str) -> int:
    n = 0
    for _ in x:
        n += 1
    for _ in t:
        n += 10
    for i, _ in enumerate(x):
        n += i
    for a, _ in zip(x, t, strict=False):
        n += a
    return n


def goes_over_array(x):
    n = 0
    for _ in x:
        n += 1
    return n


def test_items_that_loops_have_come_to_are_left_out() -> None:
    scripted = flambeau.script(goes_over)
    for x, t in (([1, 2], "abc"), ([], ""), ([5], "")):
        assert scripted(x, t) == goes_over(x, t)
    assert len(scripted.graph.find_all("aten::__getitem__")) == 1
    of_arrays = flambeau.script(goes_over_array)
    assert [of_arrays(np.zeros(n)) for n in (3, 0, 5)] == [3, 0, 5]
    assert of_arrays.graph.find("aten::select") is None
