"""Groups that no one kernel computes are cut into such that have one; what they compute stays the same."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

RNG = np.random.default_rng(5)


def narrow_fold(x: Tensor, y: Tensor) -> Tensor:
    return x + (flambeau.relu(x @ y) * 2).sum(-1, keepdim=True)


def against_itself(x: Tensor) -> Tensor:
    return flambeau.exp(x) + x.sum(1)


def folds_of_two(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (x[:, None] * 2 - y[None]).exp().sum(-1), (x * x).sum(-1)


def three(x: Tensor) -> Tensor:
    y = flambeau.softmax(x, 1) * 2
    z = y - y.mean(0)
    return z / z.abs().max()


def random(*shape: int) -> Tensor:
    return flambeau.from_numpy(RNG.normal(size=shape))


CASES: dict[str, tuple[Callable[..., object], tuple[Tensor, ...], list[str]]] = {
    "a fold that is narrower than what it meets": (
        narrow_fold, (random(5, 8), random(8, 4)), ["matmul relu", "mul sum", "add"],
    ),
    "a dimension that meets itself": (against_itself, (random(4, 4),), ["exp sum", "add"]),
    "folds of different things": (folds_of_two, (random(3, 4), random(5, 4)), ["mul sub exp sum", "mul sum"]),
    "over rows, columns and all": (three, (random(6, 7),), ["softmax mul", "mean sub abs", "max", "div"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_pieces_are_native(case: str) -> None:
    function, arguments, _ = CASES[case]
    script = flambeau.script(function)  # type: ignore[call-overload]
    expected = flambeau.script(function, backend="reference")(*arguments)  # type: ignore[call-overload]
    for _ in range(4):
        found = script(*arguments)
        for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-14)
    explained = script.explain(measure=False)
    assert explained.is_native, explained


@pytest.mark.parametrize("case", CASES)
def test_pieces_are_as_long_as_kernels_can_be(case: str) -> None:
    function, arguments, pieces = CASES[case]
    script = flambeau.script(function)  # type: ignore[call-overload]
    script(*arguments)
    [compilation] = script.explain(measure=False).compilations
    assert sorted(" ".join(k.operators) for k in compilation.kernels) == sorted(pieces)


@flambeau.script
def masked(mask: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    hidden = flambeau.where(mask.expand_as(mask), 0.0, -1e9)
    return hidden, flambeau.softmax(scores + hidden, -1)


def test_what_broadcasts_only_in_a_call_is_cut_before_code_for_the_whole_is_made() -> None:
    mask, scores = random(1, 1, 5) > 0, random(3, 4, 5)
    for _ in range(5):
        hidden, weights = masked(mask, scores)
    explained = masked.explain(measure=False)
    assert explained.is_native, explained
    for given in (mask, mask.expand(3, 4, 5).contiguous(), random(3, 1, 5) > 0):
        for _ in range(3):
            hidden, weights = masked(given, scores)
        wanted = np.where(given.numpy(), 0.0, -1e9)
        np.testing.assert_array_equal(hidden.numpy(), wanted.astype(hidden.numpy().dtype))
        exact = np.exp(scores.numpy() + wanted - (scores.numpy() + wanted).max(-1, keepdims=True))
        np.testing.assert_allclose(weights.numpy(), exact / exact.sum(-1, keepdims=True), rtol=1e-6, atol=1e-12)


def test_what_broadcasts_only_in_a_call_is_cut_before_code_is_asked_for() -> None:
    def shifted(x: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        p = b.reshape(b.numel() // 12, 3, 4) + 1
        return (x + p).softmax(-1), p

    script, x, b = flambeau.script(shifted), random(2, 3, 4), random(3, 4)
    script.compile(x, b)
    for _ in range(4):
        for found, wanted in zip(script(x, b), shifted(x, b), strict=True):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)
    explained = script.explain(measure=False)
    assert explained.is_native, explained


def test_what_broadcasts_only_in_a_call_is_cut_after_the_first_call_of_a_loop() -> None:
    def shifted(x: Tensor, b: Tensor, n: int) -> tuple[Tensor, Tensor]:
        for k in range(n):
            p = b.reshape(b.numel() // 12, 3, 4) + k
            x = (x + p).softmax(-1)
            b = p.exp().reshape(3, 4)
        return x, b

    script, x, b = flambeau.script(shifted), random(2, 3, 4), random(3, 4)
    with ThreadPoolExecutor(4) as threads:
        for call in [threads.submit(script, x, b, 2) for _ in range(4)]:
            same(call.result(), shifted(x, b, 2))
    for n in (0, 1, 2):
        same(script(x, b, n), shifted(x, b, n))
    explained = script.explain(measure=False)
    assert explained.is_native, explained
    assert explained.compilations[0].calls == 7


def same(found: tuple[Tensor, ...], wanted: tuple[Tensor, ...]) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
