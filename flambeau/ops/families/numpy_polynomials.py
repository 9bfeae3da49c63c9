"""Orthogonal polynomials on NumPy arrays, by their recurrences, in double precision.

>>> import numpy
>>> chebyshev_t(numpy.array([0.5, 2.0]), numpy.array([2, 3])).tolist()
[-0.5, 26.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.ops.families.numpy_special import Array
from flambeau.tensor.array_library import np

Step = Callable[[float, Array, Array, Array], Array]
Polynomial = Callable[[Array, Array], Array]
FROM_ANGLES: Final = 8
"""From this degree on Chebyshev's are sines and cosines of multiples of an angle, between -1 and 1."""


def by_recurrence(first: Callable[[Array], Array], step: Step) -> Polynomial:
    """A family of polynomials: 1, `first(x)`, then `step(k, x, p[k], p[k - 1])` is `p[k + 1]`.

    Degrees are rounded towards 0; polynomials of negative degree are 0. What has become nan stays it.
    """

    def polynomial(x: Array, n: Array) -> Array:
        x, n = np.broadcast_arrays(np.asarray(x, np.float64), np.trunc(np.asarray(n, np.float64)))
        with np.errstate(all="ignore"):
            before, value = np.ones(x.shape), np.array(first(x), np.float64)
            result = np.where(n < 0, 0.0, np.where(n == 0, before, value))
            k = 1
            while (open_ := (n > k) & ~np.isnan(value)).any():
                before, value = value, step(k, x, value, before)
                result = np.where(open_, value, result)
                k += 1
        return result

    return polynomial


def _by_angles(slow: Polynomial, quick: Callable[[Array, Array], Array]) -> Polynomial:
    """A family that between -1 and 1 is a quotient of functions of an angle: as exact, and as quick, in any degree."""

    def polynomial(x: Array, n: Array) -> Array:
        x, n = np.broadcast_arrays(np.asarray(x, np.float64), np.trunc(np.asarray(n, np.float64)))
        is_quick = (np.abs(x) < 1) & (n > FROM_ANGLES)
        with np.errstate(all="ignore"):
            angle = np.arccos(np.where(is_quick, x, 0.0))
            return np.where(is_quick, quick(angle, n), slow(x, np.where(is_quick, 0, n)))

    return polynomial


def _chebyshev(first: Callable[[Array], Array]) -> Polynomial:
    return by_recurrence(first, lambda k, x, p, q: 2 * x * p - q)


chebyshev_t = _by_angles(_chebyshev(lambda x: x), lambda a, n: np.cos(n * a))
chebyshev_u = _by_angles(_chebyshev(lambda x: 2 * x), lambda a, n: np.sin((n + 1) * a) / np.sin(a))
chebyshev_v = _by_angles(_chebyshev(lambda x: 2 * x - 1), lambda a, n: np.cos((n + 0.5) * a) / np.cos(a / 2))
chebyshev_w = _by_angles(_chebyshev(lambda x: 2 * x + 1), lambda a, n: np.sin((n + 0.5) * a) / np.sin(a / 2))
hermite_h = by_recurrence(lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q)
hermite_he = by_recurrence(lambda x: x, lambda k, x, p, q: x * p - k * q)
laguerre_l = by_recurrence(lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))
legendre_p = by_recurrence(lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))


def shifted(polynomial: Polynomial) -> Polynomial:
    """The polynomials on 0 to 1 instead of -1 to 1."""
    return lambda x, n: polynomial(2 * np.asarray(x, np.float64) - 1, n)
