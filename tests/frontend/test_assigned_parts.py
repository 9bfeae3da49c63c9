"""`x.real = y` and `x.imag += y` change the memory of `x`: of arrays and tensors, compiled and eager."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import CompileError

Z = np.array([1 + 2j, 3 - 4j, -0.5j])


def swapped(x: np.ndarray):
    y = np.zeros_like(x)
    y.real = x.imag
    y.imag = x.real
    y.imag += 2
    y.real *= x.real
    return y


def itself(x: np.ndarray):
    x.real = x.imag[::-1]
    x.imag = 3
    return x


def of_reals(x: np.ndarray):
    x.real = 2.5
    x.real += 1
    return x


def of_tensors(x: Tensor, y: Tensor) -> Tensor:
    z = x.clone()
    z.real = y
    z.imag *= 2
    z[1:].imag = z.real[1:]
    return z


@pytest.mark.parametrize(("program", "array"), [(swapped, Z), (itself, Z), (of_reals, Z.real.copy())])
def test_arrays(program: Any, array: np.ndarray[Any, Any]) -> None:
    fn = flambeau.script(program)
    for _ in range(4):
        ours, theirs = array.copy(), array.copy()
        np.testing.assert_array_equal(fn(ours), program(theirs))
        np.testing.assert_array_equal(ours, theirs)
    assert "native from end to end" in str(fn.explain())


def test_tensors() -> None:
    x, y = flambeau.from_numpy(Z), flambeau.tensor([5.0, 6.0, 7.0])
    fn = flambeau.script(of_tensors)
    for _ in range(4):
        assert fn(x, y).tolist() == of_tensors(x, y).tolist() == [5 + 4j, 6 + 6j, 7 + 7j]


def test_imaginary_parts_of_real_numbers() -> None:
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"):
        flambeau.ones(2).imag = 1.0

    def program(x: np.ndarray):
        x.imag = 1.0
        return x

    with pytest.raises(CompileError, match="the imaginary part of an array of float64 cannot be assigned"):
        flambeau.script(program)(np.ones(2))
