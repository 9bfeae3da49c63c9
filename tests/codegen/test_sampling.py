"""Images read at the places of a grid by machine code, against a definition in double precision, place by place."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs native code")
MODES, PADDINGS = ("bilinear", "nearest"), ("zeros", "border", "reflection")
SHAPES = (
    ((2, 3, 4, 5), (2, 6, 19)), ((1, 1, 1, 1), (1, 2, 2)), ((1, 2, 1, 3), (1, 4, 4)), ((2, 0, 3, 3), (2, 2, 2)),
    ((2, 3, 3, 3), (2, 0, 2)), ((0, 3, 3, 3), (0, 3, 2)),
)  # fmt: skip


def place_of(coordinate: float, size: int, padding: str, align_corners: bool) -> float:
    place = (coordinate + 1) / 2 * (size - 1) if align_corners else ((coordinate + 1) * size - 1) / 2
    if padding == "reflection":
        least, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
        away = abs(place - least)
        extra = np.fmod(away, span) if span else 0.0
        flips = np.floor(away / span) if span else 0.0
        place = least + (extra if flips % 2 == 0 else span - extra)
    return place if padding == "zeros" else float(np.clip(place, 0, size - 1))


def defined(x: Any, grid: Any, mode: str, padding: str, align_corners: bool) -> Any:
    result = np.zeros((*x.shape[:2], *grid.shape[1:3]))
    for n, i, j in np.ndindex(*grid.shape[:3]):
        across, down = grid[n, i, j].astype(np.float64)
        row, column = (
            place_of(c, s, padding, align_corners) for c, s in ((down, x.shape[2]), (across, x.shape[3]))
        )
        if mode == "nearest":
            taken = [(np.rint(row), np.rint(column), 1.0)]
        else:
            top, left = np.floor(row), np.floor(column)
            taken = [
                (top + a, left + b, (row - top if a else top + 1 - row) * (column - left if b else left + 1 - column))
                for a, b in product((0, 1), repeat=2)
            ]
        for r, c, share in taken:
            if 0 <= r < x.shape[2] and 0 <= c < x.shape[3]:
                result[n, :, i, j] += share * x[n, :, int(r), int(c)]
    return result


@pytest.mark.parametrize(("mode", "padding", "align"), list(product(MODES, PADDINGS, (False, True))))
def test_places_inside_and_outside(mode: str, padding: str, align: bool) -> None:
    call = f"flambeau.nn.functional.grid_sample(x, g, '{mode}', '{padding}', {align})"
    source = f"def f(x: Tensor, g: Tensor):\n    return {call}\n"
    function = flambeau.jit.CompilationUnit(source).f
    rng = np.random.default_rng(5)
    for sizes, places in SHAPES:
        x, grid = rng.standard_normal(sizes), rng.uniform(-2.5, 2.5, (*places, 2))
        if grid.size > 8:
            grid.reshape(-1)[:8] = [np.nan, np.inf, -np.inf, 1, -1, 1e30, -1, -1]
        if x.size > 9:
            x.reshape(-1)[:3] = [np.inf, np.nan, -np.inf]
        with np.errstate(invalid="ignore"):
            wanted = defined(x, grid, mode, padding, align)
        given = flambeau.from_numpy(x), flambeau.from_numpy(grid)
        for _ in range(4):
            found = function(*given)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-12)
        eager = flambeau.nn.functional.grid_sample(*given, mode, padding, align)
        np.testing.assert_array_equal(found.numpy(), eager.numpy())
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_images_and_grids_lie_anyhow(dtype: Any) -> None:
    rng = np.random.default_rng(6)
    x, grid = rng.standard_normal((2, 5, 6, 7)).astype(dtype), rng.uniform(-1.2, 1.2, (2, 3, 33, 2)).astype(dtype)
    wanted = defined(x, grid, "bilinear", "zeros", False)
    turned = np.ascontiguousarray(x.transpose(3, 0, 2, 1)).transpose(1, 3, 2, 0)
    every_other = np.repeat(x, 2, axis=3)[..., ::2]
    columns = np.ascontiguousarray(grid.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    for image, places in ((turned, grid), (every_other, columns), (x, columns)):
        found = flambeau.nn.functional.grid_sample(
            flambeau.from_numpy(image), flambeau.from_numpy(places), align_corners=False
        )
        assert found.is_contiguous()
        np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=tolerance)


def test_one_tensor_may_be_both() -> None:
    function = flambeau.jit.CompilationUnit(
        "def f(x: Tensor):\n    return flambeau.nn.functional.grid_sample(x, x, align_corners=True)\n"
    ).f
    x = np.random.default_rng(7).uniform(-1, 1, (2, 3, 4, 2))
    for _ in range(4):
        found = function(flambeau.from_numpy(x))
    np.testing.assert_allclose(found.numpy(), defined(x, x, "bilinear", "zeros", True), rtol=1e-12)


@pytest.mark.parametrize(
    ("grid", "words"),
    [((2, 6, 7, 3), "expected grid to have size 2 in last dimension"), ((1, 6, 7, 2), "to have same batch size")],
)
def test_what_does_not_fit_is_refused_in_the_operators_words(grid: tuple[int, ...], words: str) -> None:
    function = flambeau.jit.CompilationUnit(
        "def f(x: Tensor, g: Tensor):\n    return flambeau.nn.functional.grid_sample(x, g, align_corners=False)\n"
    ).f
    for _ in range(4):
        function(flambeau.ones(2, 3, 4, 5), flambeau.zeros(2, 2, 2, 2))
    for _ in range(3):
        with pytest.raises(RuntimeError, match=words):
            function(flambeau.ones(2, 3, 4, 5), flambeau.zeros(*grid))


def test_volumes_and_cubic_reading_stay_operators() -> None:
    x, grid = flambeau.ones(1, 2, 3, 4, 5), flambeau.zeros(1, 2, 2, 2, 3)
    assert flambeau.nn.functional.grid_sample(x, grid, align_corners=False).tolist()[0][0] == [[[1.0] * 2] * 2] * 2
    found = flambeau.nn.functional.grid_sample(x[0], flambeau.zeros(2, 3, 3, 2), "bicubic", align_corners=False)
    np.testing.assert_allclose(found.numpy(), np.ones((2, 3, 3, 3)), rtol=1e-6)


def test_grids_of_affine_maps_are_native_whatever_sizes_come() -> None:
    @flambeau.script
    def grids(maps: Tensor, image: Tensor) -> tuple[Tensor, Tensor]:
        edges = flambeau.nn.functional.affine_grid(maps, image.size(), align_corners=False)
        return edges, flambeau.nn.functional.affine_grid(maps, image.size(), align_corners=True) * 2.0

    rng = np.random.default_rng(8)
    shapes = ((2, 3, 4, 5), (2, 1, 5, 4), (3, 1, 1, 7), (1, 1, 1, 1), (2, 3, 4, 5, 6))
    for sizes, align in product(shapes, (False, True)):
        places, dims = sizes[2:], len(sizes) - 2
        ends = [1.0 if align else (n - 1) / n for n in places]
        maps = rng.standard_normal((sizes[0], dims, dims + 1))
        grid = grids(flambeau.from_numpy(maps), flambeau.zeros(sizes))[align].numpy() / (1 + align)
        for place in np.ndindex(*places):
            along = [e * (2 * i / max(n - 1, 1) - 1) * (n > 1) for e, i, n in zip(ends, place, places, strict=True)]
            wanted = maps @ np.array([*along[::-1], 1.0])
            np.testing.assert_allclose(grid[(slice(None), *place)], wanted, rtol=1e-6, atol=1e-6)
    grids.compile(flambeau.zeros(2, 2, 3), flambeau.zeros(2, 3, 4, 5))
    assert "native from end to end" in str(grids.explain(measure=False))
    for size, words in (((3, 1, 4, 4), r"matrices of shape Nx2x3 for size \[3, 1, 4, 4\]"), ((2, 1, 0, 4), "non-zero")):
        with pytest.raises(RuntimeError, match=words):
            grids(flambeau.zeros(2, 2, 3), flambeau.zeros(size))
