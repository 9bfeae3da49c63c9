"""Programs of users of NumPy, compiled, beside CPython on the same source: results, and what they write."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from tests.frontend import array_programs, numpy_programs

ALL = [*array_programs.PROGRAMS, *numpy_programs.PROGRAMS]


def same(want: Any, got: Any) -> bool:
    """Whether two results are alike: arrays in dtype, shape and numbers, other numbers in their values."""
    if isinstance(want, np.ndarray):
        is_alike = isinstance(got, np.ndarray) and want.dtype == got.dtype and want.shape == got.shape
        tolerance = 1e-5 if want.dtype == np.float32 else 1e-11
        return is_alike and bool(np.allclose(want, got, rtol=tolerance, atol=tolerance, equal_nan=True))
    if isinstance(want, tuple | list):
        return type(want) is type(got) and len(want) == len(got) and all(map(same, want, got))
    if isinstance(want, dict):
        return isinstance(got, dict) and list(want) == list(got) and all(same(want[k], got[k]) for k in want)
    if want is None or isinstance(want, str):
        return bool(want == got)
    return not isinstance(got, flambeau.Tensor) and bool(np.isclose(want, got, rtol=1e-11, equal_nan=True))


@pytest.mark.parametrize(("function", "arguments"), ALL, ids=lambda v: getattr(v, "__name__", "_"))
def test_c07_programs_of_users(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    mine, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's overflows
        want = function(*theirs)
    scripted = flambeau.script(function)
    got = scripted(*mine)
    assert same(want, got), (want, got)
    assert same(list(theirs), list(mine))
    scripted(*mine)
    again = copy.deepcopy(arguments)
    assert same(want, scripted(*again))
