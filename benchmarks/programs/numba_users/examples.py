"""Programs with the arguments that they are run on, and data that several need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Program = Callable[..., Any]
random = np.random.RandomState


@dataclass(frozen=True)
class Example:
    """A program on data of a size."""

    program: Program
    arguments: Callable[[int], tuple[Any, ...]]
    size: int
    small: int
    """The size for tests."""

    @property
    def name(self) -> str:
        return f"{self.program.__name__.replace('_', ' ')} {self.size}"


EXAMPLES: list[Example] = []


def example(arguments: Callable[[int], tuple[Any, ...]], size: int, *, small: int) -> Callable[[Program], Program]:
    """Note a program with what makes its arguments of a size; the program stays as it is."""

    def note(program: Program) -> Program:
        EXAMPLES.append(Example(program, arguments, size, small))
        return program

    return note


def csr(n: int, row: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """A sparse matrix of n rows by rows, each of so many entries: where rows begin, columns, entries."""
    rng = random(seed)
    columns = rng.randint(0, n, n * row)
    return np.arange(0, n * row + 1, row), columns, rng.rand(n * row)


def definite(n: int) -> Any:
    """A symmetric matrix whose eigenvalues are positive."""
    m = random(39).rand(n, n)
    return m @ m.T + n * np.eye(n)


def hidden_states(n: int) -> tuple[Any, ...]:
    """What was seen in n steps of four hidden states, how they begin, move and show themselves in five ways."""
    rng = random(31)

    def shares(*shape: int) -> Any:
        m = rng.rand(*shape)
        return m / m.sum(-1, keepdims=True)

    return rng.randint(0, 5, n), shares(4), shares(4, 4), shares(4, 5)


def kd_tree(n: int) -> tuple[Any, ...]:
    """Points of a plane, the tree of their indexes halved by one axis after the other, and points to look for."""
    points = random(19).rand(n, 2)
    tree = np.full(2 * n + 2, -1)

    def split(node: int, index: Any, axis: int) -> None:
        if len(index) == 0:
            return
        index = index[np.argsort(points[index, axis], kind="stable")]
        middle = len(index) // 2
        tree[node] = index[middle]
        split(2 * node + 1, index[:middle], 1 - axis)
        split(2 * node + 2, index[middle + 1 :], 1 - axis)

    split(0, np.arange(n), 0)
    return points, tree, random(20).rand(max(n // 5, 3), 2)
