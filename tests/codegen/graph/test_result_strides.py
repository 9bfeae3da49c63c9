"""Results of fused groups lie in memory as those of the operators one by one: whoever takes views of them can tell."""

from __future__ import annotations

import random
from typing import Any

import pytest

import flambeau
from flambeau import Tensor


def centred(x: Tensor, y: Tensor) -> Tensor:
    return x - x.mean(0)


def kept_and_folded(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x * y
    return z, z.sum()


def several_folds(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    z = x + y
    return z, z.sum(1, keepdim=True), z - z.max()


def beside_softmax(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x.softmax(1) * 2, x + 1


def converted(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (x - x.mean(1, keepdim=True)).to(flambeau.float64), y * 2


def running(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (x * 2).cumsum(1), x * 2


def of_a_fold_alone(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    m = x.mean(1, keepdim=True)
    return (x - m) * y, (m > 0).to(flambeau.int32)


def last_operand_first(x: Tensor, y: Tensor) -> Tensor:
    return y + x.exp()


def each_as_its_own(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return y * 2, x + 1, flambeau.where(y > 0.5, x, y)


def beside_a_row_operator(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x.softmax(-1)
    return y + z, z + y


def of_a_row(x: Tensor, y: Tensor) -> Tensor:
    return x[0] * y.abs() - x


PROGRAMS = [
    last_operand_first, each_as_its_own, beside_a_row_operator, of_a_row, centred, kept_and_folded, several_folds,
    beside_softmax, converted, running, of_a_fold_alone,
]  # fmt: skip


def permuted(rng: random.Random, shape: list[int]) -> Tensor:
    """A tensor of this shape whose dimensions lie in any order, at times with gaps."""
    order = rng.sample(range(len(shape)), len(shape))
    base = flambeau.rand([shape[d] * rng.choice([1, 1, 1, 2]) for d in order])
    for place, d in enumerate(order):
        base = base.narrow(place, 0, shape[d])
    return base.permute([order.index(d) for d in range(len(shape))])


def moving(x: Tensor) -> list[int]:
    """Strides of the dimensions along which there is more than one element."""
    return [step for step, size in zip(x.stride(), x.shape, strict=True) if size != 1]


@pytest.mark.parametrize("program", PROGRAMS)
def test_strides_of_results(program: Any) -> None:
    rng = random.Random(program.__name__)
    fn = flambeau.script(program)
    for _ in range(25):
        shape = [rng.randint(1, 4) for _ in range(rng.choice([2, 3]))]
        x, y = permuted(rng, shape), permuted(rng, shape)
        given, wanted = fn(x, y), program(x, y)
        pairs = zip(given, wanted, strict=True) if isinstance(wanted, tuple) else [(given, wanted)]
        for g, w in pairs:
            assert moving(g) == moving(w), (shape, x.stride(), y.stride())
            assert flambeau.allclose(g.double(), w.double(), rtol=1e-4, atol=1e-5)
