"""Functions of NumPy that take arrays and numbers, of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def clip(a: Any, a_min: Any, a_max: Any) -> Any:
    """The number, or the bound that it is beyond; the upper one where the two cross."""
    return np.minimum(np.maximum(a, a_min), a_max)


def rounded(a: Any, decimals: int = 0) -> Any:
    """The nearest number with so many decimals: scaled, rounded half to even, and scaled back."""
    if decimals == 0:
        return np.rint(a)
    if decimals > 0:
        return np.rint(a * 10.0**decimals) / 10.0**decimals
    return np.rint(a / 10.0**-decimals) * 10.0**-decimals


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two numbers are equal, or finite and apart by no more than the tolerances say."""
    return bool(a == b) or (bool(np.isfinite(b)) and bool(np.abs(a - b) <= atol + rtol * np.abs(b)))


def check_exponents(n: Any) -> None:
    """Raise ValueError for whole exponents below 0, of which whole numbers have no powers."""
    if np.any(n < 0):
        raise ValueError("Integers to negative integer powers are not allowed.")
