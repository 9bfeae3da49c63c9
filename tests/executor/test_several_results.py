"""Groups with several results of different shapes: each is computed and stored once, also where an operand is empty."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

CALLS = 4
"""The first calls make plans, the third and later ones whole functions."""


@pytest.fixture(autouse=True)
def _no_refused_code() -> Iterator[None]:
    """What LLVM refuses is a mistake, though the interpreter steps in."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def full(*shape: int) -> Tensor:
    return flambeau.arange(float(np.prod(shape))).reshape(shape) + 1


def agree(function: Callable[..., object], *shapes: tuple[int, ...]) -> None:
    """Compiled as eagerly: results, and arguments after the call."""
    script = flambeau.script(function)  # type: ignore[call-overload]
    for _ in range(CALLS):
        eager, native = ([full(*s) for s in shapes] for _ in range(2))
        expected, got = function(*eager), script(*native)
        assert isinstance(expected, tuple)
        for a, b in zip((*expected, *eager), (*got, *native), strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-6)


def scaled(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    u = y + 1
    return u, u * x


def shifted(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    y += 1
    return y * x, y * 2


def three_results(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    u = y * 2
    v = x.exp() - u
    return v, u + 1, v.sum()


def rows_and_all(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    z = x + y
    return z.sum(-1), y * 3, z


def only_a_size(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return y + x.size(0), y * 2


@pytest.mark.parametrize("function", [scaled, shifted, three_results, rows_and_all, only_a_size])
def test_c04_results_of_size_one_are_written(function: Callable[..., object]) -> None:
    shapes = ((0,), (3,), (0, 3), (3, 0), (4, 3), (1, 3))
    for x, y in itertools.product(shapes, ((1,), (), (1, 1), (3,), (1, 3), (3, 1))):
        try:
            common = np.broadcast_shapes(x, y)
        except ValueError:
            continue
        if common == x:
            agree(function, x, y)


def test_c04_small_results_get_a_kernel_of_their_own() -> None:
    def f(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        u = y * 2
        v = x.exp() - u
        return v, u + 1, v.sum()

    script = flambeau.script(f)
    script(full(40, 30), full(30))
    [compilation] = script.explain(measure=False).compilations
    assert sorted(" ".join(k.operators) for k in compilation.kernels) == ["exp sub sum", "mul add"]


def running_sum(ids: Tensor) -> Tensor:
    return ids.cumsum(1)


def row(ids: Tensor) -> Tensor:
    return ids.sum(1, keepdim=True) % 9


def place(ids: Tensor) -> Tensor:
    return ids.argmax(1, keepdim=True) % 9


def looked_up(ids: Tensor) -> Tensor:
    return flambeau.gather(ids, 1, ids % ids.size(1))


def chosen(ids: Tensor) -> Tensor:
    return flambeau.where(ids > 1, ids.cumsum(1), ids * 0)


@pytest.mark.parametrize("index", [running_sum, row, place, looked_up, chosen])
def test_c23_a_computed_index_is_both_result_and_looked_up(index: Callable[[Tensor], Tensor]) -> None:
    def twice(ids: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        p = index(ids)
        return p * 2, flambeau.embedding(w, p)

    def rows(ids: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        p = index(ids)
        return flambeau.embedding(w, p).sum(1), p, p.float().softmax(1)

    for function in (twice, rows):
        script = flambeau.script(function)
        for shape, width in itertools.product(((2, 3), (5, 1), (3, 20)), (1, 4, 33)):
            ids, w = flambeau.zeros(shape, dtype=flambeau.int64), full(9, width)
            ids[:, -2:] = 2
            for _ in range(CALLS):
                for a, b in zip(function(ids, w), script(ids, w), strict=True):
                    np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-6)


def test_c23_a_table_without_loops_around() -> None:
    def f(ids: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        p = ids.sum(1, keepdim=True) % 3
        return p * 2, flambeau.gather(w, 1, p)

    script = flambeau.script(f)
    for _ in range(CALLS):
        twice, found = script(flambeau.tensor([[1, 2, 2]]), full(1, 12))
        assert (twice.tolist(), found.tolist()) == ([[4]], [[3.0]])
