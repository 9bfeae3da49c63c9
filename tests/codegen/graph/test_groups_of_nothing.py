"""Groups of arrays without elements: native code gives their results itself, of every size that comes again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.specialise.cache import CacheStatistics

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code here")


def parts(x: np.ndarray, a: int, b: int):
    return x[a:b] * 2.0 + 1.0, np.exp(x[b:a]) - x[b:a]


def rows(m: np.ndarray, n: int):
    return m[:n] * m[:n] + 1.0, np.sum(m[:n] * 2.0, axis=1), np.sum(m[:n] * 2.0, axis=0)


def hits(function: Any) -> list[int]:
    """How often each cache of kernels was asked by Python."""
    caches: tuple[CacheStatistics, ...] = function.explain().caches
    return [c.hits for c in caches if c.name.startswith("kernels")]


CALLS = [
    (parts, (np.arange(9.0), 6, 2)), (parts, (np.arange(4.0) - 2, 3, 0)),
    (rows, (np.arange(12.0).reshape(3, 4), 0)), (rows, (np.ones((5, 2)), 0)),
]  # fmt: skip


@pytest.mark.parametrize(("program", "arguments"), CALLS)
def test_python_is_not_asked_again(program: Any, arguments: tuple[Any, ...]) -> None:
    function = flambeau.script(program)
    for _ in range(2):
        for calls in range(6):
            results = function(*arguments)
            if calls == 4:
                before = hits(function)
        for found, expected in zip(results, program(*arguments), strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            assert np.array_equal(found, expected)
        assert hits(function) == before
        arguments = (arguments[0] + 1, *arguments[1:])


def test_other_sizes_of_nothing() -> None:
    function = flambeau.script(rows)
    for columns in (*range(12), 3, 40):
        m = np.ones((2, columns))
        for n in (0, 2, 0, 1):
            for found, expected in zip(function(m, n), rows(m, n), strict=True):
                assert np.array_equal(found, expected), (columns, n)
                assert found.shape == expected.shape
