"""One launch of attention serves all sizes of calls whose arrays lie alike, in programs that write token by token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.attention.rules import Options, launch_of
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.routines.kernel import RoutineKernel

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
LOOP = """
def f(x: Tensor, steps: int) -> Tensor:
    keys = x[:, :, :0]
    for _ in range(steps):
        keys = flambeau.cat([keys, x], dim=2)
        x = flambeau.tanh(x + flambeau.nn.functional.scaled_dot_product_attention(x, keys, keys))
    return x
"""
ONE = "def f(q: Tensor, k: Tensor, v: Tensor{0}) -> Tensor:\n    return {1}(q, k, v, {2})\n"
CALL = "flambeau.nn.functional.scaled_dot_product_attention"


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def expected(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """By the definition, in double precision; zeros where a query may look at nothing."""
    each = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(a, each, axis=-3).astype(np.float64) for a in (k, v))
    scores = q.astype(np.float64) @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    largest = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(largest), 0.0, largest))
    total = powers.sum(-1, keepdims=True)
    return powers @ v / np.where(total == 0.0, 1.0, total)


def launches_made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows with each launch that Python makes of a routine from now on."""
    made: list[Any] = []
    make = RoutineKernel._new_launch
    monkeypatch.setattr(RoutineKernel, "_new_launch", lambda self, arrays: (made.append(self), make(self, arrays))[1])
    return made


@pytest.mark.parametrize("texts", [1, 3])
def test_a_cache_that_grows_asks_for_no_more_launches(texts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function = flambeau.CompilationUnit(LOOP).f
    x = numbers(texts, 2, 1, 12)
    tensor = flambeau.from_numpy(x)
    for _ in range(4):
        function(tensor, 5)
    made = launches_made(monkeypatch)
    found = function(tensor, 150)
    assert not made
    keys = x[:, :, :0]
    for _ in range(150):
        keys = np.concatenate([keys, x], 2)
        x = np.tanh(x + expected(x, keys, keys)).astype(np.float32)
    np.testing.assert_allclose(found.numpy(), x, atol=1e-3)


@pytest.mark.parametrize("kind", ["none", "bools", "numbers"])
def test_sizes_of_every_form_in_turn(kind: str) -> None:
    masked = kind != "none"
    function = flambeau.CompilationUnit(ONE.format(", m: Tensor" if masked else "", CALL, "m" if masked else "None")).f
    draw = np.random.default_rng(5)
    for _ in range(120):
        batch, heads, queries, keys = (int(draw.integers(1, most)) for most in (3, 4, 20, 150))
        q, k, v = numbers(batch, heads, queries, 9), numbers(batch, heads, keys, 9), numbers(batch, heads, keys, 21)
        sizes = [int(draw.choice([1, n])) for n in (batch, heads, queries, keys)][int(draw.integers(0, 3)) :]
        mask = None if not masked else draw.standard_normal(sizes).astype(np.float32)
        mask = mask > -0.5 if kind == "bools" else mask
        arrays = [q, k, v] if mask is None else [q, k, v, mask]
        found = function(*map(flambeau.from_numpy, arrays))
        np.testing.assert_allclose(found.numpy(), expected(q, k, v, mask), atol=2e-5)


def test_heads_of_keys_that_serve_several() -> None:
    function = flambeau.CompilationUnit(ONE.format("", CALL, "None, 0.0, False, enable_gqa=True")).f
    for many, few, queries, keys in [(4, 2, 1, 9), (4, 2, 1, 99), (8, 2, 3, 9), (4, 4, 1, 9), (4, 1, 1, 9)] * 2:
        q, k, v = numbers(2, many, queries, 8), numbers(2, few, keys, 8), numbers(2, few, keys, 8)
        found = function(*map(flambeau.from_numpy, (q, k, v)))
        np.testing.assert_allclose(found.numpy(), expected(q, k, v), atol=2e-5)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, -0.0])
def test_special_values_of_one_query_stay_with_it(number: float) -> None:
    function = flambeau.CompilationUnit(ONE.format("", CALL, "None")).f
    q, k, v = numbers(2, 2, 1, 8), numbers(2, 2, 150, 8), numbers(2, 2, 150, 8)
    q[0, 1, 0, 3], v[1, 0, 7, 2] = number, number
    with np.errstate(invalid="ignore"):
        wanted = expected(q, k, v)
    found = function(*map(flambeau.from_numpy, (q, k, v))).numpy()
    np.testing.assert_array_equal(np.isfinite(found[1]), np.isfinite(wanted[1]))
    np.testing.assert_allclose(found[0, 0], wanted[0, 0], atol=2e-5)
    assert np.isfinite(number) or not np.isfinite(found[0, 1]).any()


def test_what_has_no_pattern_has_exact_launches() -> None:
    options = Options(is_causal=False, scale=None, has_groups=False)
    x = numbers(2, 1, 8)
    pattern = launch_of([x, x, x], [0, 1, 2], options).pattern
    assert pattern is not None
    assert pattern.cut == (-1, 1) or engine().target.vector_bits <= 128
    many = numbers(2, 30, 8)
    cut = launch_of([many, many, many], [0, 1, 2], options).pattern
    assert cut is not None
    assert cut.cut[1] >= 16
