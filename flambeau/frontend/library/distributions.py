"""Single numbers of distributions, as NumPy's `RandomState` draws them: the same numbers from the same state.

Each is made of numbers in [0, 1) and normal ones, which have a native form. Parameters that are refused, or need
another method, are left to NumPy, which draws an array of one number.

L. Devroye, Non-Uniform Random Variate Generation, 1986 (searches from zero, beta by quotients); W. Hoermann, The
transformed rejection method for generating Poisson random variables, Insurance: Mathematics and Economics 12, 1993;
G. Marsaglia, W. W. Tsang, A Simple Method for Generating Gamma Variables, ACM TOMS 26, 2000.
"""

from __future__ import annotations

import math

import numpy as np


def poisson(lam: float = 1.0) -> int:
    """How often what happens `lam` times on average happens."""
    if not 0.0 <= lam < 1e15:
        return int(np.random.poisson(lam, 1)[0])
    if lam >= 10.0:
        return _poisson_by_rejection(lam)
    if lam == 0.0:
        return 0
    least = math.exp(-lam)
    count = 0
    product = np.random.random_sample()
    while product > least:
        count += 1
        product *= np.random.random_sample()
    return count


def _poisson_by_rejection(lam: float) -> int:
    root = math.sqrt(lam)
    log_lam = math.log(lam)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    most = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = np.random.random_sample() - 0.5
        v = np.random.random_sample()
        distance = 0.5 - abs(u)
        k = math.floor((2 * a / distance + b) * u + lam + 0.43) if distance > 0.0 else -1
        if distance >= 0.07 and v <= most:
            return k
        if k < 0 or (distance < 0.013 and v > distance):
            continue
        log_v = math.log(v) if v > 0.0 else -math.inf
        left = log_v + math.log(inverse_alpha) - math.log(a / (distance * distance) + b)
        if left <= -lam + k * log_lam - _log_gamma(k + 1.0):
            return k


def _log_gamma(x: float) -> float:
    """The logarithm of gamma by Stirling's series, as NumPy adds it up."""
    if x == 1.0 or x == 2.0:
        return 0.0
    n = int(7 - x) if x < 7.0 else 0
    from_seven = x + n
    inverse = 1.0 / from_seven * (1.0 / from_seven)
    total = -1.39243221690590e00
    for term in (
        1.796443723688307e-01, -2.955065359477124e-02, 6.410256410256410e-03, -1.917526917526918e-03,
        8.417508417508418e-04, -5.952380952380952e-04, 7.936507936507937e-04, -2.777777777777778e-03,
        8.333333333333333e-02,
    ):  # fmt: skip
        total = total * inverse + term
    result = total / from_seven + 0.5 * 1.8378770664093453e00 + (from_seven - 0.5) * math.log(from_seven) - from_seven
    if x < 7.0:
        for _ in range(n):
            result -= math.log(from_seven - 1.0)
            from_seven -= 1.0
    return result


def standard_gamma(shape: float) -> float:
    """A number of a gamma distribution."""
    if not 0.0 < shape < math.inf:
        return float(np.random.standard_gamma(shape, 1)[0])
    if shape == 1.0:
        return np.random.standard_exponential()
    if shape < 1.0:
        return _gamma_below_one(shape)
    b = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9 * b)
    while True:
        x = np.random.standard_normal()
        v = 1.0 + c * x
        while v <= 0.0:
            x = np.random.standard_normal()
            v = 1.0 + c * x
        v = v * v * v
        u = np.random.random_sample()
        if u < 1.0 - 0.0331 * (x * x) * (x * x):
            return b * v
        log_u = math.log(u) if u > 0.0 else -math.inf
        if log_u < 0.5 * x * x + b * (1.0 - v + math.log(v)):
            return b * v


def _gamma_below_one(shape: float) -> float:
    while True:
        u = np.random.random_sample()
        v = np.random.standard_exponential()
        if u <= 1.0 - shape:
            x = math.pow(u, 1.0 / shape)
            if x <= v:
                return x
        else:
            y = -math.log((1 - u) / shape)
            x = math.pow(1.0 - shape + shape * y, 1.0 / shape)
            if x <= v + y:
                return x


def gamma(shape: float, scale: float = 1.0) -> float:
    """The same, scaled."""
    if not (0.0 < shape < math.inf and scale > 0.0):
        return float(np.random.gamma(shape, scale, 1)[0])
    return scale * standard_gamma(shape)


def chisquare(df: float) -> float:
    """The sum of the squares of `df` normal numbers."""
    if not 0.0 < df < math.inf:
        return float(np.random.chisquare(df, 1)[0])
    return 2.0 * standard_gamma(df / 2.0)


def beta(a: float, b: float) -> float:
    """A number in [0, 1] of a beta distribution."""
    if not (1e-3 < a < math.inf and 1e-3 < b < math.inf):
        return float(np.random.beta(a, b, 1)[0])
    if a <= 1.0 and b <= 1.0:
        return _beta_by_powers(a, b)
    one = standard_gamma(a)
    other = standard_gamma(b)
    return one / (one + other)


def _beta_by_powers(a: float, b: float) -> float:
    while True:
        u = np.random.random_sample()
        v = np.random.random_sample()
        x = math.pow(u, 1.0 / a)
        y = math.pow(v, 1.0 / b)
        total = x + y
        if 0.0 < total <= 1.0 and u + v > 0.0:
            return x / total
        if total == 0.0 and u > 0.0 and v > 0.0:  # both powers vanish: by their logarithms
            log_x = math.log(u) / a
            log_y = math.log(v) / b
            larger = max(log_x, log_y)
            log_x -= larger
            log_y -= larger
            return math.exp(log_x - math.log(math.exp(log_x) + math.exp(log_y)))


def binomial(n: int, p: float) -> int:
    """How many of `n` attempts succeed, each with probability `p`."""
    if not 0.0 < p < 1.0 or n <= 0 or n >= 2**31:
        return int(np.random.binomial(n, p, 1)[0])
    if p <= 0.5:
        if p * n <= 30.0:
            return _binomial_by_search(n, p)
    elif (1.0 - p) * n <= 30.0:
        return n - _binomial_by_search(n, 1.0 - p)
    return int(np.random.binomial(n, p, 1)[0])


def _binomial_by_search(n: int, p: float) -> int:
    q = 1.0 - p
    first = math.exp(n * math.log(q))
    mean = n * p
    most = int(min(float(n), mean + 10.0 * math.sqrt(mean * q + 1)))
    count = 0
    likely = first
    u = np.random.random_sample()
    while u > likely:
        count += 1
        if count > most:
            count = 0
            likely = first
            u = np.random.random_sample()
        else:
            u -= likely
            likely = ((n - count + 1) * p * likely) / (count * q)
    return count
