"""Functions around gamma and the normal distribution on NumPy arrays, in double precision (SciPy is no dependency)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Final

from flambeau.ops.families.numpy_special import Array, digamma, erfc, erfcx_positive, in_double, lgamma
from flambeau.tensor.array_library import np

_BERNOULLI: Final = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
)  # fmt: skip
"""B(2k) / (2k)!: what Euler and Maclaurin add to an integral for the sum."""
_TRIGAMMA: Final = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""Bernoulli's numbers B(2k): the series of trigamma in odd powers of 1 / x."""
_SHIFTS: Final = 10
"""From where on that series is good to the last places, and the most steps there."""
_ROOT: Final = math.sqrt(2)
_STEPS: Final = 10_000
"""The most steps of a recurrence that is followed to where its series is good."""
_LAST_PLACES: Final = 2 * float(np.finfo(np.float64).eps)
"""How far from 1 a factor may stay by rounding alone."""


def two_in_double(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """`function` in double precision, rounded to the dtype of the arguments, which broadcast."""

    @wraps(function)
    def rounded(x: Array, y: Array) -> Array:
        a, b = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        with np.errstate(all="ignore"):
            return function(a, b).astype(x.dtype)

    return rounded


# -- the normal distribution ------------------------------------------------------------------------------------------


def _erfcx(x: Array) -> Array:
    positive = erfcx_positive(np.where(np.isfinite(x), np.abs(x), 0))
    mirrored = 2 * np.exp(x * x) - positive
    result = np.where(x < 0, np.where(x < -26.7, np.inf, mirrored), positive)
    return np.where(np.isnan(x), x, np.where(x == np.inf, 0, result))


@in_double
def erfcx(x: Array) -> Array:
    """exp(x**2) erfc(x)."""
    return _erfcx(x)


def _log_ndtr(x: Array) -> Array:
    tail = np.log(_erfcx(-np.minimum(x, -1) / _ROOT) / 2) - np.minimum(x, -1) ** 2 / 2
    rest = np.log1p(-erfc(np.maximum(x, -1) / _ROOT) / 2)
    return np.where(x < -1, np.where(x == -np.inf, -np.inf, tail), rest)


@in_double
def log_ndtr(x: Array) -> Array:
    """The logarithm of the normal distribution function."""
    return np.where(np.isnan(x), x, _log_ndtr(x))


@in_double
def ndtri(p: Array) -> Array:
    """The x whose normal distribution function is p: Newton's method on the logarithm."""
    is_lower = p <= 0.5
    tail = np.where(is_lower, p, 1 - p)
    inside = (tail > 0) & (tail <= 0.5)
    wanted = np.log(np.where(inside, tail, 0.5))
    steep = np.sqrt(-2 * wanted)
    x = np.where(wanted < -3, -(steep - np.log(steep * math.sqrt(2 * math.pi)) / steep), -steep + 1.1774)
    for _ in range(8):
        reached = _log_ndtr(x)
        slope = np.exp(-x * x / 2 - reached) / math.sqrt(2 * math.pi)
        x = x - (reached - wanted) / slope
    result = np.where(tail == 0.5, 0.0, np.where(inside, np.where(is_lower, x, -x), np.nan))
    return np.where(p == 0, -np.inf, np.where(p == 1, np.inf, result))


# -- zeta and polygamma -----------------------------------------------------------------------------------------------


def _zeta(x: Array, q: Array) -> Array:
    """The sum of (q + k) ** -x over k from 0: some terms, then an integral and its corrections."""
    is_defined = (x > 1) & ((q > 0) | (np.floor(q) != q) & (np.floor(x) == x))
    x, at = np.where(is_defined, x, 2.0), np.where(is_defined, q, 1.0)
    total, power = np.zeros_like(x), at**-x
    enough, has_vanished = np.maximum(12.0, x), np.zeros(x.shape, np.bool_)
    for _ in range(_STEPS):
        goes_on = (at < enough) & ~has_vanished
        if not goes_on.any():
            break
        total = np.where(goes_on, total + power, total)
        at = np.where(goes_on, at + 1, at)
        power = np.where(goes_on, at**-x, power)
        has_vanished = (at > 0) & (power * at < np.abs(total) * 1e-18)
    result = total + power * at / (x - 1) + power / 2
    factor, term = x.copy(), np.where(has_vanished, 0, power / at)
    for k, number in enumerate(_BERNOULLI):
        result = result + number * factor * term
        factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2)
        term = term / (at * at)
    result = np.where((at < enough) & ~has_vanished, np.nan, result)
    return np.where(np.isinf(at), 0.0, result)


@two_in_double
def zeta(x: Array, q: Array) -> Array:
    """Hurwitz's zeta function; inf at its poles, nan where it has no real value here (x < 1)."""
    result = _zeta(x, q)
    result = np.where((q <= 0) & (np.floor(q) != q) & (np.floor(x) != x), np.nan, result)
    result = np.where((q <= 0) & (np.floor(q) == q), np.inf, result)
    result = np.where(x == 1, np.inf, np.where(x < 1, np.nan, result))
    return np.where(np.isnan(x) | np.isnan(q), np.nan, result)


@in_double
def trigamma(x: Array) -> Array:
    """The derivative of digamma; inf at zero and the negative integers."""
    at, total = np.where(x < 0, 1 - x, x), np.zeros_like(x)
    for _ in range(_SHIFTS):
        is_small = (at < _SHIFTS).astype(np.float64)
        if not is_small.any():
            break
        total = total + is_small / (at * at)
        at = at + is_small
    inverse = 1 / at
    square = inverse * inverse
    value = total + inverse + square / 2 + inverse * square * np.polynomial.polynomial.polyval(square, _TRIGAMMA)
    sine = np.sin(math.pi * (x - np.round(x)))
    value = np.where(x < 0, (math.pi / sine) ** 2 - value, value)
    return np.where((x < 0) & (np.floor(x) == x), np.where(np.isinf(x), np.nan, np.inf), value)


def polygamma(n: int, x: Array) -> Array:
    """The n-th derivative of digamma; inf (with a sign) at zero and the negative integers."""
    if n < 2:
        return trigamma(x) if n else digamma(x)

    @in_double
    def derivative(x: Array) -> Array:
        is_pole = (x <= 0) & (np.floor(x) == x)
        size = np.where(is_pole, np.inf, _zeta(np.full(x.shape, n + 1.0), x)) * float(math.gamma(min(n, 170) + 1))
        return np.where(np.isnan(x) | (x == -np.inf), np.nan, size if n % 2 else -size)

    return derivative(x)


# -- incomplete gamma functions ---------------------------------------------------------------------------------------


def _prefactor(a: Array, x: Array) -> Array:
    """x**a exp(-x) / gamma(a + 1), without the cancellation of its logarithms where a is large."""
    ratio = (x - a) / a
    large = np.exp(-a * (ratio - np.log1p(ratio)) - _stirling(a)) / np.sqrt(2 * math.pi * a)
    small = np.exp(a * np.log(x) - x - lgamma(a + 1))
    return np.where(a >= 10, large, small)


def _stirling(a: Array) -> Array:
    """lgamma(a + 1) less its leading terms, for a >= 10."""
    inverse = 1 / np.maximum(a, 10)
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))


def _lower_series(a: Array, x: Array) -> Array:
    """The lower function for x < a + 1: x**a exp(-x) / gamma(a + 1) times 1 + x / (a + 1) + ..."""
    term, total, at = np.ones_like(x), np.ones_like(x), a.copy()
    for _ in range(_STEPS):
        at = at + 1
        term = term * x / at
        total = total + term
        if not (term > total * 1e-17).any():
            break
    return total * _prefactor(a, x)


def _upper_fraction(a: Array, x: Array) -> Array:
    """The upper function for x >= a + 1, by Lentz's evaluation of its continued fraction."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = np.full_like(x, 1 / tiny), 1 / np.where(b == 0, tiny, b)
    h, goes_on = d.copy(), np.ones(x.shape, np.bool_)
    for i in range(1, _STEPS):
        step = i * (a - i)
        b = b + 2
        d = step * d + b
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + step / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        change = d * c
        h = np.where(goes_on, h * change, h)
        goes_on = goes_on & (np.abs(change - 1) > _LAST_PLACES)
        if not goes_on.any():
            break
    return h * a * _prefactor(a, x)


def _incomplete(a: Array, x: Array, is_upper: bool) -> Array:
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    lies_low = x < a + 1
    safe_a, safe_x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    by_series = inside & lies_low
    lower = _lower_series(np.where(by_series, safe_a, 1.0), np.where(by_series, safe_x, 1.0))
    by_fraction = inside & ~lies_low
    upper = _upper_fraction(np.where(by_fraction, safe_a, 1.0), np.where(by_fraction, safe_x, 3.0))
    result = np.where(lies_low, 1 - lower if is_upper else lower, upper if is_upper else 1 - upper)
    low, high = (1.0, 0.0) if is_upper else (0.0, 1.0)
    result = np.where(np.isinf(x) | (a == 0), high, np.where((x == 0) | np.isinf(a), low, result))
    has_none = (a < 0) | (x < 0) | np.isnan(a) | np.isnan(x) | ((a == 0) & (x == 0)) | (np.isinf(a) & np.isinf(x))
    return np.where(has_none, np.nan, result)


@two_in_double
def gammainc(a: Array, x: Array) -> Array:
    """The lower incomplete gamma function, as a part of the whole."""
    return _incomplete(a, x, False)


@two_in_double
def gammaincc(a: Array, x: Array) -> Array:
    """The upper incomplete gamma function, as a part of the whole."""
    return _incomplete(a, x, True)


def multigammaln(a: Array, p: int) -> Array:
    """The logarithm of the gamma function of p variables."""

    @in_double
    def logarithm(a: Array) -> Array:
        constant = p * (p - 1) / 4 * math.log(math.pi)
        return constant + sum((lgamma(a - j / 2) for j in range(p)), np.zeros_like(a))

    return logarithm(a)
