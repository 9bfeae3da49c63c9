"""`np.vectorize`, folds of parts, layouts and bits: what is decided outside of programs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def larger(a, b):
    if a > b:
        return a - b
    return a + b


LARGER = np.vectorize(larger)
TYPED = np.vectorize(larger, otypes=[np.float64])


@np.vectorize
def halved(a):
    return a / 2 if a > 1 else a


def test_functions_of_vectorize_are_loops() -> None:
    def program(x):
        return LARGER(x, 2.0), halved(x), LARGER(x[:, None], x)

    x = np.arange(6.0)
    for result, wanted in zip(flambeau.script(program)(x), program(x), strict=True):
        np.testing.assert_array_equal(result, wanted)
        assert result.dtype == wanted.dtype


def test_what_vectorize_has_not_is_refused() -> None:
    def options(x: np.ndarray):
        return TYPED(x, 1.0)

    def many(x: np.ndarray):
        return LARGER(x, x, x, x)

    def numbers(x: np.ndarray):
        return LARGER(1.0, 2.0) + x

    def tensors(x: flambeau.Tensor):
        return LARGER(x, 2.0)

    def more(x: np.ndarray):
        return np.vectorize(larger, excluded=["b"])(x, 2.0)

    for program, text in (
        (options, "np.vectorize takes the function alone here, not otypes: write a loop"),
        (many, "take one to three arguments here, not 4: write a loop"),
        (numbers, "for numbers alone: call the function itself"), (tensors, "annotate them as np.ndarray"),
        (more, "not excluded"),
    ):  # fmt: skip
        with pytest.raises(CompileError, match=text):
            flambeau.script(program)
    with pytest.raises(ValueError, match="size 0 inputs"):
        flambeau.script(lambda_of_one)(np.zeros(0))


def lambda_of_one(x: np.ndarray):
    return halved(x)


def test_parts_bits_grids_and_flags_that_are_not_there_are_refused() -> None:
    def parts(x: np.ndarray, i: np.ndarray):
        return np.add.reduceat(x, i)

    def bits(x: np.ndarray):
        return np.unpackbits(x, count=-9)

    def grid(x: np.ndarray):
        return np.fromfunction(lambda i: i, (3,), dtype=bool) + x

    def flags(x: np.ndarray):
        return x.flags.writeable

    def names(x: np.ndarray):
        return x.flags["aligned"]

    function = flambeau.script(parts)
    for index in (4, -1):
        with pytest.raises(IndexError, match=rf"index {index} out-of-bounds in reduceat \[0, 4\)"):
            function(np.arange(4.0), np.array([0, index]))
    with pytest.raises(ValueError, match="larger than the number of elements"):
        flambeau.script(bits)(np.zeros(1, np.uint8))
    for program, text in ((grid, "takes a shape, and dtype=int or"), (flags, "has c_contiguous"), (names, "c_contig")):
        with pytest.raises(CompileError, match=text):
            flambeau.script(program)


def test_sums_of_parts_are_added_as_those_of_arrays() -> None:
    def program(x: np.ndarray, i: np.ndarray):
        return np.add.reduceat(x, i), np.minimum.reduceat(x, i)

    x = np.random.default_rng(3).random(400)
    places = np.array([0, 1, 1, 150, 399])
    for result, wanted in zip(flambeau.script(program)(x, places), program(x, places), strict=True):
        np.testing.assert_allclose(result, wanted, 1e-14)
