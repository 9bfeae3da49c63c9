"""Functions of `np.polynomial.polynomial`, whose coefficients begin with the one of power 0, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np


def without_last_zeros(c: Any) -> Any:
    """The coefficients up to the last one that is not 0, at least one of them."""
    count = len(c)
    while count > 1 and c[count - 1] == 0:
        count -= 1
    return c[:count]


def coefficients(c: Any) -> Any:
    """Coefficients as floats, or complex numbers. Raises ValueError where there are none."""
    numbers = np.asarray(c) * 1.0
    if len(numbers) == 0:
        raise ValueError("Coefficient array is empty")
    return without_last_zeros(numbers)


def polyval(x: Any, c: Any) -> Any:
    """The value of a polynomial at each number."""
    numbers = np.asarray(c) * 1.0
    n = len(numbers) - 1
    result = x * 0 + numbers[n]
    for k in range(n - 1, -1, -1):
        result = numbers[k] + result * x
    return result


def polyadd(c1: Any, c2: Any) -> Any:
    """The sum of two polynomials."""
    x, y = coefficients(c1), coefficients(c2)
    if len(x) >= len(y):
        return without_last_zeros(np.concatenate((x[: len(y)] + y, x[len(y) :])))
    return without_last_zeros(np.concatenate((x + y[: len(x)], y[len(x) :])))


def polysub(c1: Any, c2: Any) -> Any:
    """The difference of two polynomials."""
    return polyadd(c1, -coefficients(c2))


def polymul(c1: Any, c2: Any) -> Any:
    """The product of two polynomials."""
    return without_last_zeros(np.convolve(coefficients(c1), coefficients(c2)))


def polydiv(c1: Any, c2: Any) -> Any:
    """What comes of dividing one polynomial by another, and the rest. Raises ZeroDivisionError for one that is 0."""
    x, y = coefficients(c1), coefficients(c2)
    n, m = len(x), len(y)
    last = y[m - 1]
    if last == 0:
        raise ZeroDivisionError("division by zero polynomial")
    if n < m:
        return x[:1] * 0 + y[:1] * 0, x + y[:1] * 0
    rest, scaled = x + y[:1] * 0, y[: m - 1] / last
    for k in range(n - m, -1, -1):
        rest[k : k + m - 1] -= scaled * rest[k + m - 1]
    return rest[m - 1 :] / last, without_last_zeros(rest[: max(m - 1, 1)] * (0 if m == 1 else 1))


def polyder(c: Any, m: int = 1) -> Any:
    """The derivative of a polynomial, taken `m` times. Raises ValueError for a number below 0."""
    if m < 0:
        raise ValueError("The order of derivation must be non-negative")
    y = np.asarray(c) * 1.0
    for _ in range(m):
        y = y[:1] * 0 if len(y) == 1 else y[1:] * np.arange(1, len(y)).astype(y.dtype)
    return y


def polyint(c: Any, m: int = 1) -> Any:
    """The polynomial of which this one is the derivative, which is 0 at 0, taken `m` times. Raises ValueError for a
    number below 0.
    """
    if m < 0:
        raise ValueError("The order of integration must be non-negative")
    y = np.asarray(c) * 1.0
    for _ in range(m):
        if len(y) != 1 or y[0] != 0:
            y = np.concatenate((y[:1] * 0, y / np.arange(1, len(y) + 1).astype(y.dtype)))
    return y
