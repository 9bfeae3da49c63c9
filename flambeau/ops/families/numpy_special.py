"""Special functions on NumPy arrays (SciPy is no dependency).

Everything is computed in double precision and rounded to the dtype of the argument. The Chebyshev coefficients were
computed for this module in 50-digit arithmetic; each table says what it expands, and drops at the rounding error of a
double.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final

from flambeau.tensor.array_library import is_host_array, np

Array = Any
MOST_ONE_BY_ONE: Final = 256
"""Elements up to which a function of Python's takes less than the loops of an expansion."""

_ERF: Final = (
    0.9754769393826541, -0.14226120510371365, 0.010035582187599796, -0.0005768764699767485, 2.741993125219606e-05,
    -1.1043175507344507e-06, 3.8488755420345036e-08, -1.1808582533875466e-09, 3.2334215826050907e-11,
    -7.991015947004549e-13, 1.7990725113961456e-14, -3.718635487818693e-16, 7.103599003714253e-18,
)  # fmt: skip
"""erf(x) / x in 2 x**2 - 1, for |x| <= 1."""
_ERFCX: Final = (
    1.1775789345674017, -0.004590054580646478, -0.08424913336651792, 0.05920993999819189, -0.026658668435305753,
    0.009074997670705265, -0.002413163540417608, 0.0004907758365258086, -6.916973302501207e-05, 4.13902798607301e-06,
    7.74038306619849e-07, -2.1886401049234397e-07, 1.076499946567091e-08, 4.521959811218287e-09,
    -7.754400208831351e-10, -6.318088340886684e-11, 2.86879501093067e-11, 1.9455868545777347e-13,
    -9.65469674843344e-13, 3.25254814814874e-14, 3.3478119482868056e-14, -1.864562880419313e-15,
    -1.2507950530688648e-15, 7.418235256624044e-17, 5.068148904796111e-17, -2.2370566594359995e-18,
)  # fmt: skip
"""(1 + 2 x) exp(x**2) erfc(x) in (x - 3.75) / (x + 3.75), for x >= 0."""
_LGAMMA: Final = (
    0.44148902545501423, -0.11119580321752523, 0.01951044826068884, -0.003922461463025264, 0.0008478989895953857,
    -0.00019153855341365593, 4.454470184975607e-05, -1.05728743735943e-05, 2.5474336873408417e-06,
    -6.208535880776316e-07, 1.5268677399071546e-07, -3.782637660291326e-08, 9.428100823624284e-09,
    -2.361999702184645e-09, 5.943541905817546e-10, -1.501312977072867e-10, 3.8050196458110534e-11,
    -9.672485299656325e-12, 2.465348198355661e-12, -6.298868140791711e-13, 1.6128460030283787e-13,
    -4.137949206814042e-14, 1.0635701227757898e-14, -2.7382420786652826e-15, 7.060670507214892e-16,
    -1.8232177141662118e-16, 4.714169006756272e-17, -1.2204107319639856e-17,
)  # fmt: skip
"""lgamma(x) / ((x - 1) (x - 2)) in x - 2, for 1 <= x <= 3."""
_STIRLING: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
"""B(2k) / (2k (2k - 1)): the series of lgamma in odd powers of 1 / x."""
_DIGAMMA: Final = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
"""B(2k) / 2k: the series of digamma in even powers of 1 / x."""


def chebyshev(coefficients: Sequence[float], t: Array) -> Array:
    """The expansion at `t` in [-1, 1], by Clenshaw's recurrence."""
    twice = 2 * t
    later = previous = np.zeros_like(t)
    for coefficient in reversed(coefficients[1:]):
        later, previous = twice * later - previous + coefficient, later
    return t * later - previous + coefficients[0]


def in_double(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """`function` in double precision, rounded to the dtype of its argument."""

    @wraps(function)
    def rounded(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return function(np.asarray(x, np.float64)).astype(x.dtype)

    return rounded


def of_few(one: Callable[[float], float]) -> Callable[[Callable[[Array], Array]], Callable[[Array], Array]]:
    """A function over arrays that takes few elements of less than double precision one by one, by a function of the C
    library: rounded, both give the same, and tens of loops over few elements take longer."""

    def decorate(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
        @wraps(function)
        def of_any(x: Array) -> Array:
            if x.dtype != np.float32 or x.size > MOST_ONE_BY_ONE or not is_host_array(x):
                return function(x)
            return np.array([one(value) for value in x.reshape(-1).tolist()], np.float32).reshape(x.shape)

        return of_any

    return decorate


def _erf_small(x: Array) -> Array:
    x = np.clip(x, -1, 1)
    return x * chebyshev(_ERF, 2 * x * x - 1)


def erfcx_positive(x: Array) -> Array:
    """exp(x**2) erfc(x) for finite x >= 0."""
    return chebyshev(_ERFCX, (x - 3.75) / (x + 3.75)) / (1 + 2 * x)


def _erfc_positive(x: Array) -> Array:
    bounded = np.minimum(x, 30.0)
    scaled = erfcx_positive(bounded)
    high = bounded.astype(np.float32).astype(np.float64)
    return scaled * np.exp(-high * high) * np.exp(-(bounded - high) * (bounded + high))


@of_few(math.erf)
@in_double
def erf(x: Array) -> Array:
    """The error function."""
    size = np.abs(x)
    return np.where(size < 1, _erf_small(x), np.copysign(1 - _erfc_positive(size), x))


@of_few(math.erfc)
@in_double
def erfc(x: Array) -> Array:
    """1 - erf(x)."""
    tail = _erfc_positive(np.abs(x))
    return np.where(np.abs(x) < 0.5, 1 - _erf_small(x), np.where(x < 0, 2 - tail, tail))


@in_double
def erfinv(x: Array) -> Array:
    """The number whose erf is x: a closed approximation, then three of Halley's steps."""
    size = np.abs(x)
    inner = np.where(size < 1, size, 0.5)
    logarithm = np.log1p(-inner * inner)
    middle = 2 / (math.pi * 0.147) + logarithm / 2
    guess = np.sqrt(np.sqrt(middle * middle - logarithm / 0.147) - middle)
    for _ in range(3):
        error = np.where(inner < 0.5, _erf_small(guess) - inner, (1 - inner) - _erfc_positive(guess))
        step = error * (math.sqrt(math.pi) / 2) * np.exp(guess * guess)
        guess = guess - step / (1 + guess * step)
    outer = np.where(size == 1, np.inf, np.nan)
    return np.copysign(np.where(size < 1, guess, outer), x)


def _lgamma_positive(x: Array) -> Array:
    reduced, product = np.where(x < 12, x, 2.5), np.ones_like(x)
    is_small = reduced < 1
    lowered = np.where(is_small, np.log(reduced), 0)
    for _ in range(9):
        is_large = reduced > 3
        product = np.where(is_large, product * (reduced - 1), product)
        reduced = np.where(is_large, reduced - 1, reduced)
    from_two = np.where(is_small, reduced - 1, reduced - 2)
    near = (from_two + 1) * from_two * chebyshev(_LGAMMA, from_two) + np.log(product) - lowered
    inverse = 1 / np.where(x < 12, 12.0, x)
    series = inverse * np.polynomial.polynomial.polyval(inverse * inverse, _STIRLING)
    far = (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + series
    return np.where(x < 12, near, np.where(np.isinf(x), np.inf, far))


@in_double
def lgamma(x: Array) -> Array:
    """The logarithm of |gamma(x)|; inf at zero and the negative integers."""
    size = np.abs(x)
    positive = _lgamma_positive(size)
    sine = np.abs(np.sin(math.pi * (size - np.round(size))))
    reflected = np.log(math.pi / (size * sine)) - positive
    is_pole = (x <= 0) & (np.floor(x) == x)
    return np.where(is_pole, np.inf, np.where(x < 0, reflected, positive))


@in_double
def digamma(x: Array) -> Array:
    """The derivative of lgamma; -inf at 0, inf at -0.0, nan at the negative integers."""
    reflected = x < 0
    start = np.where(reflected, 1 - x, x)
    at, total = start, np.zeros_like(x)
    for _ in range(10):
        is_small = at < 10
        total = np.where(is_small, total - 1 / at, total)
        at = np.where(is_small, at + 1, at)
    square = 1 / (at * at)
    series = square * np.polynomial.polynomial.polyval(square, _DIGAMMA)
    value = total + np.log(at) - 0.5 / at - np.where(np.isinf(at), 0, series)
    value = np.where(reflected, value - math.pi / np.tan(math.pi * (x - np.round(x))), value)
    value = np.where(reflected & (np.floor(x) == x), np.nan, value)
    return np.where(x == 0, np.copysign(np.inf, -x), value)


STEPS: Final = {"erf": erf, "erfc": erfc, "erfinv": erfinv, "lgamma": lgamma, "digamma": digamma}
"""The steps of meanings that NumPy has no loops for."""
