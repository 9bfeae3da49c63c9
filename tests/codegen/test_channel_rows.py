"""Convolutions of each channel by itself whose places lie in lanes, beside PyTorch's in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.convolutions import channel_launches, channel_rows
from flambeau.codegen.convolutions.channel_launches import WindowGeometry, goes_by_rows
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.llvm.engine import engine
from tests.codegen.test_channel_convolutions import check, functions, parts
from tests.codegen.test_convolutions import numbers
from tests.codegen.test_routines import called

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

CASES = [  # (input, stride, padding)
    ((1, 4, 7, 30), 1, (1, 1)), ((2, 5, 11, 32), 1, (1, 1)), ((1, 6, 12, 44), 1, (0, 0)), ((1, 4, 1, 31), 1, (1, 2)),
    ((3, 7, 16, 29), 1, (2, 0)), ((1, 33, 15, 60), 2, (1, 1)), ((2, 4, 9, 63), 2, (0, 1)), ((1, 5, 23, 61), 2, (1, 0)),
    ((1, 4, 2, 59), 2, (2, 2)), ((1, 8, 33, 48), 1, (1, 1)), ((1, 4, 3, 32), 1, (0, 1)), ((1, 4, 5, 28), 1, (4, 5)),
]  # fmt: skip


def arrays(shape: tuple[int, ...], dtype: str) -> list[Any]:
    """The input, the filters, the bias, and what a norm has."""
    shapes = [shape, (shape[1], 1, 3, 3), *[(shape[1],)] * 4]
    some = [numbers(k, *n, dtype=dtype) for k, n in enumerate(shapes)]
    return [*some, abs(some[2]) + 0.1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_of_each_channel_are_as_in_torch(
    case: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, stride, padding = case
    options = ([stride, stride], list(padding), [1, 1], shape[1])
    x, w, *vectors = arrays(shape, dtype)
    x.flat[3], x.flat[x.size // 2], x.flat[-1] = np.nan, np.inf, -np.inf
    taken = []
    monkeypatch.setattr(channel_launches, "goes_by_rows", lambda *of: taken.append(goes_by_rows(*of)) or taken[-1])
    unit = functions(options)
    exact = [torch.tensor(a).double() for a in (x, w, *vectors)]
    sums = torch.conv2d(*exact[:3], *options)
    normed = torch.batch_norm(sums, *exact[3:], False, 0.1, 1e-5, False)
    for seen in parts(x):
        given = [flambeau.from_numpy(a) for a in (seen, w, *vectors)]
        plain = called(unit.plain, *given[:3])
        check(plain, sums + 1.0)
        check(called(unit.normed, *given), torch.nn.functional.hardtanh(normed, 0.0, 6.0))
        np.testing.assert_array_equal(plain.numpy(), (flambeau.conv2d(*given[:3], *options) + 1.0).numpy())
    assert bool(taken) == (engine().target.vector_bits > 128)
    assert all(taken)


def test_what_follows_is_computed_on_results() -> None:
    @flambeau.script
    def silu(x: flambeau.Tensor, w: flambeau.Tensor, b: flambeau.Tensor) -> flambeau.Tensor:
        return flambeau.nn.functional.silu(flambeau.conv2d(x, w, b, [1, 1], [1, 1], [1, 1], 9))

    @flambeau.script
    def without_bias(x: flambeau.Tensor, w: flambeau.Tensor) -> flambeau.Tensor:
        return flambeau.relu(flambeau.conv2d(x, w, None, [2, 2], [1, 1], [1, 1], 9))

    x, w, b, *_ = (flambeau.from_numpy(a) for a in arrays((2, 9, 15, 60), "float32"))
    xs, ws, bs = (torch.tensor(a.numpy()).double() for a in (x, w, b))
    check(called(silu, x, w, b), torch.nn.functional.silu(torch.conv2d(xs, ws, bs, 1, 1, 1, 9)))
    check(called(without_bias, x, w), torch.relu(torch.conv2d(xs, ws, None, 2, 1, 1, 9)))


def test_several_threads_take_channels() -> None:
    x, w, b, *_ = (flambeau.from_numpy(a) for a in arrays((2, 40, 60, 64), "float32"))
    unit = functions(([1, 1], [1, 1], [1, 1], 40))
    expected, before = called(unit.plain, x, w, b).numpy(), flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(4)
        np.testing.assert_array_equal(unit.plain(x, w, b).numpy(), expected)
    finally:
        flambeau.set_num_threads(before)


def test_rows_go_in_lanes_that_they_fill() -> None:
    lanes = engine().target.vector_bits // 32

    def goes(columns: int, kernel: int = 3, stride: tuple[int, int] = (1, 1), dilation: int = 1) -> bool:
        x, y, w = np.zeros((1, 4, 5, columns), np.float32), np.zeros((1, 4, 5, columns), np.float32), (4, 1)
        weights = np.zeros((*w, kernel, kernel), np.float32)
        return goes_by_rows(x, weights, y, WindowGeometry(stride, (1, 1), (dilation, dilation)))

    assert goes(2 * lanes)
    assert goes(3 * lanes - 2, stride=(2, 2))
    assert not goes(lanes)  # turned, channels fill lanes as well
    assert goes(lanes + 1) == ((lanes + 1) / (2 * lanes) >= channel_launches.FILLED)
    assert not goes(2 * lanes, kernel=5)
    assert not goes(2 * lanes, stride=(1, 2))
    assert not goes(2 * lanes, stride=(3, 3))
    assert not goes(2 * lanes, dilation=2)


def test_lines_of_the_next_rows_are_asked_for() -> None:
    text = channel_rows.channel_rows_text(Floats("float", engine().target))
    for step in channel_rows.STEPS:
        plane = text.partition(f"@plane_{step}(")[2].partition("\n}")[0]
        assert plane.count("prefetch.p0(ptr") == sum(channel_rows.ROWS) * (step * step + 1)
