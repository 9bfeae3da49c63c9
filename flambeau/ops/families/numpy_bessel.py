"""Bessel functions of orders 0 and 1 on NumPy arrays, in double precision (SciPy is no dependency).

Near zero each is a power series economised over the whole piece; far out it is its asymptotic form, whose factors are.
"""

from __future__ import annotations

import math

from flambeau.ops.families import bessel_tables as tables
from flambeau.ops.families.numpy_special import Array, chebyshev, in_double
from flambeau.tensor.array_library import np


def _scaled_first_kind(x: Array, near: tuple[float, ...], far: tuple[float, ...]) -> tuple[Array, Array]:
    """Both pieces, for x >= 0: exp(-x) I(x), that of order 1 divided by x where x is small."""
    inner, outer = np.minimum(x, 8), np.maximum(x, 8)
    return chebyshev(near, inner / 4 - 1), chebyshev(far, 16 / outer - 1) / np.sqrt(outer)


def _i0e(x: Array) -> Array:
    size = np.abs(x)
    small, large = _scaled_first_kind(size, tables.I0_NEAR, tables.I0_FAR)
    return np.where(size <= 8, small, large)


def _i1e(x: Array) -> Array:
    size = np.abs(x)
    small, large = _scaled_first_kind(size, tables.I1_NEAR, tables.I1_FAR)
    return np.where(size <= 8, x * small, np.copysign(large, x))


def _unscaled(scaled: Array, x: Array) -> Array:
    """The product with exp(|x|), in two steps that do not overflow before the product does."""
    half = np.exp(np.abs(x) / 2)
    return np.where(np.isinf(x), np.copysign(np.inf, scaled), scaled * half * half)


@in_double
def i0e(x: Array) -> Array:
    """exp(-|x|) I0(x)."""
    return _i0e(x)


@in_double
def i1e(x: Array) -> Array:
    """exp(-|x|) I1(x)."""
    return _i1e(x)


@in_double
def i0(x: Array) -> Array:
    """The modified Bessel function of the first kind of order 0."""
    return _unscaled(_i0e(x), x)


@in_double
def i1(x: Array) -> Array:
    """The modified Bessel function of the first kind, of order 1."""
    return np.where(np.isinf(x), x, _unscaled(_i1e(x), x))


def _scaled_second_kind(x: Array, order: int) -> Array:
    """exp(x) K(x); inf at zero and nan below."""
    inner, outer = np.clip(x, 5e-324, 2), np.maximum(x, 2)
    if order == 0:
        near = chebyshev(tables.K0_NEAR, inner * inner / 2 - 1) - np.log(inner / 2) * _i0e(inner) * np.exp(inner)
        far = chebyshev(tables.K0_FAR, 4 / outer - 1)
    else:
        series = chebyshev(tables.K1_NEAR, inner * inner / 2 - 1) / inner
        near = series + np.log(inner / 2) * _i1e(inner) * np.exp(inner)
        far = chebyshev(tables.K1_FAR, 4 / outer - 1)
    result = np.where(x <= 2, near * np.exp(inner), far / np.sqrt(outer))
    return np.where(x == 0, np.inf, np.where(x < 0, np.nan, result))


@in_double
def k0e(x: Array) -> Array:
    """exp(x) K0(x)."""
    return _scaled_second_kind(x, 0)


@in_double
def k1e(x: Array) -> Array:
    """exp(x) K1(x)."""
    return _scaled_second_kind(x, 1)


@in_double
def k0(x: Array) -> Array:
    """The modified Bessel function of the second kind of order 0; inf at zero and nan below."""
    return _scaled_second_kind(x, 0) * np.exp(-np.maximum(x, 0))


@in_double
def k1(x: Array) -> Array:
    """The modified Bessel function of the second kind, of order 1."""
    return _scaled_second_kind(x, 1) * np.exp(-np.maximum(x, 0))


_P = (tables.P0, tables.P1)
_Q = (tables.Q0, tables.Q1)


def _waves(x: Array, order: int) -> tuple[Array, Array]:
    """J and Y for x >= 8, by their parts in phase and out of phase."""
    at = np.where(np.isfinite(x), np.maximum(x, 8), 8)
    t = 128 / (at * at) - 1
    in_phase, out_of_phase = chebyshev(_P[order], t), chebyshev(_Q[order], t) / at
    sine, cosine = np.sin(at), np.cos(at)
    # the cosine and sine of x - pi / 4, or of x - 3 pi / 4
    c = cosine + sine if order == 0 else sine - cosine
    s = sine - cosine if order == 0 else -sine - cosine
    scale = np.sqrt(1 / (math.pi * at))
    first, second = scale * (in_phase * c - out_of_phase * s), scale * (in_phase * s + out_of_phase * c)
    is_far = np.isinf(x)
    return np.where(is_far, 0, first), np.where(is_far, 0, second)


def _j0(x: Array) -> Array:
    size = np.abs(x)
    inner = np.minimum(size, 8)
    result = np.where(size <= 8, chebyshev(tables.J0_NEAR, inner * inner / 32 - 1), _waves(size, 0)[0])
    return np.where(np.isnan(x), x, np.where(size < 1e-5, 1 - size * size / 4, result))


def _j1(x: Array) -> Array:
    size = np.abs(x)
    inner = np.minimum(size, 8)
    near = inner * chebyshev(tables.J1_NEAR, inner * inner / 32 - 1)
    result = np.where(size <= 8, near, _waves(size, 1)[0])
    return np.where(np.isnan(x), x, np.where(np.signbit(x), -result, result))


@in_double
def j0(x: Array) -> Array:
    """The Bessel function of the first kind of order 0."""
    return _j0(x)


@in_double
def j1(x: Array) -> Array:
    """The Bessel function of the first kind, of order 1."""
    return _j1(x)


def _second_kind(x: Array, order: int) -> Array:
    """Y; -inf at zero and nan below."""
    inner = np.clip(x, 5e-324, 8)
    t = inner * inner / 32 - 1
    if order == 0:
        near = chebyshev(tables.Y0_NEAR, t) + 2 / math.pi * np.log(inner) * _j0(inner)
    else:
        near = inner * chebyshev(tables.Y1_NEAR, t) + 2 / math.pi * (np.log(inner) * _j1(inner) - 1 / inner)
    result = np.where(x <= 8, near, _waves(x, order)[1])
    return np.where(x == 0, -np.inf, np.where(x < 0, np.nan, np.where(np.isnan(x), x, result)))


@in_double
def y0(x: Array) -> Array:
    """The Bessel function of the second kind of order 0; -inf at zero and nan below."""
    return _second_kind(x, 0)


@in_double
def y1(x: Array) -> Array:
    """The Bessel function of the second kind, of order 1."""
    return _second_kind(x, 1)


@in_double
def spherical_j0(x: Array) -> Array:
    """sin(x) / x, and 1 at zero."""
    size = np.where(np.isinf(x), 1, np.where(x == 0, 1, x))
    return np.where(np.isinf(x), 0, np.where(x == 0, 1, np.sin(size) / size))
