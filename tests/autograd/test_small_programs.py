"""Small programs about gradients give what they give in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from tests.autograd.small_programs import PROGRAMS, Program


def numbers(value: Any) -> Any:
    """A result as arrays and Python values."""
    if isinstance(value, list | tuple):
        return [numbers(one) for one in value]
    return value.detach().numpy() if hasattr(value, "detach") else value


def same(own: Any, other: Any) -> None:
    """Raise AssertionError unless two results are alike."""
    if isinstance(own, list):
        assert len(own) == len(other)
        for a, b in zip(own, other, strict=True):
            same(a, b)
    elif isinstance(own, np.ndarray):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6)
    else:
        assert own == other


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_in_pytorch(program: Program) -> None:
    torch = pytest.importorskip("torch")
    same(numbers(program(flambeau)), numbers(program(torch)))
