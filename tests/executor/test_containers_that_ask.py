"""Calls whose arguments hold tensors that ask for gradients, in containers of every kind, give them gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import flambeau
from flambeau import Tensor


class Pair(NamedTuple):
    w: Tensor
    b: Tensor


def dictionaries(p: list[dict[str, Tensor]], x: Tensor) -> Tensor:
    for part in p:
        x = flambeau.tanh(x @ part["w"])
    return x.sum()


def named_tuples(p: list[Pair], x: Tensor) -> Tensor:
    for part in p:
        x = flambeau.tanh(x @ part.w) + part.b.sum()
    return x.sum()


def named_tuple(p: Pair, x: Tensor) -> Tensor:
    for _ in range(2):
        x = flambeau.tanh(x @ p.w) + p.b.sum()
    return x.sum()


def with_holes(p: list[Tensor | None], x: Tensor) -> Tensor:
    for part in p:
        if part is not None:
            x = flambeau.tanh(x @ part)
    return x.sum()


def ragged(p: list[list[Tensor]], x: Tensor) -> Tensor:
    for part in p:
        x = x + part[0].sum()
    return x.sum()


def of_tuples(p: list[tuple[Tensor, dict[str, Tensor]]], x: Tensor) -> Tensor:
    for part, rest in p:
        x = flambeau.tanh(x @ part) @ rest["w"]
    return x.sum()


def gives_named_tuple(p: Pair, x: Tensor) -> Pair:
    return Pair(x @ p.w, p.b)


CASES: list[tuple[Any, Any]] = [
    (dictionaries, lambda w: [{"w": w}, {"w": w}]),
    (dictionaries, lambda w: [{"w": w.detach()}, {"w": w}]),
    (named_tuples, lambda w: [Pair(w, w), Pair(w, w)]),
    (named_tuple, lambda w: Pair(w, w)),
    (with_holes, lambda w: [None, w]),
    (ragged, lambda w: [[w.detach()[0]], [w]]),
    (of_tuples, lambda w: [(w.detach(), {"w": w})]),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_c09_tensors_in_containers_have_gradients(number: int) -> None:
    function, arguments = CASES[number]
    scripted = flambeau.script(function)
    w, x = flambeau.full((3, 3), 0.3).requires_grad_(), flambeau.ones(2, 3)
    function(arguments(w), x).backward()
    want = w.grad
    for _ in range(3):
        w.grad = None
        scripted(arguments(w), x).backward()
        assert flambeau.allclose(w.grad, want)
        with flambeau.no_grad():
            assert not scripted(arguments(w), x).requires_grad


def test_c09_named_tuples_come_back() -> None:
    w, x = flambeau.full((3, 3), 0.3).requires_grad_(), flambeau.ones(2, 3)
    scripted = flambeau.script(gives_named_tuple)
    for _ in range(3):
        with flambeau.no_grad():
            assert scripted(Pair(w, w), x).b is w
        w.grad = None
        scripted(Pair(w, w), x).w.sum().backward()
        assert flambeau.allclose(w.grad, flambeau.full((3, 3), 2.0))
