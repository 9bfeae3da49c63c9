"""Lists folded, compared and sliced by native code, as Python does."""

from __future__ import annotations

import pytest

from tests.codegen.graph.one_meaning import agree

INTS = [3, -1, 4, 1, -5, 9, 2, 6, -5, (1 << 63) - 1]
FLOATS = [0.0, -0.0, 1.5, float("inf"), -2.5, 0.1, 0.2]
BOOLS = [True, False, True]
FOLD = "def f(x: List[{kind}], n: int):\n    s = {fold}\n    for k in range(n):\n        s = {fold}\n    return s\n"
SLICE = """
def f(x: List[int], a: Optional[int], b: Optional[int], n: int):
    y = x[{slice}]
    for k in range(n):
        y = x[{slice}]
    return y, y == x, y != x, len(y)
"""


@pytest.mark.parametrize("fold", ["min(x)", "max(x)", "sum(x)", "len(x)"])
@pytest.mark.parametrize(("kind", "items"), [("int", INTS), ("float", FLOATS), ("bool", BOOLS)])
def test_c17_lists_are_folded(kind: str, items: list[object], fold: str) -> None:
    for many in (items, items[:1], items[::-1], []):
        agree(FOLD.format(kind=kind, fold=fold), lambda many=many: (list(many), 2))  # type: ignore[misc]


@pytest.mark.parametrize("fold", ["any(x)", "all(x)"])
def test_c17_bools_of_lists(fold: str) -> None:
    for items in ([], [True], [False], [True, False]):
        agree(FOLD.format(kind="bool", fold=fold), lambda items=items: (list(items), 2))  # type: ignore[misc]


def test_c17_an_int_in_a_list() -> None:
    for n in (3, 4, -5):
        agree(FOLD.format(kind="int", fold="n in x"), lambda n=n: (list(INTS), n))  # type: ignore[misc]


def test_c17_floats_with_nan_are_compared_as_python_compares_them() -> None:
    source = "def f(x: List[float], n: int):\n    for k in range(n):\n        x[0] += 1\n    return max(x), min(x)\n"
    agree(source, lambda: ([float("nan"), 1.0, 2.0], 2))
    agree(source, lambda: ([1.0, float("nan"), 2.0, -1.0], 2))


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_c17_slices_of_lists_have_steps(step: int) -> None:
    for bounds in ("::", "1::", ":-1:", "2:5:", "5:2:", "-3::", ":20:", "-20:-1:", "20:-20:"):
        agree(SLICE.format(slice=f"{bounds}{step}"), lambda: ([5, 3, 8, 1, 9, 2], 1, 4, 2))


def test_c17_a_list_and_its_reverse() -> None:
    source = """
def f(limit: int) -> int:
    found = 0
    for n in range(limit):
        digits: List[int] = []
        k = n
        while k > 0:
            digits.append(k % 3)
            k //= 3
        if digits == digits[::-1]:
            found += 1
    return found
"""
    agree(source, lambda: (200,))
