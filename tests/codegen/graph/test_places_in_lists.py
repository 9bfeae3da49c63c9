"""Lists that operators only read, as `x[i, j]` reads its places, hold none of their items, which live until then."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def edges(rank: Tensor, pairs: Tensor) -> float:
    total = 0.0
    for k in range(pairs.shape[0]):
        total += rank[pairs[k, 0]] * rank[pairs[k, 1]]
    return total


def of_fresh_tensors(rank: Tensor, pairs: Tensor) -> Tensor:
    """Places that are computed, and end with what reads them."""
    out = flambeau.zeros_like(rank)
    for k in range(pairs.shape[0]):
        row = pairs[k] % rank.size(0)
        out[row[0]] += rank[row][row * 0][0] + rank[row[1]]
    return out


def joined(rank: Tensor, pairs: Tensor) -> Tensor:
    """Views in a list that two operators read, the second within a loop."""
    shown = (rank * 2)[1:]
    parts = [shown[:2], shown[2:], rank[1:]]
    whole = flambeau.cat(parts)
    for _ in range(pairs.size(1)):
        whole = whole + flambeau.cat(parts)
    return whole


def in_both_arms(rank: Tensor, pairs: Tensor) -> Tensor:
    shown = rank + 1
    if pairs.size(0) > 3:
        out = flambeau.stack([shown, shown[:]])
    else:
        shown = shown * 2
        out = flambeau.stack([shown[:], rank[:]])
    return out + flambeau.stack([shown, rank])


PROGRAMS = [edges, of_fresh_tensors, joined, in_both_arms]


def arguments(pairs: int) -> tuple[Tensor, Tensor]:
    draw = np.random.default_rng(pairs)
    return flambeau.from_numpy(draw.normal(size=7)), flambeau.from_numpy(draw.integers(-7, 7, (pairs, 2)))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("pairs", [0, 1, 5, 40])
def test_values_are_those_of_operators(program: Callable[..., Tensor | float], pairs: int) -> None:
    function = flambeau.script(program)
    for _ in range(4):
        got, want = function(*arguments(pairs)), program(*arguments(pairs))
        assert np.array_equal(np.asarray(got), np.asarray(want))
    assert function.explain(measure=False).is_native


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_left_behind(program: Callable[..., Tensor | float]) -> None:
    function = flambeau.script(program)
    held = arguments(2000)
    for _ in range(4):
        function(*held)
    tracemalloc.start()
    try:
        function(*held)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            function(*held)
        assert tracemalloc.get_traced_memory()[0] - before < 2000
    finally:
        tracemalloc.stop()


def test_views_of_arguments_are_not_counted() -> None:
    function = flambeau.script(edges)
    for _ in range(3):
        function(*arguments(40))
    assert "call void @retain(" not in function.llvm_ir
