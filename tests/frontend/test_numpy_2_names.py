"""Functions that NumPy 2 added, under the names of the array API standard, and those of `np.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError
from tests.frontend.numpy_comparison import check_program

pytestmark = pytest.mark.skipif(not hasattr(np, "matvec"), reason="functions of NumPy 2.2")


def transposed(a, b):
    return np.matrix_transpose(a), a.mT, np.linalg.matrix_transpose(b)


def running(a, b):
    sums = np.cumulative_sum(a[0]), np.cumulative_sum(a, axis=0), np.cumulative_sum(b, axis=-1, include_initial=True)
    products = np.cumulative_prod(a[0]), np.cumulative_prod(b, axis=0, include_initial=True)
    return sums, products, np.cumulative_sum(a[0], dtype=np.float64), np.cumulative_sum(b[0], include_initial=True)


def running_over_nothing(a, b):
    return np.cumulative_sum(a)


def vectors(a, b):
    pairs = np.vecdot(a[0], b[0]), np.vecdot(a, b), np.vecdot(a, b, axis=0), np.vecdot(a, b[0])
    return pairs, np.linalg.vecdot(a, b), np.linalg.vecdot(a, b, axis=0)


def with_matrices(a, b):
    one = np.matvec(a, b[0]), np.vecmat(b[:, 0], a)
    return one, np.matvec(a, b), np.vecmat(np.matrix_transpose(b), a), np.linalg.matmul(a, b.T)


def taken_apart(a, b):
    first, second, third = np.unstack(a[:3])
    return first + second, third, [part + 1 for part in np.unstack(b * 1.0, axis=1)]


def of_linalg(a, b):
    diagonals = np.linalg.diagonal(a), np.linalg.diagonal(b, offset=1), np.linalg.trace(a), np.linalg.trace(b, offset=1)
    return diagonals, np.linalg.outer(a[0], b[1]), np.linalg.tensordot(a, b.T, axes=1), np.linalg.svdvals(a * 1.0)


def crossed(a, b):
    return np.linalg.cross(a[:, :3], b[:, 1:4]), np.linalg.cross(a[:3], b[:3], axis=0)


def converted(a, b):
    return np.astype(a, np.float32), np.astype(b, np.complex128, copy=False), a.astype(np.complex64, copy=True)


def aliases(a, b):
    both = np.concat((a, b)), np.permute_dims(a, (1, 0))
    return both, np.pow(a, 2), np.bitwise_left_shift(a[0], 1) if a.dtype == np.int64 else a[0]


@pytest.mark.parametrize(
    "program",
    [transposed, running, running_over_nothing, vectors, with_matrices, taken_apart, of_linalg, converted, aliases],
)
def test_what_numpy_gives(program: Callable[..., Any]) -> None:
    check_program(program, [(4, 4), (4, 4)])


def test_cross_products_of_linalg() -> None:
    check_program(crossed, [(4, 4), (4, 4)], (np.float64, np.int64, np.complex128, np.uint8))


def test_arrays_that_have_the_dtype_are_themselves() -> None:
    def same(a):
        b = a.astype(np.float64, copy=False)
        c = np.astype(a, np.float64)
        b[0], c[1] = 7.0, 9.0
        return b, c

    scripted = flambeau.script(same)
    for n in (3, 3, 5):
        ours, theirs = np.arange(n) * 0.5, np.arange(n) * 0.5
        for one, other in zip(scripted(ours), same(theirs), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(ours, theirs)


def test_equations_of_tensors() -> None:
    def solved(a: np.ndarray, b: np.ndarray):
        return np.linalg.tensorsolve(a, b)

    scripted = flambeau.script(solved)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, b = rng.normal(size=(2, 3, 6)), rng.normal(size=(2, 3))
        np.testing.assert_allclose(scripted(a, b), solved(a, b), rtol=1e-8)


def a_vector(a: np.ndarray):
    return a.mT


def by_flag(a: np.ndarray, copies: bool):
    return a.astype(np.float64, copy=copies)


@pytest.mark.parametrize(
    ("program", "arguments", "text"),
    [
        (a_vector, (np.ones(3),), "x.mT is of arrays of two axes or more"),
        (by_flag, (np.ones(3), True), "astype takes copy=True or copy=False here, written out"),
    ],
)
def test_what_is_refused(program: Callable[..., Any], arguments: Any, text: str) -> None:
    with pytest.raises(CompileError, match=text):
        flambeau.script(program)(*arguments)
