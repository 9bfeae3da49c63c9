"""Lists, dicts and texts, where nothing is annotated, are what a call brings; what would change them is refused."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def mean(xs):
    return sum(xs) / len(xs)


def nested(rows):
    total = 0
    for row in rows:
        for v in row:
            total += v
    return total


def products(pairs):
    return [a * b for a, b in pairs]


def own(xs):
    ys = list(xs)
    ys.append(4)
    zs = sorted(xs)
    zs[0] = 9
    return ys, zs


def repeated(words, n):
    return [w * n for w in words]


def start(s, n):
    return s[:n].upper() + s.strip()


Point = namedtuple("Point", ["x", "y"])


def of_points(points):
    return float(np.sqrt(sum(p.x * p.y for p in points))), max(points, key=lambda p: p.y).x


def length(s):
    return len(s)


def beside_array(xs, x):
    out = np.zeros(len(x))
    for k in range(len(x)):
        out[k] = x[k] + xs[k]
    return out.tolist()


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (mean, ([1.0, 2.5],)), (mean, ([1, 2],)), (nested, ([[1, 2], [3]],)), (products, ([(1, 2.5), (3, 4.5)],)),
        (own, ([3, 1, 2],)), (repeated, (["a", "b"], 2)), (start, (" abc", 2)), (length, ("text",)),
        (of_points, ([Point(1.0, 2.0), Point(3.0, 0.5)],)),
        (beside_array, ([1, 2], np.array([0.5, 1.5]))),
    ],
)  # fmt: skip
def test_containers_are_what_a_call_brings(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    function = flambeau.script(program)
    for _ in range(3):
        assert function(*arguments) == program(*arguments)


def written(xs):
    xs[0] = 5
    return np.array(xs)


def sorted_there(xs):
    xs.sort()
    return xs[0]


def written_inside(rows):
    for row in rows:
        row[0] = 0
    return len(rows)


def written_by_callee(xs):
    return written(xs).sum()


@pytest.mark.parametrize("program", [written, sorted_there, written_by_callee])
def test_programs_that_change_what_a_call_brings_are_refused(program: Callable[..., Any]) -> None:
    text = f"{program.__name__} changes 'xs', which is a list here: programs work on copies"
    with pytest.raises(CompileError, match=text):
        flambeau.script(program)([3, 1, 2])


def test_changes_of_lists_inside_are_refused() -> None:
    with pytest.raises(CompileError, match="written_inside changes 'rows', which is a list here"):
        flambeau.script(written_inside)([[1], [2]])


def test_a_list_where_an_array_is_meant_is_told_of() -> None:
    def added(x, y):
        return x + y

    with pytest.raises(CompileError, match=r"'y' is a list in this call: pass np.array\(y\) or"):
        flambeau.script(added)(np.ones(2), [1.0, 2.0])


def test_bytes_say_what_to_pass() -> None:
    for value in (b"ab", bytearray(b"ab")):
        with pytest.raises(TypeError, match=r"programs have no bytes: pass np.frombuffer\(b, dtype=np.uint8\)"):
            flambeau.script(mean)(value)

    def of_bytes(b: bytes):
        return b[0]

    with pytest.raises(CompileError, match=r"'bytes': write list\[int\] and pass list\(b\)"):
        flambeau.script(of_bytes)


def test_the_graph_of_a_call_is_that_of_what_it_brings() -> None:
    def sums(n, k):
        total = 0.0
        for i in range(n):
            total += i * k
        return total

    assert "%n.1 : int" in str(flambeau.script(sums).graph_for(5, 2.0))
    assert "%xs.1 : float[]" in str(flambeau.script(mean).graph_for([1.0, 2.0]))


def test_generators_of_numpy_say_what_to_pass() -> None:
    def drawn(rng, n):
        x = np.zeros(n)
        for k in range(n):
            x[k] = rng.rand() + rng.normal()
        return x

    for rng in (np.random.RandomState(0), np.random.default_rng(0)):
        with pytest.raises((CompileError, TypeError), match="a generator of NumPy stays outside of programs: pass a"):
            flambeau.script(drawn)(rng, 3)
