"""Random numbers on a device.

Few numbers are drawn by the generator on the host and brought over, so that they are those that a CPU draws. Of
`LARGE` or more the device makes uniform and normal numbers and integers itself, by a function of the place of each
(Salmon et al., 2011: Philox 4x32 with 10 rounds) under a key that the generator draws: the same for the same seed, but
others than on a CPU.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy

from flambeau.tensor.array_library import np
from flambeau.tensor.random_draws import Draws

LARGE: Final = 1 << 18
"""From this many numbers on, the device makes them."""
_FACTORS: Final = (0xD2511F53, 0xCD9E8D57)
_STEPS: Final = (0x9E3779B9, 0xBB67AE85)
_LOW: Final = 0xFFFFFFFF


def philox(count: int, key: int, stream: int) -> Any:
    """Random 32-bit words for counters from 0 on, as 64-bit integers in four rows of `count` elements.

    >>> [hex(int(w)) for w in philox(1, 0, 0)[:, 0]]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    counter = np.arange(count).astype(numpy.uint64)
    words = [counter & _LOW, counter >> 32, np.full(count, stream & _LOW, numpy.uint64), np.zeros(count, numpy.uint64)]
    words[3] = words[3] + (stream >> 32)
    keys = [key & _LOW, key >> 32]
    for _ in range(10):
        a, b = words[0] * _FACTORS[0], words[2] * _FACTORS[1]
        words = [(b >> 32) ^ words[1] ^ keys[0], b & _LOW, (a >> 32) ^ words[3] ^ keys[1], a & _LOW]
        keys = [(k + step) & _LOW for k, step in zip(keys, _STEPS, strict=True)]
    return np.stack(words)


class DeviceDraws:
    """A generator of the host whose numbers are on the device that an operator runs on."""

    def __init__(self, rng: Draws) -> None:
        self._rng = rng

    def random(self, size: Any = None, dtype: Any = numpy.float64) -> Any:
        """Uniform in [0, 1)."""
        count = _count(size)
        if count < LARGE:
            return self._brought(self._rng.random(size, dtype=dtype))
        return self._uniform(count, dtype).reshape(size)

    def standard_normal(self, size: Any = None, dtype: Any = numpy.float64) -> Any:
        """With mean 0 and variance 1 (Box and Muller, 1958)."""
        count = _count(size)
        if count < LARGE:
            return self._brought(self._rng.standard_normal(size, dtype=dtype))
        half = (count + 1) // 2
        away = np.sqrt(-2 * np.log1p(-self._uniform(half, dtype)))
        angle = self._uniform(half, dtype) * numpy.dtype(dtype).type(2 * math.pi)
        return np.concatenate([away * np.cos(angle), away * np.sin(angle)])[:count].reshape(size)

    def integers(self, low: int, high: int, size: Any = None, dtype: Any = numpy.int64) -> Any:
        """From `low` up to, not including, `high`."""
        count = _count(size)
        if count < LARGE:
            return self._brought(self._rng.integers(low, high, size, dtype=dtype))
        pairs = self._words(-(-count // 2))
        wide = np.concatenate([(pairs[0] << 32) | pairs[1], (pairs[2] << 32) | pairs[3]])[:count]
        return ((wide % (high - low)).astype(numpy.int64) + low).astype(dtype).reshape(size)

    def __getattr__(self, name: str) -> Any:
        draw = getattr(self._rng, name)

        def drawn(*arguments: Any, **named: Any) -> Any:
            return self._brought(draw(*map(_on_host, arguments), **named))

        return drawn

    def _uniform(self, count: int, dtype: Any) -> Any:
        if numpy.dtype(dtype) == numpy.float32:
            words = self._words(-(-count // 4)).reshape(-1)[:count]
            return (words >> 8).astype(numpy.float32) * numpy.float32(2.0**-24)
        pairs = self._words(-(-count // 2))
        wide = np.concatenate([(pairs[0] << 32) | pairs[1], (pairs[2] << 32) | pairs[3]])[:count]
        return (wide >> 11).astype(numpy.float64) * 2.0**-53

    def _words(self, count: int) -> Any:
        key, stream = (int(n) for n in self._rng.integers(0, 1 << 63, 2))
        return philox(count, key, stream)

    @staticmethod
    def _brought(array: Any) -> Any:
        return np.asarray(array) if isinstance(array, numpy.ndarray) else array


def _count(size: Any) -> int:
    return 1 if size is None else size if isinstance(size, int) else math.prod(size)


def _on_host(value: Any) -> Any:
    return value.get() if hasattr(value, "__cuda_array_interface__") else value
