"""Trees print exactly as the reference prints them, for functions of many shapes."""

# The functions below are only read, never run.
# ruff: noqa
# mypy: ignore-errors

from __future__ import annotations

import colorsys
import heapq
import inspect
import random
import textwrap
from typing import Dict, List, Tuple

import pytest

from flambeau.frontend.trees.function_conversion import get_tree

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")


def control(x, y: int, flag: bool = True) -> "Tuple[int, int]":
    """Says what it does."""
    total = 0
    while x < y <= 10 and not flag or x == 3:
        if x:
            total += 1
        elif y:
            break
        else:
            continue
    for i, (j, *k) in enumerate(range(3)):
        total -= i
    assert x is not None, "message"
    assert x
    raise ValueError(f"a {x} b {y}")


def operators(a, b):
    c = a + b - a * b / a // b % a**b
    d = a @ b & a | b ^ a << b >> a
    e = ~a, -b, not a
    f = a if b else (c if d else e)
    g = a < b, a > b, a <= b, a >= b, a == b, a != b, a is b, a is not b, a in b, a not in b
    a -= 1
    a *= 1
    a /= 1
    a %= 1
    a **= 1
    a &= 1
    a |= 1
    a ^= 1
    a <<= 1
    a >>= 1
    return g, f


def literals():
    return 1, 2.5, 1e300, 1e309, 1_000, 0xFF, 3j, "ab", True, False, None, [], [1], (), (1,), {}, {"a": 1}


def access(x, obj):
    obj.a.b[0] = x[1:2, ::3, ..., None]
    x[()] = x[(1, 2)]
    x[0][1], obj.c = x[-1:], x[:]
    obj.method(x, *x, k=1, long_keyword_name=x.shape)(2)
    y: List[int] = [i + 1 for i in x]
    z = {k: v for k, v in x}
    first = second = x
    del first, x[0]
    with obj, obj.other as o:
        pass
    with torch.no_grad():
        return all(q for q in y), z
    return


def keyword_only(x, *, k: float, l: Dict[str, List[Tuple[()]]]) -> None:
    pass


def unicode_names(größe, α):
    return größe + α + "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"


def commented(x, y):
    # type: (int, List[int]) -> Tuple[int, str]
    return x, y


def commented_by_argument(
    x,  # type: int
    y,  # type: List[Tensor]
):
    # type: (...) -> int
    return x


OWN = [control, operators, literals, access, keyword_only, unicode_names, commented, commented_by_argument]
FOREIGN = [
    *(
        fn
        for module in (colorsys, heapq, random, textwrap, inspect)
        for fn in vars(module).values()
        if inspect.isfunction(fn)
    ),
    *(fn for fn in vars(torch.nn.functional).values() if inspect.isfunction(fn)),
]


@pytest.mark.parametrize("fn", OWN, ids=lambda fn: fn.__name__)
def test_own_functions(fn) -> None:
    assert str(get_tree(fn)) == str(torch.jit.frontend.get_jit_def(fn, fn.__name__))


class Holder:
    def method(self, x):
        return self.value + x


def test_method() -> None:
    theirs = torch.jit.frontend.get_jit_def(Holder.method, "renamed", self_name="Holder")
    assert str(get_tree(Holder.method, "renamed", "Holder")) == str(theirs)


def test_functions_of_other_people() -> None:
    compared = 0
    for fn in FOREIGN:
        try:
            theirs = str(torch.jit.frontend.get_jit_def(fn, fn.__name__))
            ours = str(get_tree(fn, fn.__name__))
        except (RuntimeError, torch.jit.frontend.FrontendError, OSError):
            continue  # refused by one of the two; refusals have tests of their own
        is_replaced = "(raise" in theirs and "(raise" not in ours
        if fn.__code__.co_posonlyargcount or is_replaced or "annotated to be ignored" in theirs:
            continue  # the reference leaves such parameters out, and the bodies of what it ignores
        compared += 1
        # The reference dedents the text of strings over several lines; here they keep it, as in Python.
        assert [line.strip() for line in ours.split("\n")] == [line.strip() for line in theirs.split("\n")], fn
    assert compared > 100
