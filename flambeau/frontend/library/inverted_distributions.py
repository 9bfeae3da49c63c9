"""Single numbers of distributions that follow from one or two others by a formula, as NumPy's `RandomState` draws them.

Parameters that are refused are left to NumPy, which draws an array of one number.
"""

from __future__ import annotations

import math

import numpy as np

from flambeau.frontend.library.distributions import poisson, standard_gamma

_SEARCHED = 0.333333333333333333333333


def geometric(p: float) -> int:
    """Which attempt is the first to succeed."""
    if not 1e-15 < p < 1.0:
        return int(np.random.geometric(p, 1)[0])
    if p < _SEARCHED:
        return math.ceil(math.log1p(-np.random.random_sample()) / math.log(1.0 - p))
    count = 1
    total = p
    likely = p
    q = 1.0 - p
    u = np.random.random_sample()
    while u > total:
        likely *= q
        total += likely
        count += 1
    return count


def negative_binomial(n: float, p: float) -> int:
    """How many attempts fail before `n` succeed."""
    if not (0.0 < n < math.inf and 0.0 < p < 1.0):
        return int(np.random.negative_binomial(n, p, 1)[0])
    return poisson(((1.0 - p) / p) * standard_gamma(n))


def lognormal(mean: float = 0.0, sigma: float = 1.0) -> float:
    """The exponential of a normal number."""
    return math.exp(np.random.normal(mean, sigma))


def laplace(loc: float = 0.0, scale: float = 1.0) -> float:
    """A number of the double exponential distribution."""
    if not scale > 0.0:
        return float(np.random.laplace(loc, scale, 1)[0])
    u = np.random.random_sample()
    while u == 0.0:
        u = np.random.random_sample()
    if u >= 0.5:
        return loc - scale * math.log(2.0 - u - u)
    return loc + scale * math.log(u + u)


def logistic(loc: float = 0.0, scale: float = 1.0) -> float:
    """A number of the logistic distribution."""
    if not scale > 0.0:
        return float(np.random.logistic(loc, scale, 1)[0])
    u = np.random.random_sample()
    while u == 0.0:
        u = np.random.random_sample()
    return loc + scale * math.log(u / (1.0 - u))


def gumbel(loc: float = 0.0, scale: float = 1.0) -> float:
    """A number of the distribution of largest values."""
    if not scale > 0.0:
        return float(np.random.gumbel(loc, scale, 1)[0])
    u = 1.0 - np.random.random_sample()
    while u == 1.0:
        u = 1.0 - np.random.random_sample()
    return loc - scale * math.log(-math.log(u))


def rayleigh(scale: float = 1.0) -> float:
    """The length of a vector of two normal numbers."""
    if not scale > 0.0:
        return float(np.random.rayleigh(scale, 1)[0])
    return scale * math.sqrt(-2.0 * math.log1p(-np.random.random_sample()))


def weibull(a: float) -> float:
    """A number of a Weibull distribution."""
    if not a > 0.0:
        return float(np.random.weibull(a, 1)[0])
    return math.pow(np.random.standard_exponential(), 1.0 / a)


def pareto(a: float) -> float:
    """A number of a Pareto distribution that begins at 0."""
    if not a > 0.0:
        return float(np.random.pareto(a, 1)[0])
    return math.exp(np.random.standard_exponential() / a) - 1


def power(a: float) -> float:
    """A number in [0, 1] of a power distribution."""
    if not a > 0.0:
        return float(np.random.power(a, 1)[0])
    return math.pow(1.0 - math.exp(-np.random.standard_exponential()), 1.0 / a)


def triangular(left: float, mode: float, right: float) -> float:
    """A number between two ends, most likely at `mode`."""
    if not (left <= mode <= right and left < right):
        return float(np.random.triangular(left, mode, right, 1)[0])
    base = right - left
    below = mode - left
    u = np.random.random_sample()
    if u <= below / base:
        return left + math.sqrt(u * (below * base))
    return right - math.sqrt((1.0 - u) * ((right - mode) * base))


def standard_cauchy() -> float:
    """The quotient of two normal numbers."""
    above = np.random.standard_normal()
    return above / np.random.standard_normal()


def standard_t(df: float) -> float:
    """A number of Student's distribution."""
    if not 0.0 < df < math.inf:
        return float(np.random.standard_t(df, 1)[0])
    number = np.random.standard_normal()
    return math.sqrt(df / 2) * number / math.sqrt(standard_gamma(df / 2))


def f(dfnum: float, dfden: float) -> float:
    """A number of Fisher's distribution."""
    if not (0.0 < dfnum < math.inf and 0.0 < dfden < math.inf):
        return float(np.random.f(dfnum, dfden, 1)[0])
    above = 2.0 * standard_gamma(dfnum / 2.0) * dfden
    return above / (2.0 * standard_gamma(dfden / 2.0) * dfnum)
