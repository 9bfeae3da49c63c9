"""Writes to an array from another part of it, under whatever name: everything is read before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau


def under_another_name(x: np.ndarray, c: bool):
    y = x[:-1]
    x[1:] += y
    x[:-1] = x[1:]
    return x


def both_have_names(x: np.ndarray, c: bool):
    y, z = x[:-1], x[1:]
    z -= y
    y[...] = z
    return y


def chosen(x: np.ndarray, c: bool):
    y = x[1:]
    if c:
        y = x[:-1]
    x[1:] *= y
    return x, y


def transposed(x: np.ndarray, c: bool):
    m = x[:4].reshape(2, 2)
    t = m.T
    m += t
    return m, x


def in_a_loop(x: np.ndarray, c: bool):
    part = x[1:]
    for _ in range(3):
        x[:-1] += part
        part = x[1:] if c else x[:-1]
    return x


def apart(x: np.ndarray, c: bool):
    y = x[:-1].copy()
    z = x[1:] * 2
    x[1:] += y
    x[:-1] -= z
    return x


PROGRAMS = (under_another_name, both_have_names, chosen, transposed, in_a_loop, apart)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_parts_are_read_before_they_are_written(program: Callable[..., Any], backend: str) -> None:
    script = flambeau.script(program, backend=backend)
    numbers = np.array([1, -(2**63), 3, 4, -1]), np.array([np.nan, -0.0, 1, 2])
    arrays = (np.arange(6.0) + 1, np.arange(12.0)[::2], *numbers)
    for array in arrays:
        for c in (False, True):
            ours, theirs = array.copy(), array.copy()
            found, expected = script(ours, c), program(theirs, c)
            pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
            assert all(np.array_equal(f, e, equal_nan=True) for f, e in pairs)
            assert np.array_equal(ours, theirs, equal_nan=True)


def of_two(x: np.ndarray, y: np.ndarray):
    x += y
    x[1:] = y[1:] * 2
    return x


def test_what_is_not_of_one_array_is_not_copied() -> None:
    for program, second, copies in ((apart, True, 1), (of_two, np.ones(4), 0)):
        script = flambeau.script(program)
        script(np.arange(4.0), second)
        assert len(script.graph.find_all("aten::clone")) == copies
