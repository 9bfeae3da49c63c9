"""Convolutions that take some planes of their input at a time, beside PyTorch's in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.convolutions import problem, run, stages
from flambeau.codegen.convolutions.lines import Line, Window, line_of
from flambeau.codegen.convolutions.planes import Planes
from flambeau.codegen.convolutions.stages import Stage
from flambeau.codegen.convolutions.sums import sums_text
from flambeau.codegen.convolutions.tile import shapes
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.convolutions.words import PROBLEM
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.engine import engine
from flambeau.util.record import dataclass, replace
from tests.codegen.test_convolutions import compare, numbers
from tests.codegen.test_few_places import block
from tests.codegen.test_routines import called

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


def _is_wide() -> bool:
    return available() and engine().target.vector_registers >= 32


def _has_masks() -> bool:
    return available() and engine().target.vector_bits > 128


has_masks = pytest.mark.skipif(not _has_masks(), reason="stages are for vectors of 256 bits and more")


def convolved(x: Any, w: Any, b: Any, stride: int, before: int, dilation: int, groups: int = 1) -> Any:
    """The result, by a problem of its own, and the words of that."""
    reach = [dilation * (k - 1) + 1 for k in w.shape[2:]]
    places = [(n + 2 * before - r) // stride + 1 for n, r in zip(x.shape[2:], reach, strict=True)]
    y = np.full((len(x), len(w), *places), np.nan, x.dtype)
    prepared = run.prepare(x, w, y, (stride,) * 2, (before,) * 2, (dilation,) * 2, groups, False)
    assert prepared is not None
    prepared(x, w, b, y)
    return y, prepared._slices[0].problem.words


CASES = [  # images, channels, rows, columns, filters, kernel, stride, before, dilation, groups
    (1, 40, 14, 14, 30, 3, 1, 1, 1, 1), (2, 13, 9, 11, 7, 3, 1, 1, 1, 1), (1, 29, 32, 32, 33, 3, 1, 1, 1, 1),
    (3, 17, 7, 7, 18, 1, 1, 0, 1, 1), (1, 33, 30, 30, 39, 1, 1, 0, 1, 1),
    (1, 19, 12, 12, 35, 3, 1, 1, 1, 1), (1, 50, 32, 32, 40, 1, 1, 0, 1, 1), (1, 9, 30, 41, 5, 3, 2, 1, 1, 1),
    (1, 22, 25, 13, 12, 2, 1, 0, 3, 1), (2, 24, 12, 10, 22, 3, 1, 1, 1, 2), (1, 8, 60, 70, 3, 5, 1, 2, 1, 1),
    (1, 15, 20, 20, 15, 3, 1, 1, 1, 1),
]  # fmt: skip


@has_masks
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("stage", [Stage(1, 48), Stage(4, 96), Stage(7, 48)], ids=str)
def test_planes_in_stages_give_what_all_of_them_give(
    case: tuple[int, ...], stage: Stage, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, channels, rows, columns, filters, kernel, stride, before, dilation, groups = case
    x = numbers(0, images, channels, rows, columns, dtype=dtype)
    w = numbers(1, filters, channels // groups, kernel, kernel, dtype=dtype)
    b = numbers(2, filters, dtype=dtype)
    monkeypatch.setattr(problem, "stage_of", lambda *_: stage)
    y, words = convolved(x, w, b, stride, before, dilation, groups)
    assert words[PROBLEM.word("planes_each")] == stage.planes
    exact = torch.conv2d(*[torch.tensor(a).double() for a in (x, w, b)], stride, before, dilation, groups)
    compare(flambeau.from_numpy(y), exact, case)


@has_masks
def test_what_is_not_finite_stays_in_its_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = np.ones((1, 20, 16, 16), np.float32), np.ones((9, 20, 3, 3), np.float32)
    x[0, 3, 5, 5], x[0, 18, 12, 12] = np.nan, np.inf
    monkeypatch.setattr(problem, "stage_of", lambda *_: Stage(6, 48))
    y, _ = convolved(x, w, None, 1, 0, 1)
    assert np.isnan(y[:, :, 3:6, 3:6]).all()
    assert np.isposinf(y[:, :, 10:13, 10:13]).all()
    y[:, :, 3:6, 3:6] = y[:, :, 10:13, 10:13] = 180
    assert (y == 180).all()


@has_masks
@pytest.mark.parametrize("sizes", [(64, 33, 26, 26, 3), (500, 40, 7, 7, 1), (400, 48, 32, 32, 1)], ids=str)
def test_what_follows_comes_once_behind_the_last_planes(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "first_cache", lambda: 48 << 10)
    channels, filters, rows, columns, kernel = sizes
    shapes_ = [(1, channels, rows, columns), (filters, channels, kernel, kernel), *[(filters,)] * 3]
    x, w, b, g, m = (numbers(k, *n) for k, n in enumerate(shapes_))
    v = abs(b) + 0.5
    r = numbers(9, 1, filters, rows - kernel + 1, columns - kernel + 1)
    xs, ws, bs, gs, ms, vs, rs = (torch.tensor(a).double() for a in (x, w, b, g, m, v, r))
    sums = torch.conv2d(xs, ws, bs)
    exact = torch.relu(torch.batch_norm(sums, gs, bs, ms, vs, False, 0.1, 1e-5, False) + rs)
    compare(called(block, *[flambeau.from_numpy(a) for a in (x, w, b, g, m, v, r)]), exact, sizes)
    _, words = convolved(x, w, b, 1, 0, 1)
    assert (words[PROBLEM.word("planes_each")] < channels) == (kernel > 1 or not _is_wide())


def lines(kernel: int, size: int) -> tuple[Line, Line]:
    window = Window((kernel, kernel), (1, 1), (kernel // 2, kernel // 2), (1, 1), is_transposed=False)
    return line_of(window, 0, size), line_of(window, 1, size)


def test_stages_are_for_many_planes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "first_cache", lambda: 32 << 10)
    of = stages.stage_of(narrow_target(), 64, lines(3, 56), 58, 4)
    assert 14 <= of.planes < 64
    assert of.positions in stages.POSITIONS_TOGETHER
    assert stages.stage_of(narrow_target(), 8, lines(3, 56), 58, 4) == Stage(8, 0)
    assert stages.stage_of(replace(narrow_target(), vector_bits=128), 64, lines(3, 56), 58, 4) == Stage(64, 0)
    assert stages.stage_of(narrow_target(), 600, lines(1, 28), 28, 4).planes < 600


def test_stages_of_wide_tiles_are_for_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "first_cache", lambda: 48 << 10)
    wide = replace(narrow_target(), vector_bits=512, vector_registers=32)
    of = stages.stage_of(wide, 256, lines(3, 28), 30, 4)
    assert stages.FEWEST_STEPS_OF_WIDE_TILES <= 9 * of.planes < 9 * 256
    assert stages.stage_of(wide, 600, lines(1, 28), 28, 4) == Stage(600, 0)


def narrow_target() -> Target:
    return replace(engine().target, vector_bits=256, vector_registers=16)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_positions_of_a_stage_are_whole_tiles(kind: str) -> None:
    floats = Floats(kind, narrow_target())
    widths = [shape.vectors * floats.lanes for shape in shapes(floats)]
    assert all(positions % width == 0 for width in widths for positions in stages.POSITIONS_TOGETHER)


def test_positions_of_a_stage_are_whole_tiles_of_many_filters_with_32_registers() -> None:
    floats = Floats("float", replace(narrow_target(), vector_bits=512, vector_registers=32))
    widths = [shape.vectors * floats.lanes for shape in shapes(floats) if shape.filters >= 4]
    assert max(stages.POSITIONS_TOGETHER) % max(widths) == 0
    assert all(positions % widths[0] == 0 for positions in stages.POSITIONS_TOGETHER)


def test_planes_that_meet_in_the_first_cache_are_copied() -> None:
    target, whole = narrow_target(), Stage(64, 0)
    assert stages.meet(target, Planes(64, 4096), whole, 4)
    assert not stages.meet(target, Planes(64, 3136), whole, 4)
    assert not stages.meet(target, Planes(8, 4096), whole, 4)
    wide = replace(target, vector_registers=32)
    assert stages.meet(wide, Planes(64, 4096), Stage(16, 48), 4)
    assert not stages.meet(wide, Planes(64, 4096), whole, 4)
    assert all(stages.spread(n) % 128 == 64 and n <= stages.spread(n) <= n + 128 for n in range(1, 9000, 7))


@pytest.mark.parametrize("bits", [256, 512])
def test_images_go_together_where_they_do_not_fill_vectors(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem, "engine", lambda: Engine(replace(narrow_target(), vector_bits=bits)))
    assert problem.images_together(8, 9 * 7, 49, 4) == 1  # 49 places each, and 14 between images
    assert problem.images_together(12, 6 * 4, 16, 4) > 8
    assert problem.images_together(1, 6 * 4, 16, 4) == 1


@dataclass(frozen=True)
class Engine:
    target: Target


def test_tiles_ask_for_weights_ahead() -> None:
    text = sums_text(Floats("float", engine().target))
    step = text.partition(f"@{shapes(Floats('float', engine().target))[0].name}(")[2].partition("\n}")[0]
    assert step.count("call void @llvm.prefetch") == (5 if _is_wide() else 1)
