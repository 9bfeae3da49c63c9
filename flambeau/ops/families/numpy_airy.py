"""The Airy function of arrays: a power series near zero, and an integral by Gauss's rule further out.

With z = (2/3) x ** 1.5 and x > 0, Ai(x) is exp(-z) times the integral over t > 0 of exp(-t) t ** (-1/6) (2 + t/z) **
(-1/6), divided by sqrt(pi) 48 ** (1/6) gamma(5/6) z ** (1/6). The same holds off the axis, and Ai(-x) is twice the real
part of exp(i pi/3) Ai(x exp(i pi/3)).
"""

from __future__ import annotations

from functools import cache
from math import gamma, pi, sqrt
from typing import Final

from flambeau.ops.families.numpy_special import Array, in_double
from flambeau.tensor.array_library import np
from flambeau.util import blas

_ROOT: Final = -1 / 6
_FACTOR: Final = sqrt(pi) * 48 ** (1 / 6) * gamma(5 / 6)
_NEAR: Final = 2.5
"""Where the series ends."""
_TERMS: Final = 40
_NODES: Final = 60


@cache
def _rule() -> tuple[list[float], list[float]]:
    """Nodes and weights of Gauss's rule for exp(-t) t ** (-1/6), by the eigenvectors of its recurrence."""
    k = np.arange(_NODES, dtype=np.float64)
    beside = np.sqrt(k[1:] * (k[1:] + _ROOT))
    nodes, vectors = blas.linalg.eigh(np.diag(2 * k + 1 + _ROOT) + np.diag(beside, 1) + np.diag(beside, -1))
    return nodes.tolist(), (gamma(1 + _ROOT) * vectors[0] ** 2).tolist()


def _series(x: Array) -> Array:
    """Ai near zero: two series in x ** 3."""
    first = second = 1.0
    cube, f, g = x**3, np.ones_like(x), x.copy()
    for k in range(1, _TERMS):
        first = first / ((3 * k - 1) * (3 * k))
        second = second / ((3 * k) * (3 * k + 1))
        power = cube**k
        f += first * power
        g += second * power * x
    return f / (3 ** (2 / 3) * gamma(2 / 3)) - g / (3 ** (1 / 3) * gamma(1 / 3))


def _integral(z: Array) -> Array:
    """exp(z) Ai, as a function of z = (2/3) x ** 1.5, real or imaginary."""
    nodes, weights = _rule()
    inner = np.zeros_like(z)
    for node, weight in zip(nodes, weights, strict=True):
        inner = inner + weight * (2 + node / z) ** _ROOT
    return inner * z**_ROOT / _FACTOR


@in_double
def airy_ai(x: Array) -> Array:
    """The Airy function Ai; nan where x is infinite.

    >>> [f"{y:.8f}" for y in airy_ai(np.array([0.0, 1.0, -2.0]))]
    ['0.35502805', '0.13529242', '0.22740743']
    """
    near = np.clip(x, -_NEAR, _NEAR)
    z = 2 / 3 * np.maximum(np.abs(x), _NEAR) ** 1.5
    above = np.exp(-z) * _integral(z)
    turned = np.exp(1j * (pi / 3 - z)) * _integral(1j * z)
    far = np.where(x > 0, above, 2 * turned.real)
    return np.where(np.isinf(x), np.nan, np.where(np.abs(x) < _NEAR, _series(near), far))
