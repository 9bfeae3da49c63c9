"""Lists of objects that nobody else sees become lists of their attributes; others stay, and mean what they did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import flambeau
from flambeau.passes.lower_objects import CREATE
from tests.codegen.graph.one_meaning import assert_native


@dataclass
class Body:
    x: float
    v: float = 0.5
    hits: int = 0

    def move(self, step: float) -> None:
        self.x += step * self.v
        if self.x > 3.0:
            self.v = -self.v
            self.hits += 1


class Path:
    def __init__(self, start: int) -> None:
        self.places = [start]
        self.name = "p"


def moved(n: int):
    bodies = [Body(k * 1.0, 1.0 + k % 3) for k in range(n)]
    for _ in range(20):
        for b in bodies:
            b.move(0.125)
    return sum(b.x for b in bodies), sum([b.hits for b in bodies]), len(bodies)


def pulled(n: int):
    bodies = [Body(0.5), Body(2.0)]
    for k in range(n):
        bodies.append(Body(k * 0.25, v=1.0))
    for i in range(len(bodies)):
        a = bodies[i]
        for j, b in enumerate(bodies):
            if i != j:
                a.v += 0.01 * (b.x - a.x)
    return [b.v for b in bodies], bodies[-1].x, bodies[0].v


def kept_places(n: int):
    bodies = [Body(1.0)]
    last = bodies[-1]
    for k in range(n):
        bodies.append(Body(10.0 + k))
        last.x += 1.0
    return last.x, bodies[-1].x, [b.x for b in bodies]


def of_lists(n: int):
    paths = [Path(k) for k in range(n)]
    for k, p in enumerate(paths):
        p.places.append(k * k)
        p.name += str(k)
    return [sum(p.places) for p in paths], [p.name for p in paths]


def outside(n: int):
    bodies = [Body(1.0), Body(2.0)]
    bodies[0].hits = 7
    return bodies[n].x


SPLIT: list[tuple[Callable[..., Any], int]] = [
    (moved, 5), (moved, 0), (pulled, 3), (kept_places, 3), (of_lists, 3), (outside, 1), (outside, -2),
]  # fmt: skip


@pytest.mark.parametrize(("program", "n"), SPLIT)
def test_lists_of_objects_are_lists_of_attributes(program: Callable[..., Any], n: int) -> None:
    for options in ({}, {"backend": "interpreter"}):
        function = flambeau.script(program, **options)
        for _ in range(3):
            assert function(n) == program(n)
        assert function.graph_for(n).find(CREATE) is None
        assert "__torch__" not in str(function.graph_for(n))


def test_those_of_numbers_are_native() -> None:
    for program in (moved, pulled):
        function = flambeau.script(program)
        for _ in range(3):
            function(4)
        assert_native(function)


@pytest.mark.parametrize("n", [2, -3, 7, -9])
def test_items_that_are_not_there_raise(n: int) -> None:
    for options in ({}, {"backend": "interpreter"}):
        with pytest.raises(IndexError):
            flambeau.script(outside, **options)(n)


def given_back(n: int):
    bodies = [Body(k * 1.0) for k in range(n)]
    return bodies


def chosen(n: int):
    bodies = [Body(k % 3 * 1.0) for k in range(n)]
    best = bodies[0]
    for b in bodies:
        if b.x > best.x:
            best = b
    best.hits = 3
    return [b.hits for b in bodies]


def twice(n: int):
    body = Body(1.0)
    bodies = [body, body]
    bodies[0].x = n * 1.0
    return bodies[1].x


def changed_behind(n: int):
    bodies = [Body(0.0)]
    body = Body(1.0)
    bodies.append(body)
    body.x = n * 1.0
    return bodies[1].x


def taken_out(n: int):
    bodies = [Body(k * 1.0) for k in range(n)]
    last = bodies.pop()
    return last.x + len(bodies)


def put_elsewhere(n: int):
    bodies = [Body(k * 1.0) for k in range(n)]
    few = [b for b in bodies if b.x > 0.5]
    few[0].x = 9.0
    return [b.x for b in bodies]


@pytest.mark.parametrize("program", [given_back, chosen, twice, changed_behind, taken_out, put_elsewhere])
def test_others_stay(program: Callable[..., Any]) -> None:
    function = flambeau.script(program)
    for _ in range(3):
        assert repr(function(4)) == repr(program(4))
