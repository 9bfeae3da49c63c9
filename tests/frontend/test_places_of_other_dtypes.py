"""What is written at places of an array is converted to its dtype, as NumPy does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flambeau

DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool", "complex128")


def at_places(b, v):
    b[np.array([1, 1, 0])] = v
    return b


def where_true(b, v):
    b[b == b] = v
    return b


def in_two_dimensions(b, v):
    c = b.reshape(3, 1)
    c[[0, 1, 2], [0, 0, 0]] = v
    return c


def put(b, v):
    np.put(b, [0, 2], v[:2])
    return b


def numbers_of_another_dtype(b, v):
    b[np.array([0, 2])] = np.array([3.7, 2.2])
    b[v == v] = 1.5
    return b


@pytest.mark.parametrize("program", [at_places, where_true, in_two_dimensions, put, numbers_of_another_dtype])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_converted(program: Any, dtype: str) -> None:
    scripted = flambeau.script(program)
    for other in DTYPES:
        if np.dtype(other).kind == "c" and np.dtype(dtype).kind != "c":
            continue  # NumPy warns that it drops imaginary parts
        array, values = np.arange(3).astype(dtype), np.array([3.7, 0.2, 5.0]).astype(other)
        want = program(array.copy(), values)
        for _ in range(2):
            got = scripted(array.copy(), values)
            assert got.dtype == want.dtype
            assert np.array_equal(got, want)


def test_values_that_lie_in_the_array_itself() -> None:
    def shifted(a, b):
        b[np.array([0, 1, 2])] = a[1:4]
        return b

    memory = np.arange(6.0)
    want, got = memory.copy(), memory.copy()
    shifted(want, want)
    flambeau.script(shifted)(got, got)
    assert np.array_equal(got, want)


def of_a_float(out, v):
    for i in range(1, out.shape[0]):
        out[i] = v - 0.0
    return out


WHOLE_LIMITS = (2.0**7, 2.0**8, 2.0**15, 2.0**16, 2.0**31, 2.0**32, 2.0**63, 2.0**64)
FLOATS = (
    0.0, -0.0, 0.5, -0.5, 3.7, -3.7, math.nan, math.inf, -math.inf,
    *(sign * limit - away for limit in WHOLE_LIMITS for sign in (1, -1) for away in (0.0, 0.5, 1.0)),
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_a_float_lies_without_its_fraction_or_is_refused(dtype: str) -> None:
    scripted = flambeau.script(of_a_float)
    for value in FLOATS:
        got, wanted = np.zeros(2, dtype), np.zeros(2, dtype)
        try:
            of_a_float(wanted, value)
        except (OverflowError, ValueError):
            with pytest.raises((OverflowError, ValueError, RuntimeError)):
                scripted(got, value)
        else:
            scripted(got, value)
        assert np.array_equal(got, wanted), value
    assert "native from end to end" in str(scripted.explain())
