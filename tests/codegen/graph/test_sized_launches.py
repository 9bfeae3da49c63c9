"""Launches that serve any size: calls of new sizes stay native, and mean what exact launches mean."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.inline_cache import InlineCache
from flambeau.executor.options import Options

RNG = np.random.default_rng(0)


def blend(x: Tensor, t: float, y: Tensor) -> Tensor:
    return flambeau.tanh(x) * t + y


def both(x: Tensor) -> tuple[Tensor, Tensor]:
    return flambeau.exp(x), x > 0


def scaled(x: Tensor, s: Tensor) -> Tensor:
    return x * s + 1


def loop(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = flambeau.sin(x) * 0.5 + x
    return x


def served(function: Any) -> int:
    """Calls that never reached Python."""
    return sum(k.inline_cache.served for plan in function._executor.plans for k in plan.kernels)


def random(*shape: int, dtype: str = "float32") -> Tensor:
    return flambeau.from_numpy(np.asarray(RNG.normal(size=shape) * 3).astype(dtype))


def same(found: Any, expected: Any) -> None:
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-6, atol=1e-6)


def interpreted(python: Callable[..., Any]) -> Any:
    return flambeau.script(python).with_options(Options(backend="interpreter"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes_never_seen_are_served_natively(dtype: str) -> None:
    function, other = flambeau.script(blend), interpreted(blend)
    for n in (5, 6, 7):
        function(random(n, 3, dtype=dtype), 0.5, random(n, 3, dtype=dtype))
    before = served(function)
    sizes = [(2, 2), (3, 1000), (1000, 3), (17, 17), (300, 70), (2, 65_536), (999, 2)]
    for shape in sizes:
        x, y = random(*shape, dtype=dtype), random(*shape, dtype=dtype)
        same(function(x, 0.25, y), other(x, 0.25, y))
    assert served(function) == before + len(sizes)


def test_several_results_and_tensors_without_axes() -> None:
    function, other = flambeau.script(both), interpreted(both)
    for n in (3, 4, 50, 1, 0, 4097):
        x = random(n)
        same(function(x), other(x))
    function, other = flambeau.script(scaled), interpreted(scaled)
    scale = flambeau.tensor(2.5)
    for n in (3, 4, 50, 4097):
        x = random(n)
        same(function(x, scale), other(x, scale))


def test_what_lies_otherwise_has_plans_of_its_own() -> None:
    """Gaps, transposed, broadcast against one another: after launches for any size exist, too."""
    function, other = flambeau.script(blend), interpreted(blend)
    for n in (4, 5, 6):
        function(random(n, 8), 1.0, random(n, 8))
    for x, y in [
        (random(6, 9).t(), random(9, 6)),
        (random(12, 6)[::2], random(6, 6)),
        (random(7, 4), random(4).expand(7, 4)),
        (random(0, 4), random(0, 4)),
        (random(8, 8), random(8, 8)[:, :8]),
        (random(10, 8)[2:], random(8, 8)),
    ]:
        same(function(x, 2.0, y), other(x, 2.0, y))


def test_sizes_that_do_not_fit_one_another_are_refused_as_before() -> None:
    function = flambeau.script(blend)
    for n in (4, 5, 6):
        function(random(n, 8), 1.0, random(n, 8))
    with pytest.raises(RuntimeError, match="size of tensor a"):
        function(random(7, 8), 1.0, random(9, 8))
    x, y = random(7, 8), random(1, 8)
    same(function(x, 1.0, y), interpreted(blend)(x, 1.0, y))


@pytest.mark.parametrize("threads", [1, 2])
def test_large_ones_are_shared_by_threads_and_aligned(threads: int) -> None:
    function = flambeau.script(blend).with_options(Options(num_threads=threads))
    other = interpreted(blend)
    for n in (7, 11, 300_001, 500_003, 3_000_017):
        x, y = random(n), random(n)
        found = function(x, 0.5, y)
        same(found, other(x, 0.5, y))
        if n > 100_000:
            assert found.numpy().ctypes.data % 64 == 0


def test_groups_in_native_functions_take_them_too() -> None:
    function, other = flambeau.script(loop), interpreted(loop)
    for n in itertools.chain(range(3, 9), (1000, 70_000)):
        x = random(n)
        same(function(x, 3), other(x, 3))
    [plan] = function._executor.plans
    [kernel] = plan.kernels
    assert kernel._slow_calls <= 3


def test_words_of_launches_have_64_bits() -> None:
    words = [1 << 63, (1 << 64) - 1, -1, 5]
    for values in (words, words[2:], []):
        cache = InlineCache()
        address = cache.numbers(values)
        kept = (ctypes.c_int64 * len(values)).from_address(address)
        assert list(kept) == [(value + (1 << 63)) % (1 << 64) - (1 << 63) for value in values]
