"""`x.view(dtype)` of arrays: the same memory read as another dtype, natively, as NumPy has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def exponents(x):
    b = x.view(np.int64)
    s = 0
    for i in range(len(b)):
        s += (b[i] >> 52) & 0x7FF
    return s


def negated(x):
    b = x.view("uint32")
    for i in range(len(b)):
        b[i] ^= np.uint32(0x80000000)
    return x


def halves(x):
    h = x.view(np.uint16)
    return h.shape[0], h[1], h.sum()


def first_word(x):
    return x.view(np.uint64)[0]


def inverse_roots(x):
    i = x.view(np.int32)
    y = (0x5F3759DF - (i >> 1)).astype(np.int32).view(np.float32)
    return y * (1.5 - 0.5 * x * y * y)


def high_words(x):
    return x.view(np.int32)[:, 1::2]


X = np.array([0.5, -0.0, np.nan, np.inf, 1e-310, -3.25])


@pytest.mark.parametrize(
    ("program", "argument"),
    [
        (exponents, X), (exponents, X[::2]), (exponents, X[:0]), (negated, X.astype(np.float32)),
        (halves, np.arange(4, dtype=np.uint32) * 70000), (first_word, np.arange(16, dtype=np.uint8)),
        (inverse_roots, np.abs(X[[0, 5]]).astype(np.float32)), (high_words, X.reshape(3, 2)),
        (high_words, X.reshape(2, 3)[::-1]),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)  # fmt: skip
def test_as_in_numpy(program: Callable[..., Any], argument: np.ndarray[Any, Any]) -> None:
    scripted = flambeau.script(program)
    for _ in range(3):
        got, want = scripted(argument.copy()), program(argument.copy())
        np.testing.assert_array_equal(got, want)
        assert not isinstance(want, np.ndarray) or got.dtype == want.dtype
    if np.all(np.asarray(argument.strides) >= 0):
        assert "interpreted" not in str(scripted.explain())


def test_bytes_that_do_not_fit_are_refused() -> None:
    scripted = flambeau.script(first_word)
    for wrong in (np.arange(15, dtype=np.uint8), np.arange(32, dtype=np.uint8)[::2]):
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"to view uint8 as uint64|divisible by 8|must be 1"):
                scripted(wrong)

    def by_name(x, kind):
        return np.sqrt(x).view(kind)

    with pytest.raises(CompileError, match=r"view takes a dtype that is written out: x.view\(np.int64\)"):
        flambeau.script(by_name)(X, (2, 3))
