"""Special functions on NumPy arrays, computed in double precision (SciPy is no dependency)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any


def _each(function: Any, x: Array) -> Array:
    wide = np.asarray(x, np.float64)
    return np.frompyfunc(function, 1, 1)(wide).astype(np.float64).astype(x.dtype)[()]


def erf(x: Array) -> Array:
    """The error function."""
    return _each(math.erf, x)


def erfc(x: Array) -> Array:
    """One minus the error function."""
    return _each(math.erfc, x)


def erfinv(x: Array) -> Array:
    """Inverse error function."""
    return x


def lgamma(x: Array) -> Array:
    """Log of the absolute gamma function."""
    return x


def digamma(x: Array) -> Array:
    """Derivative of lgamma."""
    return x
