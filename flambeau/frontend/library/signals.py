"""NumPy's windows of samples, frequencies and phases, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np


def places_of_window(M: int) -> Any:  # noqa: N803
    """Numbers from -(M - 1) to M - 1 by twos: the places of a window around its middle."""
    return np.arange(1 - M, M, 2).astype(np.float64)


def hanning(M: int) -> Any:  # noqa: N803
    """A raised cosine that is 0 at both ends."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    return 0.5 + 0.5 * np.cos(np.pi * places_of_window(M) / (M - 1))


def hamming(M: int) -> Any:  # noqa: N803
    """A raised cosine that is 0.08 at both ends."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    return 0.54 + 0.46 * np.cos(np.pi * places_of_window(M) / (M - 1))


def blackman(M: int) -> Any:  # noqa: N803
    """A window of two cosines."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    n = places_of_window(M)
    return 0.42 + 0.5 * np.cos(np.pi * n / (M - 1)) + 0.08 * np.cos(2.0 * np.pi * n / (M - 1))


def bartlett(M: int) -> Any:  # noqa: N803
    """A triangle."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    n = places_of_window(M)
    return np.where(n <= 0, 1 + n / (M - 1), 1 - n / (M - 1))


def kaiser(M: int, beta: float) -> Any:  # noqa: N803
    """A window of Bessel functions, the narrower the larger `beta` is."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    n = places_of_window(M) / (M - 1)
    return np.i0(beta * np.sqrt(1 - n * n)) / np.i0(np.full(1, float(beta)))


def fftfreq(n: int, d: float = 1.0) -> Any:
    """The frequencies of a Fourier transform of `n` samples at a distance, those below 0 behind the others."""
    bins = np.concatenate((np.arange(0, (n - 1) // 2 + 1), np.arange(-(n // 2), 0)))
    return bins * (1.0 / (n * d))


def rfftfreq(n: int, d: float = 1.0) -> Any:
    """The frequencies of a Fourier transform of `n` real samples at a distance."""
    return np.arange(0, n // 2 + 1) * (1.0 / (n * d))


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 6.283185307179586) -> Any:
    """Phases with steps of `period` added where they jump by more than half of one, or than `discont`."""
    x = np.moveaxis(p * 1.0, axis, -1)
    half = period / 2
    least = half if discont is None else max(discont, half)
    steps = x[..., 1:] - x[..., :-1]
    around = np.remainder(steps + half, period) - half
    around = np.where((around == -half) & (steps > 0), half, around)
    corrections = np.where(np.abs(steps) < least, 0.0, around - steps)
    out = x.copy()
    out[..., 1:] = x[..., 1:] + np.cumsum(corrections, axis=-1)
    return np.moveaxis(out, -1, axis)
