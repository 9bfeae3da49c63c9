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


Program = tuple[LoopNest, list[np.ndarray], np.ndarray]
"""A nest, what it is called with, and what it gives."""


def _program(rng: random.Random, sizes: list[int], *, is_symbolic: bool) -> Program:
    """One of a few computations of these sizes."""
    data = np.random.default_rng(rng.randrange(1 << 30))
    symbols: list[te.Var | int] = [te.var(v) if is_symbolic else size for v, size in zip("nmk", sizes, strict=True)]
    kind = rng.choice((_products, _products, _stencil, _gather, _integers))
    return kind(rng, data, sizes, symbols)


def _products(rng: random.Random, data: np.random.Generator, sizes: list[int], symbols: list[te.Var | int]) -> Program:
    """A product, a function of its elements with their neighbours, and perhaps a sum of rows."""
    (n, m, k), (rows, columns, depth) = sizes, symbols
    a, b = (data.integers(-4, 5, shape).astype(np.float32) for shape in ((n, k), (k, m)))
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


def _stencil(rng: random.Random, data: np.random.Generator, sizes: list[int], symbols: list[te.Var | int]) -> Program:
    """Neighbours of a temporary on both sides, twice."""
    n, m = sizes[:2]
    rows, columns = symbols[:2]
    x = data.integers(-9, 10, (n, m)).astype(np.float64)
    X = te.placeholder("X", (rows, columns), "float64")
    T = te.compute("T", (rows, columns), lambda i, j: X[i, j] * 2 + 1)

    def around(t: te.Tensor) -> te.Tensor:
        return te.compute(f"{t.name}_around", (rows, columns), lambda i, j: te.where(
            i > 0, t[i - 1, j], 0) - te.where(i < rows - 1, t[i + 1, j], 0) + te.where(j + 1 < columns, t[i, j + 1], 7)
        )  # fmt: skip

    def wanted(t: np.ndarray) -> np.ndarray:
        padded = np.pad(t, ((1, 1), (0, 0)))
        return padded[:-2] - padded[2:] + np.pad(t, ((0, 0), (0, 1)), constant_values=7)[:, 1:]

    return LoopNest(around(around(T))), [x], wanted(wanted(x * 2 + 1))


def _gather(rng: random.Random, data: np.random.Generator, sizes: list[int], symbols: list[te.Var | int]) -> Program:
    """Rows that indices say, which are looked at."""
    n, m, _ = sizes
    rows, columns, _ = symbols
    table, at = data.integers(-9, 10, (5, m)).astype(np.int16), data.integers(0, 5, n, dtype=np.int32)
    A, I = te.placeholder("A", (5, columns), "int16"), te.placeholder("I", rows, "int32")  # noqa: E741
    G = te.compute("G", (rows, columns), lambda i, j: A[I[i], j] * 3)
    S = te.reduce("S", (rows, 2), "sum", lambda i, s, j: G[i, j] + s, over=columns, dtype="int64")
    return LoopNest(S), [table, at], (table[at] * 3).sum(1)[:, None] + np.arange(2) * m


def _integers(rng: random.Random, data: np.random.Generator, sizes: list[int], symbols: list[te.Var | int]) -> Program:
    """Products that wrap round, and whether any is odd."""
    n, m, _ = sizes
    rows, columns, _ = symbols
    x = data.integers(-99, 100, (n, m), dtype=np.int32)
    X = te.placeholder("X", (rows, columns), "int32")
    P = te.reduce("P", rows, "prod", lambda i, j: X[i, j], over=columns)
    if rng.random() < 0.5:
        return LoopNest(P), [x], np.prod(x, axis=1, dtype=np.int32)
    Q = te.reduce("Q", (), "any", lambda i: te.eq(P[i] % 2, 1), over=rows)
    return LoopNest(Q), [x], np.any(np.prod(x, axis=1, dtype=np.int32) % 2 == 1)


def _step(rng: random.Random, nest: LoopNest) -> None:
    """One random step, which may be refused."""
    loops = nest.loops()
    if not loops:
        return
    loop = rng.choice(loops)
    computed = [t for t in nest.tensors if not t.is_placeholder]
    match rng.randrange(15):
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
        case 12:
            nest.compute_inline(rng.choice(computed))
        case 13:
            nest.simplify()
        case _:
            rng.choice((nest.slice_head, nest.slice_tail))(loop, rng.choice((1, 3)))


@pytest.mark.parametrize("seed", range(24))
def test_random_schedules_give_what_numpy_gives(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [rng.choice(SIZES) for _ in range(3)]
    nest, given, expected = _program(rng, sizes, is_symbolic=rng.random() < 0.5)
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
