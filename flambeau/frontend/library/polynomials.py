"""NumPy's functions of polynomials, whose coefficients begin with that of the highest power, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    x, y = np.asarray(a1), np.asarray(a2)
    if len(x) >= len(y):
        return np.concatenate((x[: len(x) - len(y)], x[len(x) - len(y) :] + y))
    return np.concatenate((y[: len(y) - len(x)], x + y[len(y) - len(x) :]))


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    return polyadd(a1, -np.asarray(a2))


def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials."""
    return np.convolve(np.asarray(a1), np.asarray(a2))


def poly(seq_of_zeros: Any) -> Any:
    """The polynomial that is 0 at real numbers, or the characteristic one of a real matrix. Raises TypeError for
    complex numbers, of which only their values tell whether it is real.
    """
    if np.iscomplexobj(seq_of_zeros):
        raise TypeError("np.poly of complex numbers gives a real polynomial or a complex one: pass real numbers here")
    if seq_of_zeros.ndim == 2:
        return with_zeros(np.linalg.eigvals(seq_of_zeros * 1.0) * (1 + 0j)).real.copy()
    else:
        return with_zeros(seq_of_zeros * 1.0)


def with_zeros(zeros: Any) -> Any:
    """The polynomial that is 0 at these numbers, whose first coefficient is 1."""
    result = np.zeros(len(zeros) + 1, dtype=zeros.dtype)
    result[0] = 1
    for k in range(len(zeros)):
        for j in range(k + 1, 0, -1):
            result[j] -= zeros[k] * result[j - 1]
    return result


def polydiv(u: Any, v: Any) -> Any:
    """What comes of dividing one polynomial by another, and the rest."""
    dividend, divisor = np.asarray(u) * 1.0, np.asarray(v) * 1.0
    m, n = len(dividend) - 1, len(divisor) - 1
    rest = dividend + divisor[:1] * 0
    quotient = np.zeros(max(m - n + 1, 1), dtype=rest.dtype)
    scale = 1.0 / divisor[0]
    for k in range(m - n + 1):
        quotient[k] = scale * rest[k]
        rest[k : k + n + 1] -= quotient[k] * divisor
    first = 0
    while first < len(rest) - 1 and abs(rest[first]) <= 1e-8:
        first += 1
    return quotient, rest[first:]


def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial, taken `m` times. Raises ValueError for a number below 0."""
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    y = np.asarray(p) * np.ones(1, dtype=np.int64)
    for _ in range(m):
        n = len(y) - 1
        y = y[:n] * np.arange(n, 0, -1)
    return y


def polyint(p: Any, m: int = 1) -> Any:
    """The polynomial of which this one is the derivative, which is 0 at 0, taken `m` times. Raises ValueError for a
    number below 0.
    """
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    y = np.asarray(p) * np.ones(1)
    for _ in range(m):
        y = np.concatenate((y / np.arange(len(y), 0, -1), np.zeros(1)))
    return y


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803
    """The powers of numbers, a number a row: from the highest down, or with `increasing` from 0 up."""
    columns = len(x) if N is None else N
    numbers = x * np.ones(1, dtype=np.int64)
    v = np.ones((len(x), columns), dtype=numbers.dtype)
    for k in range(1, columns):
        if increasing:
            v[:, k] = v[:, k - 1] * numbers
        else:
            v[:, columns - 1 - k] = v[:, columns - k] * numbers
    return v


def polyfit(x: Any, y: Any, deg: int) -> Any:
    """The polynomial of a degree with the least squares of distances from points. Raises TypeError for points of which
    there is no polynomial.
    """
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if len(x) == 0:
        raise TypeError("expected non-empty vector for x")
    if len(x) != len(y):
        raise TypeError("expected x and y to have same length")
    v = vander(x * 1.0, deg + 1)
    scale = np.sqrt((v * v).sum(axis=0))
    c = np.linalg.pinv(v / scale, rcond=len(x) * 2.220446049250313e-16) @ (y * 1.0)
    return c / (scale if y.ndim == 1 else scale.reshape(-1, 1))


def roots(p: Any) -> Any:
    """The numbers at which a polynomial is 0: real ones if all are."""
    first, last = 0, len(p)
    while first < last and p[first] == 0:
        first += 1
    while last > first and p[last - 1] == 0:
        last -= 1
    count = len(p) - last if last > first else 0
    zeros = np.linalg.eigvals(np.zeros((count, count), dtype=p.dtype))
    n = last - first - 1
    if n < 1:
        return zeros
    c = p[first:last] * 1.0
    companion = np.diag(np.ones(n - 1, dtype=c.dtype), -1)
    companion[0, :] = -c[1:] / c[0]
    return np.concatenate((np.linalg.eigvals(companion), zeros))
