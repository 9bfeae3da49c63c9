"""Numbers that take as many uniform numbers as it needs until one is not rejected: Poisson, binomial and gamma numbers.

They are PyTorch's: each element draws behind the one before it. The loops are functions of the language, compiled where
there are many elements; their text is Python's too. A loop goes on from where `progress` says (the element, the place
among `uniform` numbers, whether a normal number waits, the place within an element) as far as these suffice, and
`waiting` has that normal number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.tensor.mersenne_twister import MersenneTwister
from flambeau.util.inversions import ELEMENT_LOOPS

Array = np.ndarray[Any, Any]
MANY: Final = 1 << 12
"""Elements from which on a loop is compiled."""
_AT_ONCE: Final = 1 << 16
"""Elements for which uniform numbers are drawn together."""


def poisson_loop(mean: np.ndarray, result: np.ndarray, uniform: np.ndarray, progress: np.ndarray) -> None:
    """Few events: how many uniform numbers have a product above exp(-mean). From 10 on: Hoermann (1993), PTRS."""
    last = len(uniform)
    used = int(progress[1])
    for k in range(int(progress[0]), len(mean)):
        progress[0], progress[1] = k, used
        lam = float(mean[k])
        if lam >= 10.0:
            root, log_mean = math.sqrt(lam), math.log(lam)
            b = 0.931 + 2.53 * root
            a = -0.059 + 0.02483 * b
            inverse, bound = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0)
            is_open = True
            while is_open:
                if used + 2 > last:
                    return
                u, v = uniform[used] - 0.5, uniform[used + 1]
                used += 2
                near = 0.5 - abs(u)
                count = math.floor((2.0 * a / near + b) * u + lam + 0.43)
                if near >= 0.07 and v <= bound:
                    is_open = False
                elif count >= 0 and (near >= 0.013 or v <= near):
                    left = math.log(v) + math.log(inverse) - math.log(a / (near * near) + b)
                    is_open = left > -lam + count * log_mean - log_factorial(float(count))
                result[k] = count
        elif lam == 0.0:
            result[k] = 0.0
        else:
            least, product, events = math.exp(-lam), 1.0, -1.0
            while product > least:
                if used >= last:
                    return
                product *= uniform[used]
                used += 1
                events += 1.0
            result[k] = events
    progress[0], progress[1] = len(mean), used


def binomial_loop(
    trials: np.ndarray, chance: np.ndarray, mean: np.ndarray, result: np.ndarray, uniform: np.ndarray,
    progress: np.ndarray,
) -> None:  # fmt: skip
    """Successes or failures, what is less likely, by their `mean`: in one of two ways."""
    used = int(progress[1])
    for k in range(int(progress[0]), len(trials)):
        progress[0], progress[1], progress[3] = k, used, used
        n, p = float(trials[k]), float(chance[k])
        if n != n or p != p:
            result[k] = math.nan
        elif n <= 0.0 or p <= 0.0:
            result[k] = 0.0
        elif p >= 1.0:
            result[k] = n
        else:
            q = p if p <= 0.5 else 1.0 - p
            count = many_of(n, q, uniform, progress) if mean[k] >= 10.0 else few_of(n, q, uniform, progress)
            if count < 0.0:
                return
            used = int(progress[3])
            result[k] = count if p <= 0.5 else n - count
    progress[0], progress[1] = len(trials), used


def few_of(n: float, q: float, uniform: np.ndarray, progress: np.ndarray) -> float:
    """How many geometric numbers have a sum up to n; -1 where uniform numbers do not suffice."""
    used, last = int(progress[3]), len(uniform)
    scale, total, count = math.log1p(-q), 0.0, -1.0
    while total <= n:
        if used >= last:
            return -1.0
        number = uniform[used]
        used += 1
        count += 1.0
        total += math.ceil(math.log(number) / scale) if number > 0.0 else math.inf
    progress[3] = used
    return count


def many_of(n: float, q: float, uniform: np.ndarray, progress: np.ndarray) -> float:
    """A binomial number by Hoermann (1993), BTRS; -1 where uniform numbers do not suffice."""
    used, last = int(progress[3]), len(uniform)
    deviation = math.sqrt(n * q * (1.0 - q))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * q
    middle, bound = n * q + 0.5, 0.92 - 4.2 / b
    alpha, mode = (2.83 + 5.1 / b) * deviation, float(math.floor((n + 1.0) * q))
    count, is_open = 0.0, True
    while is_open:
        if used + 2 > last:
            return -1.0
        u, v = uniform[used] - 0.5, uniform[used + 1]
        used += 2
        near = 0.5 - abs(u)
        count = float(math.floor((2.0 * a / near + b) * u + middle))
        if near >= 0.07 and v <= bound:
            is_open = False
        elif count >= 0.0 and count <= n:
            is_open = math.log(v * alpha / (a / (near * near) + b)) > likelihood(n, q / (1.0 - q), mode, count)
    progress[3] = used
    return count


def likelihood(n: float, odds: float, mode: float, count: float) -> float:
    """The logarithm of how much less likely `count` of n are than the most likely number."""
    total = (mode + 0.5) * math.log((mode + 1.0) / (odds * (n - mode + 1.0)))
    total += (n + 1.0) * math.log((n - mode + 1.0) / (n - count + 1.0))
    total += (count + 0.5) * math.log(odds * (n - count + 1.0) / (count + 1.0))
    return total + tail(mode) + tail(n - mode) - tail(count) - tail(n - count)


def log_factorial(count: float) -> float:
    """log(count!), of a whole number."""
    if count > 9.0:
        return (count + 0.5) * math.log(count + 1.0) - (count + 1.0) + HALF_LOG + tail(count)
    product = 1.0
    for k in range(2, int(count) + 1):
        product *= k
    return math.log(product)


def tail(count: float) -> float:
    """What log(count!) is more than Stirling's approximation of it."""
    if count <= 9.0:
        return log_factorial(count) - ((count + 0.5) * math.log(count + 1.0) - (count + 1.0) + HALF_LOG)
    square = (count + 1.0) * (count + 1.0)
    return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (count + 1.0)


def gamma_loop(
    shape: np.ndarray, result: np.ndarray, uniform: np.ndarray, progress: np.ndarray, waiting: np.ndarray
) -> None:
    """Marsaglia and Tsang (2000): the cube of a normal number, unless it is rejected; shapes below 1 by one more."""
    last = len(uniform)
    used, has_normal, normal = int(progress[1]), int(progress[2]), float(waiting[0])
    for k in range(int(progress[0]), len(shape)):
        progress[0], progress[1], progress[2], waiting[0] = k, used, has_normal, normal
        alpha, scale = float(shape[k]), 1.0
        if alpha < 1.0 and alpha != 0.0:
            if used >= last:
                return
            scale = (1.0 - uniform[used]) ** (1.0 / alpha)
            used += 1
            alpha += 1.0
        d = alpha - THIRD
        c = 1.0 / math.sqrt(9.0 * d) if alpha > 0.0 else 0.0
        is_open = alpha > 0.0
        cube = 0.0
        while is_open:
            x, y = 0.0, 0.0
            while y <= 0.0:
                if has_normal == 1:
                    x, has_normal = normal, 0
                else:
                    if used + 2 > last:
                        return
                    away = math.sqrt(-2.0 * math.log1p(-uniform[used + 1]))
                    angle = 2.0 * math.pi * uniform[used]
                    used += 2
                    x, normal, has_normal = away * math.cos(angle), away * math.sin(angle), 1
                y = 1.0 + c * x
            if used >= last:
                return
            cube, u, square = y * y * y, 1.0 - uniform[used], x * x
            used += 1
            is_open = u >= 1.0 - SLOPE * square * square
            if is_open:
                is_open = math.log(u) >= 0.5 * square + d * (1.0 - cube + math.log(cube))
        result[k] = scale * d * cube
    progress[0], progress[1], progress[2], waiting[0] = len(shape), used, has_normal, normal


HALF_LOG: Final = 0.9189385332046727
"""Half of log(2 pi)."""
THIRD: Final = 0.3333333432674408
"""A third as a float32."""
SLOPE: Final = 0.03310000151395798
"""0.0331 as a float32."""


def drawn(
    engine: MersenneTwister, loop: Callable[..., None], parameters: Sequence[Array], per_element: float, *,
    is_normal: bool,
) -> Array:  # fmt: skip
    """What a loop makes of parameters, which are flat float64s, by about so many uniform numbers for each element.

    >>> drawn(MersenneTwister(7), poisson_loop, [np.array([2.0, 30.0])], 3.0, is_normal=False).tolist()
    [1.0, 37.0]
    """
    count = len(parameters[0])
    result = np.zeros(count)
    native = ELEMENT_LOOPS.implementation(loop) if count >= MANY else None
    for first in range(0, count, _AT_ONCE):
        here = slice(first, first + _AT_ONCE)
        arrays = [*(p[here] for p in parameters), result[here]]
        _draw_piece(engine, native or loop, arrays, per_element, is_normal=is_normal)
    return result


def _draw_piece(
    engine: MersenneTwister, run: Callable[..., None], arrays: Sequence[Array], per_element: float, *, is_normal: bool
) -> None:
    """Fill the last array, and leave the stream behind the last number that was used."""
    count = len(arrays[0])
    progress = np.array([0, 0, engine.normal is not None, 0], np.int64)
    waiting = np.array([engine.normal or 0.0])
    more = [progress, waiting] if is_normal else [progress]
    uniform = np.empty(0)
    while progress[0] < count:
        rest = uniform[progress[1] :]
        before = engine.bits.state
        wanted = int((count - progress[0]) * per_element) + 16
        uniform = np.concatenate([rest, engine.doubles(wanted)])
        progress[1] = 0
        run(*arrays, uniform, *more)
    if uniform.size:
        engine.bits.state = before
        engine.doubles(int(progress[1]) - len(rest))
    if is_normal:
        engine.normal = float(waiting[0]) if progress[2] else None
