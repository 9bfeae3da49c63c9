"""Slices whose sizes are surely equal: their gradients are summed up where sizes may differ, and only there."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import flambeau
from flambeau.autodiff.symbolic_sizes import Size
from flambeau.func import grad, hessian

Slice = tuple[int, int | None, int]
SLICES: list[Slice] = [
    *itertools.product((-3, -1, 0, 1, 2), (None, -2, -1, 1, 2, 4), (1,)), (0, None, 2), (1, None, 2), (-2, 3, 1)
]  # fmt: skip


def test_one_size_is_one_number() -> None:
    size = Size(is_one=False)
    seen: dict[Size, list[tuple[Slice, ...]]] = {}
    for chain in (*itertools.product(SLICES, repeat=1), *itertools.product(SLICES, repeat=2)):
        part = size
        for one in chain:
            part = part.sliced(*one)
        seen.setdefault(part, []).append(chain)
    for count in (0, *range(2, 9)):
        for part, chains in seen.items():
            lengths = set()
            for chain in chains:
                items = range(count)
                for one in chain:
                    items = items[slice(*one)]
                lengths.add(len(items))
            assert len(lengths) == 1
            assert part.is_one is not False or lengths != {1}


def differences(x: flambeau.Tensor) -> flambeau.Tensor:
    return ((x[1:] - x[:-1] ** 2) ** 2).sum() + (x[2:] * x[1:-1] * x[:-2]).sum()


def against_others(x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
    return (x[1:] * y).sum() + (x[:1] * x[1:-1]).sum() + (x[-1:] * y[:2] ** 2).sum()


def planes(x: flambeau.Tensor) -> flambeau.Tensor:
    return ((x[1:, :2] - x[:-1, -2:]) * x[1:, 1:].sum()).square().sum() + (x[:, 1:] * x[:, :1]).sum()


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (differences, [((n,),) for n in (5, 2, 3, 0, 1)]),
        (against_others, [((n,), (n - 1,)) for n in (4, 3)] + [((2,), (3,)), ((5,), (1,))]),
        (planes, [((4, 3),), ((2, 3),), ((3, 2),), ((2, 2),)]),
    ],
)
def test_gradients_are_those_of_the_tape(function: Any, sizes: Any) -> None:
    numbers = tuple(range(len(sizes[0])))
    transforms = (grad, hessian) if function is differences else (grad,)
    for shapes in sizes:
        leaves = [(flambeau.arange(float(flambeau.Size(s).numel())) * 0.7).sin().reshape(s).double() for s in shapes]
        for transform in transforms:
            compiled = transform(flambeau.script(function), numbers)
            for _ in range(2):
                flambeau.testing.assert_close(compiled(*leaves), transform(function, numbers)(*leaves))
