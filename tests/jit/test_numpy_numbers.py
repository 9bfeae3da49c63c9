"""NumPy's float64 and int64 in the place of declared numbers: natively, and what programs on arrays mean by them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import flambeau


def scaled(x: float, n: int) -> float:
    return x * 2.0 + n


def first(x: float, n: int, y: np.ndarray) -> float:
    return x + y[n]


def text(x: float, n: int) -> str:
    return f"{n}" if x > 1.0 else "small"


def of_tuple(t: tuple[int, float], x: np.ndarray) -> float:
    return t[0] * t[1] + x[0]


def python_calls(fn: Any, *arguments: Any) -> list[str]:
    """The functions of Python that a call runs, after it came often."""
    for _ in range(10):
        fn(*arguments)
    names: list[str] = []
    sys.setprofile(lambda frame, event, _: names.append(frame.f_code.co_name) if event == "call" else None)
    try:
        fn(*arguments)
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.parametrize("fn", [scaled, text])
def test_calls_are_native(fn: Any) -> None:
    scripted = flambeau.script(fn)
    assert python_calls(scripted, 1.5, 2) == []
    assert python_calls(scripted, np.float64(1.5), np.int64(2)) == []


@pytest.mark.parametrize("fn", [scaled, text])
def test_values(fn: Any) -> None:
    scripted = flambeau.script(fn)
    calls = [(1.5, 2), (-np.inf, 0), (np.nan, 5), (2.0**60, -(2**63)), (-0.0, 2**63 - 1)]
    for _ in range(4):
        for x, n in calls:
            plain = scripted(x, n)
            assert type(scripted(np.float64(x), np.int64(n))) is type(plain)
            assert scripted(np.float64(x), np.int64(n)) == plain or plain != plain
            assert scripted(np.float64(x), n) == plain or plain != plain


def test_beside_arrays() -> None:
    scripted = flambeau.script(first)
    y = np.array([0.5, 1.5, -2.0])
    for _ in range(4):
        for x, n in ((1.0, 0), (2.5, -1), (np.float64(3.0), np.int64(1)), (np.float32(0.5), np.int32(2))):
            assert scripted(x, n, y) == float(x) + y[n]
    with pytest.raises(IndexError):
        scripted(np.float64(1.0), np.int64(7), y)


def test_other_numbers_are_as_before() -> None:
    scripted = flambeau.script(scaled)
    for _ in range(4):
        assert scripted(np.float32(0.25), np.int32(3)) == 3.5
        assert scripted(3, 4) == 10.0
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument 'n'"):
        scripted(1.0, np.float64(2.0))


def test_where_nothing_is_declared_the_kind_is_kept() -> None:
    def same(x, n):
        return x, n

    scripted = flambeau.script(same)
    kinds = [(1.0, 2), (np.float64(1.0), 2), (1.0, np.int64(2)), (np.float64(1.0), np.int64(2)), (1, 2.0)]
    for _ in range(4):
        for arguments in kinds:
            assert [type(v) for v in scripted(*arguments)] == [type(v) for v in arguments]


def test_tuples_of_programs_on_arrays() -> None:
    scripted = flambeau.script(of_tuple)
    x = np.array([1.0])
    for _ in range(4):
        for t in ((2, 3.0), (-1, 0.5), (7, 1.0)):
            assert scripted(t, x) == of_tuple(t, x)
