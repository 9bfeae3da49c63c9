"""Named tuples whose fields are arrays: made in programs, passed to them, given back by them."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import flambeau
from flambeau.util.errors import CompileError


class State(NamedTuple):
    position: np.ndarray
    speed: npt.NDArray[np.float64]
    mass: float = 2.0


class Nested(NamedTuple):
    state: State
    count: int


Pair = collections.namedtuple("Pair", "first second")


def energy(x):
    state = State(x, x * 2)
    return (state.speed * state.speed).sum() * state.mass * 0.5


def given_back(x):
    return State(x, x[0] + 1, 3.0)


def pair(x):
    both = Pair(x, x * 2)
    first, second = both
    total = 0.0
    for i in range(len(both.first)):
        total += both.first[i] * both.second[i]
    return total, both[0].sum(), first + second, both


def steps(state: State, count: int):
    for _ in range(count):
        state = State(state.position + 0.1 * state.speed, state.speed * 0.5, state.mass)
    return state


def by_elements(state: State) -> float:
    total = 0.0
    for i in range(len(state.position)):
        total += state.position[i] * state.speed[i]
    return total * state.mass


def helped(x: np.ndarray):
    return by_elements(State(x, x + 1, 0.5)) + by_elements(State(speed=x, position=x))


def nested(both: Nested):
    return Nested(State(both.state.position[::2], both.state.speed, 1.0), both.count + 1)


X = np.arange(6.0)
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (energy, (X,)), (given_back, (X.reshape(2, 3),)), (pair, (X,)), (steps, (State(X, X + 1), 3)),
    (by_elements, (State(X.astype(np.float32), X),)), (helped, (X,)), (nested, (Nested(State(X, X), 3),)),
]  # fmt: skip


def same(a: Any, b: Any) -> bool:
    if isinstance(b, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


@pytest.mark.parametrize(("program", "arguments"), CASES, ids=[program.__name__ for program, _ in CASES])
def test_fields_are_arrays(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    wanted = program(*arguments)
    for options in ({}, {"backend": "interpreter"}):
        function = flambeau.script(program, **options)
        for _ in range(2):
            assert same(function(*arguments), wanted)


def test_programs_on_tensors_have_no_fields_of_arrays() -> None:
    def program(x: flambeau.Tensor):
        return State(x, x).position

    with pytest.raises(CompileError, match=r"State has fields that are annotated as np\.ndarray, and this program has"):
        flambeau.script(program)


class Method:
    def __init__(self) -> None:
        self.n = 1

    def forward(self, state: State) -> int:
        return self.n


def test_methods_take_no_fields_of_arrays() -> None:
    with pytest.raises(CompileError, match="arrays in functions alone, not in methods"):
        flambeau.script(Method)
