"""What is drawn from the bits: equal seeds draw the numbers that PyTorch draws on a CPU, up to the last place.

So are uniform and normal numbers, integers, permutations, what is made of uniform ones by a formula (exponential,
Cauchy, geometric and log-normal numbers), and Poisson, binomial and gamma numbers (`rejected_draws`). Where many are
drawn, native code makes them (`MersenneTwister.native`), with the bits that NumPy's way gives.

>>> [round(float(x), 4) for x in Draws(MersenneTwister(7)).random(2, np.float32)]
[0.5349, 0.1988]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.tensor.mersenne_twister import LOW_64, MersenneTwister
from flambeau.tensor.rejected_draws import binomial_loop, drawn, gamma_loop, poisson_loop

Array = np.ndarray[Any, Any]
Shape = int | Sequence[int]
_PAIRED: Final = 8
"""So many pairs are made normal together (Box and Muller, 1958), from this many uniform numbers and as many more."""
LARGEST_WORD: Final = (1 << 32) - 1
_WIDE: Final = 1 << 28
"""From this range on, an integer takes 64 bits of the stream."""


class Draws:
    """Numbers of all distributions from one stream. Its methods have the names that they have in NumPy."""

    __slots__ = ("engine",)

    def __init__(self, engine: MersenneTwister) -> None:
        self.engine = engine

    def random(self, size: Shape, dtype: Any = np.float64) -> Array:
        """Uniform in [0, 1): float32s of 24 bits, float64s of 53."""
        count = math.prod(_sizes(size))
        numbers = self.engine.floats(count) if dtype is np.float32 else self.engine.doubles(count)
        return numbers.reshape(size)

    def standard_normal(self, size: Shape, dtype: Any = np.float64) -> Array:
        """Of mean 0 and variance 1; sixteen numbers or more are made in blocks of sixteen."""
        count = math.prod(_sizes(size))
        if count < 2 * _PAIRED:
            return self._few_pairs(count).astype(dtype).reshape(size)
        return self._blocks(count, dtype, is_filled=True).reshape(size)

    def half_normal(self, size: Shape) -> Array:
        """Normal numbers for halves, as float32s: the blocks are drawn one after the other."""
        count = math.prod(_sizes(size))
        if count < 2 * _PAIRED:
            return self._few_pairs(count).astype(np.float32).reshape(size)
        return self._blocks(count, np.float32, is_filled=False).reshape(size)

    def _blocks(self, count: int, dtype: Any, *, is_filled: bool) -> Array:
        """In blocks of sixteen; what is left over is drawn, if it `is_filled`, and makes the last sixteen anew."""
        native = self.engine.native(count)
        blocks: Array | None = None if native is None else native.normal(count, np.dtype(dtype), is_filled=is_filled)
        if blocks is not None:
            return blocks
        whole = count // 16 * 16
        numbers = np.empty(count, dtype)
        numbers[:whole] = _normal(self.random(whole, dtype))
        if whole < count:
            if is_filled:
                self.random(count - whole, dtype)
            numbers[-16:] = _normal(self.random(16, dtype))
        return numbers

    def normal_one_by_one(self, size: Shape) -> Array:
        """Of mean 0 and variance 1, never in blocks: for elements that do not lie in order."""
        return self._pairs(math.prod(_sizes(size))).reshape(size)

    def _pairs(self, count: int) -> Array:
        """Two at a time; the second of the last pair waits for the next draw."""
        if count < 2 * _PAIRED:
            return self._few_pairs(count)
        engine = self.engine
        numbers = np.empty(count + 1)
        start = 0
        if engine.normal is not None and count:
            numbers[0] = engine.normal
            engine.normal = None
            start = 1
        pairs = (count - start + 1) // 2
        uniform = engine.doubles(2 * pairs).reshape(pairs, 2)
        away, angle = np.sqrt(-2.0 * np.log1p(-uniform[:, 1])), 2.0 * math.pi * uniform[:, 0]
        end = start + 2 * pairs
        numbers[start:end:2] = away * np.cos(angle)
        numbers[start + 1 : end : 2] = away * np.sin(angle)
        if end > count:
            engine.normal = float(numbers[count])
        return numbers[:count]

    def _few_pairs(self, count: int) -> Array:
        """The same of fewer than make a block, for which functions of arrays take longer."""
        engine = self.engine
        waits = engine.normal is not None and count > 0
        numbers = [engine.normal] if waits else []
        uniform = engine.doubles(2 * ((count - len(numbers) + 1) // 2)).tolist()
        for direction, size in zip(uniform[::2], uniform[1::2], strict=True):
            away, angle = math.sqrt(-2.0 * math.log1p(-size)), 2.0 * math.pi * direction
            numbers += [away * math.cos(angle), away * math.sin(angle)]
        if count:
            engine.normal = numbers.pop() if len(numbers) > count else None
        return np.array(numbers, np.float64)

    def integers(self, low: int, high: int, size: Shape, dtype: Any = np.int64) -> Array:
        """From `low` up to, not including, `high`: at most 2**64 of them."""
        count, span = math.prod(_sizes(size)), high - low
        native = self.engine.native(count)
        if native is not None:
            numbers = native.integers(low, span, count) if span < _WIDE else native.wide_integers(low, span, count)
            return np.asarray(numbers).astype(dtype, copy=False).reshape(size)
        if span < _WIDE:
            numbers = (self.engine.words(count) % np.uint32(span)).astype(np.int64)
        else:
            words = self.engine.wide_words(count)
            numbers = (words if span > LOW_64 else words % np.uint64(span)).view(np.int64)
        numbers += low
        return np.asarray(numbers).astype(dtype, copy=False).reshape(size)

    def words_below(self, limit: int, size: Shape) -> Array:
        """Integers below a power of two or one more, each of one word of 32 bits."""
        native = self.engine.native(math.prod(_sizes(size)))
        if native is not None and limit <= LARGEST_WORD:
            return np.asarray(native.integers(0, limit, math.prod(_sizes(size)))).reshape(size)
        return (self.engine.words(math.prod(_sizes(size))).astype(np.int64) % limit).reshape(size)

    def permutation(self, count: int) -> Array:
        """The integers below `count` in random order (Fisher and Yates, from the front)."""
        if count < 2:
            return np.arange(count)
        native = self.engine.native(count)
        if native is not None and count <= LARGEST_WORD:
            return np.asarray(native.permutation(count))
        order = np.arange(count)
        partners = self.engine.words(count - 1) % np.arange(count, 1, -1, dtype=np.uint32) + order[:-1]
        start = _exchange_together(order, partners) if count > _FEW else 0
        rest = order[start:].tolist()
        for here, partner in enumerate((partners[start:] - start).tolist()):
            rest[here], rest[partner] = rest[partner], rest[here]
        order[start:] = rest
        return order

    def exponential(self, scale: float = 1.0, size: Shape = 1) -> Array:
        """With the mean `scale`."""
        return np.asarray(np.log1p(-self.random(size)) * -scale)

    def standard_cauchy(self, size: Shape) -> Array:
        """Around 0, half of them within 1 of it."""
        return np.asarray(np.tan(math.pi * (self.random(size) - 0.5)))

    def geometric(self, p: float, size: Shape) -> Array:
        """How many trials a success took, each with probability `p`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.ceil(np.log(self.random(size)) / math.log1p(-p)))

    def lognormal(self, mean: float, std: float, size: Shape) -> Array:
        """The exponentials of normal numbers."""
        return np.asarray(np.exp(self._pairs(math.prod(_sizes(size))) * std + mean)).reshape(size)

    def poisson(self, mean: Array) -> Array:
        """Counts of events, with each element as their mean. Raises RuntimeError for means below 0, nan and inf."""
        if not bool(np.all(mean >= 0)):
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        if mean.size and math.isinf(mean.max()):
            raise RuntimeError("poisson expects finite means, but one is inf")
        return self._rejected(poisson_loop, (mean,), 1.1 * float(np.minimum(mean + 1, 3).mean()) if mean.size else 1.0)

    def binomial(self, count: Array, p: Array) -> Array:
        """How many of `count` trials succeed, each with probability `p`."""
        trials, chance = np.broadcast_arrays(count, p)
        mean = trials * np.minimum(chance, 1 - chance)  # rounded as their dtype is
        return self._rejected(binomial_loop, (trials, chance, mean), 3.0)

    def standard_gamma(self, shape: Array) -> Array:
        """Gamma numbers of scale 1, with each element as their shape."""
        return self._rejected(gamma_loop, (shape,), 3.5, is_normal=True)

    def _rejected(
        self, loop: Callable[..., None], parameters: Sequence[Array], per_element: float, *, is_normal: bool = False
    ) -> Array:
        flat = [np.ascontiguousarray(p, np.float64).reshape(-1) for p in parameters]
        numbers = drawn(self.engine, loop, flat, per_element, is_normal=is_normal)
        return numbers.reshape(parameters[0].shape)


_FEW: Final = 1 << 15
"""From this many numbers on, several are exchanged together."""


def _exchange_together(order: Array, partners: Array) -> int:
    """Exchanges each number with its partner behind it, several at once where none is touched twice; until where."""
    count, start = len(order), 0
    last = np.empty(count, np.int64)
    while count - start > _FEW:
        wanted = partners[start : start + math.isqrt(count - start) // 3]
        here = np.arange(start, start + len(wanted))
        last[wanted] = here
        is_met = (last[wanted] != here) | ((wanted < start + len(wanted)) & (wanted != here))
        size = max(int(is_met.argmax()), 1) if is_met.any() else len(wanted)
        wanted, stop = wanted[:size], start + size
        order[start:stop], order[wanted] = order[wanted], order[start:stop].copy()
        start = stop
    return start


def _sizes(size: Shape) -> tuple[int, ...]:
    return (size,) if isinstance(size, int) else tuple(size)


def _normal(uniform: Array) -> Array:
    """Blocks of sixteen uniform numbers as normal ones: a block's second half turns its first."""
    halves = uniform.reshape(-1, 2, _PAIRED)
    kind = uniform.dtype.type
    away, angle = np.empty((len(halves), _PAIRED), kind), np.empty((len(halves), _PAIRED), kind)
    np.subtract(kind(1), halves[:, 0], away)
    np.multiply(halves[:, 1], kind(2 * math.pi), angle)
    away = np.sqrt(kind(-2) * np.log(away))
    numbers = np.empty_like(halves)
    np.multiply(away, np.cos(angle), numbers[:, 0])
    np.multiply(away, np.sin(angle), numbers[:, 1])
    return numbers.reshape(-1)
