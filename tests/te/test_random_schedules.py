"""Random expressions under random legal schedules give what NumPy gives, on sizes where tails go wrong too."""

from __future__ import annotations

import random

import numpy as np
import pytest

import flambeau
from flambeau import te
from flambeau.te import LoopNest, ScheduleError
from tests.te.running import agrees

SIZES = (0, 1, 2, 7, 8, 9, 17)


def _program(rng: random.Random, n: int, m: int, k: int, *, is_symbolic: bool) -> tuple[LoopNest, list, np.ndarray]:
    """A product, a function of its elements with their neighbours, and perhaps a sum of rows."""
    data = np.random.default_rng(rng.random().__hash__() & 0xFFFF)
    a, b = (data.integers(-4, 5, shape).astype(np.float32) for shape in ((n, k), (k, m)))
    rows, columns, depth = (te.var(v) for v in "nmk") if is_symbolic else (n, m, k)
    A, B = te.placeholder("A", (rows, depth)), te.placeholder("B", (depth, columns))
    C = te.reduce("C", (rows, columns), "sum", lambda i, j, k: A[i, k] * B[k, j], over=depth)
    product = a @ b
    way = rng.randrange(4)
    if way == 0:
        return LoopNest(C), [a, b], product
    if way == 1:
        shifted = np.zeros_like(product)
        shifted[:, 1:] = product[:, :-1]
        D = te.compute(
            "D", (rows, columns), lambda i, j: te.maximum(C[i, j], 0) + te.where(j > 0, C[i, j - 1], 0)
        )
        return LoopNest(D), [a, b], np.maximum(product, 0) + shifted
    D = te.compute("D", (rows, columns), lambda i, j: te.minimum(C[i, j], 3) * 2)
    if way == 2:
        return LoopNest(D), [a, b], np.minimum(product, 3) * 2
    S = te.reduce("S", rows, "max", lambda i, j: D[i, j], over=columns)
    return LoopNest(S), [a, b], np.max(np.minimum(product, 3) * 2, axis=1, initial=-np.inf).astype(np.float32)


def _step(rng: random.Random, nest: LoopNest) -> None:
    """One random step, which may be refused."""
    loops = nest.loops()
    loop = rng.choice(loops)
    computed = [t for t in nest.tensors if not t.is_placeholder]
    match rng.randrange(13):
        case 0 | 1:
            nest.split(loop, rng.choice((1, 2, 4, 8)), tail=rng.choice(("mask", "loop")))
        case 2:
            nest.split(loop, parts=rng.choice((1, 2, 3)))
        case 3:
            inside = [one for one in nest.loops() if any(around is loop for around in nest.path(one))]
            nest.fuse(loop, rng.choice(inside or loops))
        case 4 | 5:
            own = nest.loops(rng.choice(computed))
            nest.reorder(*rng.sample(own, min(len(own), rng.choice((2, 3)))))
        case 6:
            nest.vectorize(loop)
        case 7:
            nest.parallel(loop)
        case 8:
            nest.unroll(loop)
        case 9:
            nest.compute_at(rng.choice(computed), loop)
        case 10:
            nest.cache(rng.choice(nest.tensors), loop)
        case 11:
            nest.rfactor(loop)
        case _:
            rng.choice((nest.slice_head, nest.slice_tail))(loop, rng.choice((1, 3)))


@pytest.mark.parametrize("seed", range(24))
def test_random_schedules_give_what_numpy_gives(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [rng.choice(SIZES) for _ in range(3)]
    nest, given, expected = _program(rng, *sizes, is_symbolic=rng.random() < 0.5)
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(2)
    try:
        for _ in range(rng.randrange(1, 9)):
            text, steps = str(nest), len(nest.steps)
            try:
                _step(rng, nest)
            except ScheduleError:
                assert str(nest) == text, "a step that is refused changes nothing"
                assert len(nest.steps) == steps
        agrees(nest, expected, *given, interp=seed % 4 == 0)
        nest.simplify()
        agrees(nest, expected, *given, interp=False)
    finally:
        flambeau.set_num_threads(before)
