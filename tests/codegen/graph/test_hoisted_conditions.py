"""Failures whose conditions no iteration changes: looked at before the loop, raised where Python raises them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau


def divided(y, x, n):
    for k in range(len(x)):
        y[k] = int(x[k]) // n + 1
    return k


def in_a_branch(y, x, n):
    for k in range(len(x)):
        if x[k] > 1:
            y[k] = int(x[k]) % n
        else:
            y[k] = -1
    return y.sum()


def until_it_stops(y, x, n):
    last = 0
    for k in range(len(x)):
        if x[k] > 2:
            break
        y[k] = int(x[k]) // (n - 1)
        last = k
    return last


def counted(y, x, n):
    k = 0
    while k < len(x):
        y[k] = int(x[k]) << (n % 5 - 1)
        k += 1
    return k


def chosen(y, x, n):
    for k in range(1, len(x)):
        y[k] = y[k - 1] + (n if x[k] > 1 else 1)
    return y[-1]


def beside_an_index(y, x, n):
    for k in range(len(x)):
        y[k] = int(x[k + n]) // n
    return k


def outcome(fn: Callable[..., Any], dtype: str, size: int, n: int) -> tuple[Any, ...]:
    x, y = np.arange(size) % 4, np.full(size, 7, dtype)
    with np.errstate(all="ignore"):
        try:
            result = fn(y, x, n)
        except (ZeroDivisionError, OverflowError, IndexError, ValueError, RuntimeError, UnboundLocalError) as error:
            kinds = (ZeroDivisionError, OverflowError, IndexError)
            return next((kind.__name__ for kind in kinds if kind.__name__ in repr(error)), "other"), y.tolist()
    return result, y.tolist()


@pytest.mark.parametrize("fn", [divided, in_a_branch, until_it_stops, counted, chosen, beside_an_index])
@pytest.mark.parametrize("dtype", ["int64", "int8"])
def test_what_fails_and_what_was_written_is_as_in_python(fn: Callable[..., Any], dtype: str) -> None:
    scripted = flambeau.script(fn)
    for size in (1, 2, 3, 9, 40):
        for n in (3, 1, 0, -1, -3, 127, 128, -128, -129, 2**40):
            with np.errstate(all="ignore"):
                got, wanted = outcome(scripted, dtype, size, n), outcome(fn, dtype, size, n)
            assert got == wanted, (size, n)
