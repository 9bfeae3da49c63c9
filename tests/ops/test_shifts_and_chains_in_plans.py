"""Shifts of frequencies and products of several matrices in compiled functions: NumPy's answers, natively."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code here")
RNG = np.random.default_rng(3)


def shifts(x: np.ndarray):
    return np.fft.fftshift(x), np.fft.ifftshift(x), np.fft.fftshift(x, axes=0), np.fft.ifftshift(x, -1)


def shifts_of_two(x: np.ndarray):
    return np.fft.fftshift(x, (0, 1)), np.fft.ifftshift(x, axes=[1]), np.fft.ifftshift(np.fft.fftshift(x))


def chain(a: np.ndarray, b: np.ndarray, c: np.ndarray):
    return np.linalg.multi_dot([a, b, c]), np.linalg.multi_dot((b, c))


def matrices(*sizes: int) -> tuple[np.ndarray, ...]:
    return tuple(RNG.standard_normal(pair) for pair in itertools.pairwise(sizes))


LINES = [(np.arange(5.0),), (np.arange(6),), (np.zeros(0),), (np.arange(8.0)[::2] * 1j,)]
PLANES = [(np.arange(12.0).reshape(3, 4),), (np.arange(10.0).reshape(2, 5).T,), (np.ones((1, 7)),)]
CHAINS = [matrices(2, 30, 3, 40), matrices(40, 3, 30, 2), matrices(4, 4, 4, 4), matrices(3, 0, 2, 5)]
ENDS = [(RNG.standard_normal(3), *matrices(3, 4, 5)), (*matrices(5, 4, 3), RNG.standard_normal(3))]


@pytest.mark.parametrize(
    ("program", "calls"),
    [(shifts, LINES), (shifts, PLANES), (shifts_of_two, PLANES), (chain, CHAINS), (chain, ENDS[:1]), (chain, ENDS[1:])],
)
def test_numpy_gives_the_same(program: Callable[..., Any], calls: list[tuple[np.ndarray, ...]]) -> None:
    function = flambeau.script(program)
    for _ in range(3):
        for arguments in calls:
            for found, expected in zip(function(*arguments), program(*arguments), strict=True):
                assert (np.shape(found), found.dtype) == (np.shape(expected), expected.dtype)
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert not any(c.interpreted for c in function.explain().compilations)
