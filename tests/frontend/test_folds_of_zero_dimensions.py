"""Folds of arrays without dimensions along axis 0 or -1, which NumPy takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau


def any_of(x):  # type: ignore[no-untyped-def]
    return x.any(axis=0)


def all_of(x):  # type: ignore[no-untyped-def]
    return x.all(axis=-1)


def product_of(x):  # type: ignore[no-untyped-def]
    return x.prod(axis=0, keepdims=True)


def beyond(x):  # type: ignore[no-untyped-def]
    return x.any(axis=1)


@pytest.mark.parametrize("value", [2.5, 0.0, 3, True])
@pytest.mark.parametrize("function", [any_of, all_of, product_of])
def test_as_numpy(function: Callable[[np.ndarray], np.ndarray], value: float) -> None:
    x = np.array(value)
    scripted = flambeau.script(function)
    for is_optimised in (True, True, False):
        with flambeau.jit.optimized_execution(is_optimised):
            assert scripted(x) == function(x)


def test_an_axis_that_there_is_not() -> None:
    with pytest.raises(np.exceptions.AxisError, match="axis 1 is out of bounds"):
        flambeau.script(beyond)(np.array(2.5))
