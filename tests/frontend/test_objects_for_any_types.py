"""Named tuples and methods without annotations in programs on arrays: of what a call passes, as in CPython."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import CompileError

Point = namedtuple("Point", ["x", "y"])
Part = namedtuple("Part", "start size", defaults=(0,))


class Running:
    def __init__(self):
        self.count = 0
        self.mean = 0.0
        self.squares = 0.0

    def push(self, x):
        self.count += 1
        delta = x - self.mean
        self.mean += delta / self.count
        self.squares += delta * (x - self.mean)

    def scaled(self, k=1):
        return self.mean * k, self.squares


class Doubled:
    def __init__(self, x: Tensor):
        self.x = x

    def times(self, k):
        return self.x * k


def lengths(x):
    points = [Point(v, 2 * i) for i, v in enumerate(x)]
    total = 0.0
    for p in points:
        total += p.x * p.y
    first, second = points[1]
    return total, points[0], first, second, points[2]._replace(y=7)


def arrays_in_points(x):
    p, q = Point(x, x.sum()), Point(y=1, x=2.5)
    return p.x * p.y + q.x, q, q[1]


def parts_of(x):
    parts = []
    for i in range(len(x)):
        parts.append(Part(i, x[i]))
    longest = parts[0]
    for part in parts:
        if part.size > longest.size:
            longest = part
    return longest, Part(3).size, np.sum(x)


def running(x):
    stats = Running()
    for v in x:
        stats.push(v)
    stats.push(3)
    return stats.count, stats.mean, stats.scaled(), stats.scaled(2), stats.scaled(0.5), np.sum(x)


@pytest.mark.filterwarnings("ignore::flambeau.PerformanceWarning")
@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("fn", [lengths, arrays_in_points, parts_of, running], ids=lambda fn: fn.__name__)
def test_objects_hold_what_calls_pass(fn: Any, backend: Any) -> None:
    scripted = flambeau.script(fn, backend=backend)
    for x in (np.array([1.5, 4.0, -2.0]), np.array([3, 1, 2])):
        got, wanted = scripted(x), fn(x)
        for one, other in zip(got, wanted, strict=True):
            assert type(one) is type(other) or isinstance(other, np.generic)
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_loops_with_such_methods_are_native() -> None:
    scripted = flambeau.script(running)
    scripted(np.ones(3))
    assert "native from end to end" in str(scripted.explain())


def test_programs_on_tensors_have_tensors_there() -> None:
    def program(x: Tensor):
        return Doubled(x).times(x), Point(x, x).y

    product, same = flambeau.script(program)(flambeau.tensor([2.0]))
    assert (product.item(), same.item()) == (4.0, 2.0)

    def number(x: Tensor):
        return Doubled(x).times(2.0)

    with pytest.raises(CompileError, match="Expected a value of type 'Tensor"):
        flambeau.script(number)

    def field(x: Tensor):
        return Point(x, 2).x

    assert flambeau.script(field)(flambeau.tensor([2.0])).item() == 2.0
