"""Writes into tensors whose steps through memory are not known when the code is made, beside what is broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from benchmarks.programs import loops_with_tensors
from flambeau import Tensor
from tests.codegen.graph.loop_programs import agree, native_functions, outcome_on

RNG = np.random.default_rng(3)


def bordered(board: Tensor, iterations: int) -> Tensor:
    """What is copied comes from a loop, and lies as what it was before did."""
    cells = board
    for _ in range(iterations):
        padded = flambeau.zeros([cells.size(0) + 2, cells.size(1) + 2])
        padded[1:-1, 1:-1] = cells
        cells = padded[:-2, 2:] * 0.5 + padded[2:, :-2]
    return cells


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (3, 4), (17, 33), (0, 3), (3, 0)])
def test_copies_into_the_middle(shape: tuple[int, int]) -> None:
    native = agree(bordered, (RNG.random(shape).astype(np.float32), 3))
    assert native_functions(native)


def written(x: Tensor, y: Tensor) -> Tensor:
    x[1:] = y
    x[:, 1:] += y[:1, 1:]
    return x


def layouts(rows: int, columns: int) -> list[Tensor]:
    """One shape, laid out in several ways."""
    base = flambeau.from_numpy(RNG.random((rows, columns)))
    wide = flambeau.from_numpy(RNG.random((rows, 2 * columns)))
    return [base, base.t().contiguous().t(), wide[:, ::2], wide[:, :columns], base.flip(0)]


@pytest.mark.parametrize("rows", [2, 3, 9])
@pytest.mark.parametrize("columns", [1, 2, 8, 19])
def test_every_layout_and_every_broadcast(rows: int, columns: int) -> None:
    native, plain = flambeau.script(written), flambeau.script(written, backend="interpreter")
    for x in layouts(rows, columns):
        sources = [*layouts(rows - 1, columns), *layouts(1, columns), *layouts(rows - 1, 1), *layouts(1, 1)]
        for y in sources:
            given, wanted = [x.clone(), y], [x.clone(), y]
            assert outcome_on(native, given) == outcome_on(plain, wanted)
            kept: list[Any] = [x.numpy().copy(order="K"), y]
            assert outcome_on(native, [flambeau.from_numpy(kept[0]), y]) == outcome_on(plain, [x.clone(), y])


def test_a_source_of_another_size_is_refused_at_its_line() -> None:
    fn = flambeau.script(written)
    for _ in range(3):
        fn(flambeau.zeros(4, 3), flambeau.ones(3, 3))
    with pytest.raises(RuntimeError, match=r"(?s)x\[1:\] = y.*tensor a \(3\) must match the size of tensor b \(2\)"):
        fn(flambeau.zeros(4, 3), flambeau.ones(2, 3))


def test_life_is_what_numpy_says() -> None:
    board = (RNG.random((20, 31)) < 0.4).astype(np.int32)
    cells = board
    for _ in range(12):
        p = np.pad(cells, 1)
        around = sum(np.roll(p, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)[1:-1, 1:-1]
        cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.int32)
    found = flambeau.script(loops_with_tensors.life)(flambeau.from_numpy(board), 12)
    np.testing.assert_array_equal(found.numpy(), cells)


def test_a_tensor_without_axes_that_lies_in_what_is_written_is_refused_as_eagerly() -> None:
    @flambeau.script
    def lowered(y: Tensor, one: Tensor):
        rows = one.unsqueeze(0)
        rows -= one
        return y + rows

    for _ in range(4):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            lowered(flambeau.ones(4), flambeau.tensor(3.0))


def test_a_tensor_without_axes_beside_what_is_written_is_subtracted() -> None:
    @flambeau.script
    def lowered(x: Tensor, one: Tensor):
        x -= one
        one += one
        return x

    for _ in range(4):
        x, one = flambeau.ones(4), flambeau.tensor(3.0)
        assert lowered(x, one).tolist() == [-2.0] * 4
        assert one.item() == 6.0
