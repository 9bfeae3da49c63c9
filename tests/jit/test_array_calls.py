"""Calls of functions on arrays that come again: quick ones give what the first gave, for any arguments in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau

rng = np.random.default_rng(3)
ROW, MATRIX = rng.normal(size=7), rng.normal(size=(3, 4))
CALLS = 6
"""As many as it takes until native code serves a function."""


def outcome(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call gives, with classes and dtypes, or the class of what it raises."""
    try:
        return described(call(*args, **kwargs))
    except Exception as error:
        return type(error).__name__


def described(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tolist()
    if isinstance(value, tuple | list):
        return type(value).__name__, [described(v) for v in value]
    if isinstance(value, dict):
        return {key: described(item) for key, item in value.items()}
    return isinstance(value, np.generic), type(value).__name__, value


def scaled(x: np.ndarray, n: float, b: float = 0.5):
    total = 0.0
    for v in x.ravel():
        total += v * n
    return x * n + b, total, n


def by_anything(x: np.ndarray, n):
    total = n
    for _ in range(3):
        total = total + n
    return total, x


def picked(x: np.ndarray, k: int):
    return x[k]


def shared(x: np.ndarray, y: np.ndarray):
    return [x, y + 1], {"x": x}, x


MIXED: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (scaled, [
        (ROW, 2.0), (ROW, 2), (ROW.astype(np.float32), 2.0), (MATRIX, 2.0), (MATRIX.T, 2.0), (ROW[::2], 2.0),
        (ROW[::-1], 2.0), (ROW, True), (ROW, np.float64(2.0)), (ROW, 2.0, 1.0), (ROW[:1], 2.0), (ROW[:0], 2.0),
        (np.arange(5), 2.0), (ROW.astype(">f8"), 2.0),
    ]),
    (by_anything, [(ROW, 2.0), (ROW, 2), (ROW, 2.5), (ROW, True), (ROW, 3)]),
    (picked, [(ROW, 2), (ROW, 7), (ROW, -1), (MATRIX, 1), (np.arange(3), 2), (ROW, 2)]),
    (shared, [(ROW, ROW), (ROW, MATRIX[0]), (MATRIX, MATRIX), (ROW, np.arange(7))]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "calls"), MIXED, ids=lambda v: getattr(v, "__name__", ""))
def test_quick_calls_give_what_first_calls_give(program: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    first = [outcome(flambeau.script(program), *args) for args in calls]
    scripted = flambeau.script(program)
    for _ in range(2):
        for _ in range(CALLS):
            scripted(*calls[0])
        for args, wanted in zip(calls, first, strict=True):
            assert outcome(scripted, *args) == wanted, args


def test_numbers_keep_their_classes() -> None:
    scripted = flambeau.script(by_anything)
    for _ in range(CALLS):
        assert type(scripted(ROW, 2.0)[0]) is float
    assert type(scripted(ROW, 2)[0]) is int


def test_arrays_that_come_back_are_themselves() -> None:
    scripted = flambeau.script(shared)
    for _ in range(CALLS):
        listed, by_name, x = scripted(ROW, ROW)
        assert listed[0] is ROW
        assert by_name["x"] is ROW
        assert x is ROW
    tensor = flambeau.tensor(ROW)
    assert described(scripted(tensor, ROW)) == described(scripted(ROW.copy(), ROW))


def test_keywords_and_those_who_watch_are_heard() -> None:
    scripted = flambeau.script(scaled)
    for _ in range(CALLS):
        scripted(ROW, 2.0)
    assert described(scripted(ROW, n=2.0)) == described(scripted(ROW, 2.0))
    seen = list[str]()

    class Mode(flambeau.DispatchMode):
        def __flambeau_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(op))
            return op(*args, **(kwargs or {}))

    with Mode():
        scripted(ROW, 2.0)
    assert seen


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.int8])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_weighed_counts_are_native(dtype: Any, count: int) -> None:
    def counted(x: np.ndarray, w: np.ndarray):
        return np.bincount(x, weights=w), np.bincount(x), np.bincount(x, w, 7)

    scripted = flambeau.script(counted)
    x, w = rng.integers(0, 9, count).astype(dtype), rng.normal(size=count)
    for each in ((x, w), (x[::2], w[::2])):
        for _ in range(CALLS):
            results = scripted(*each)
        for mine, wanted in zip(results, counted(*each), strict=True):
            assert mine.tolist() == wanted.tolist()
    assert "native from end to end" in str(scripted.explain())
    if count > 1:
        with pytest.raises(RuntimeError, match="non-negative"):
            scripted((x.astype(np.int8) - 9), w)
        with pytest.raises(RuntimeError, match="same length"):
            scripted(x, w[1:])


def called_by_name(x: np.ndarray, by=2.0, times=3):
    return x * by, times


def test_calls_with_defaults_and_names_are_those_of_places() -> None:
    fn, x = flambeau.script(called_by_name), np.arange(3.0)
    calls = (((x,), {}), ((x, 3), {}), ((x,), {"times": 1}), ((), {"x": x, "by": True}), ((x, 1.5, 2), {}))
    for arguments, named in calls:
        for _ in range(3):
            ours, theirs = fn(*arguments, **named), called_by_name(*arguments, **named)
            np.testing.assert_array_equal(ours[0], theirs[0])
            assert ours[1] == theirs[1]
            assert ours[0].dtype == theirs[0].dtype
    with pytest.raises(RuntimeError, match=r"called_by_name\(\) missing a required argument: 'x'"):
        fn(by=2.0)
    with pytest.raises(RuntimeError, match="got an unexpected keyword argument 'weight'"):
        fn(x, weight=2.0)
