"""Random numbers by native code have the bits that NumPy's way gives, at every place of the stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flambeau.codegen import available
from flambeau.codegen.twister.module import NativeTwister
from flambeau.tensor import mersenne_twister
from flambeau.tensor.mersenne_twister import MersenneTwister
from flambeau.tensor.random_draws import Draws

pytestmark = pytest.mark.skipif(not available(), reason="llvmlite is not installed")

DRAWS: list[Callable[[Draws, int], Any]] = [
    lambda rng, count: rng.random(count, np.float32),
    lambda rng, count: rng.random(count),
    lambda rng, count: rng.standard_normal(count, np.float32),
    lambda rng, count: rng.standard_normal(count, np.float64),
    lambda rng, count: rng.half_normal(count),
    lambda rng, count: rng.integers(0, 1, count),
    lambda rng, count: rng.integers(-5, 5, count),
    lambda rng, count: rng.integers(-3, (1 << 28) - 4, count),
    lambda rng, count: rng.integers(-(1 << 63), (1 << 63) - 1, count),
    lambda rng, count: rng.integers(-(1 << 63), 1 << 63, count),
    lambda rng, count: rng.integers(7, 7 + (1 << 28), count, np.int32),
    lambda rng, count: rng.words_below((1 << 31) + 1, count),
    lambda rng, count: rng.words_below(2, count),
    lambda rng, count: rng.permutation(count),
    lambda rng, count: rng.exponential(2.0, count),
    lambda rng, count: rng.standard_gamma(np.full(count, 0.7)),
]
COUNTS = (0, 1, 2, 15, 16, 17, 31, 100, 311, 312, 313, 623, 624, 625, 1000, 2049, 5000, 40_001)


class NeverNative:
    """Stands for a process in which nobody asks for native code."""

    is_answered = False

    def is_time(self, count: int) -> bool:
        """Never."""
        return False


@pytest.fixture(autouse=True)
def _by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mersenne_twister, "_drawn", NeverNative())


def natively(seed: int) -> MersenneTwister:
    """A stream that is drawn from by native code."""
    engine = MersenneTwister(seed)
    engine._native = NativeTwister(engine.bits)
    return engine


@pytest.mark.parametrize("number", range(len(DRAWS)))
def test_bits_are_those_of_numpy(number: int) -> None:
    for skipped in (0, 1, 623, 624, 700):
        own, other = natively(number), MersenneTwister(number)
        own.words(skipped), other.words(skipped)
        for count in COUNTS:
            result, expected = (DRAWS[number](Draws(engine), count) for engine in (own, other))
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            assert result.tobytes() == expected.tobytes(), (skipped, count)
            assert own.to_bytes() == other.to_bytes(), (skipped, count)


def test_kinds_of_draws_follow_each_other() -> None:
    own, other = natively(3), MersenneTwister(3)
    for turn in range(60):
        draw = DRAWS[turn * 7 % len(DRAWS)]
        count = COUNTS[turn * 5 % len(COUNTS)]
        result, expected = (draw(Draws(engine), count) for engine in (own, other))
        np.testing.assert_array_equal(result, expected)
    assert own.to_bytes() == other.to_bytes()


def test_a_seed_and_a_state_are_those_of_the_generator() -> None:
    engine = natively(3)
    engine.floats(1000)
    state = engine.to_bytes()
    first = engine.floats(700)
    again = MersenneTwister.from_bytes(state)
    again._native = NativeTwister(again.bits)
    np.testing.assert_array_equal(again.floats(700), first)
    engine.begin(3)
    np.testing.assert_array_equal(engine.floats(5), MersenneTwister(3).floats(5))


def test_a_process_that_draws_much_draws_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mersenne_twister, "_drawn", mersenne_twister._Drawn())
    engine, other = MersenneTwister(5), MersenneTwister(5)
    engine.floats(100)
    assert engine._native is None
    engine.floats(1 << 24)
    assert engine._native is not None
    engine.begin(5)
    other._native = None
    np.testing.assert_array_equal(engine.floats(3000), other.words(3000).astype(np.int64) % (1 << 24) / 2.0**24)
