"""Convolutions by Winograd's products, beside PyTorch's in double precision: values, what follows, and what is left to
sums over windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.convolutions import launches, winograd, winograd_launches
from flambeau.codegen.llvm.engine import engine
from tests.codegen.code_for_levels import check_code
from tests.codegen.test_convolutions import numbers

torch = pytest.importorskip("torch")
is_wide = available() and engine().target.vector_bits > 128
pytestmark = pytest.mark.skipif(not is_wide, reason="needs LLVM, and vectors of 256 bits")
ALLOWED = 3e-6
"""Of errors, relative to the largest result; of sums over windows the same is allowed for fewer channels."""
UNIT = """
def plain(x: Tensor, w: Tensor, b: Tensor, p: Tuple[int, int]) -> Tensor:
    return flambeau.conv2d(x, w, b, [1, 1], [p[0], p[1]])

def bare(x: Tensor, w: Tensor) -> Tensor:
    return flambeau.conv2d(x, w, None, [1, 1], [1, 1])

def clamped(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return flambeau.relu(flambeau.conv2d(x, w, b, [1, 1], [1, 1]))

def added(x: Tensor, w: Tensor, b: Tensor, r: Tensor) -> Tensor:
    return flambeau.relu(flambeau.conv2d(x, w, b, [1, 1], [1, 1]) + r)

def normed(x: Tensor, w: Tensor, b: Tensor, m: Tensor, v: Tensor, g: Tensor, r: Tensor) -> Tensor:
    y = flambeau.nn.functional.batch_norm(flambeau.conv2d(x, w, b, [1, 1], [1, 1]), m, v, g, b)
    return flambeau.nn.functional.silu(y + r)
"""


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The launches by Winograd's products."""
    made: list[Any] = []
    launch: Any = winograd_launches.winograd_launch

    def recorded(*arguments: Any, **flags: bool) -> Any:
        made.append(launch(*arguments, **flags))
        return made[-1]

    monkeypatch.setattr(launches, "winograd_launch", recorded)
    return made


def answers(name: str, arguments: Sequence[Any]) -> np.ndarray[Any, Any]:
    """What native code gives once it serves."""
    function = getattr(flambeau.jit.CompilationUnit(UNIT), name)
    tensors = [flambeau.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    with flambeau.no_grad():
        results = [function(*tensors).numpy() for _ in range(4)]
    np.testing.assert_array_equal(results[2], results[3])
    return results[-1]


def exact(x: Any, w: Any, b: Any, padding: Any = 1) -> Any:
    return torch.conv2d(*[None if a is None else torch.tensor(a).double() for a in (x, w, b)], 1, padding)


def close(mine: np.ndarray[Any, Any], theirs: Any) -> None:
    theirs = theirs.numpy()
    assert mine.shape == theirs.shape
    assert np.abs(mine - theirs).max() <= ALLOWED * np.abs(theirs).max()


@pytest.mark.parametrize(
    ("images", "channels", "filters", "sizes", "padding"),
    [
        (1, 64, 64, (24, 24), (1, 1)), (3, 33, 47, (15, 22), (1, 1)), (2, 40, 41, (16, 19), (0, 0)),
        (1, 48, 40, (13, 30), (2, 0)), (9, 64, 32, (7, 7), (1, 1)), (1, 36, 64, (6, 70), (0, 1)),
        (2, 32, 32, (12, 13), (3, 4)),
    ],
)  # fmt: skip
def test_values(
    launched: list[Any], images: int, channels: int, filters: int, sizes: tuple[int, int], padding: tuple[int, int]
) -> None:
    shapes = (images, channels, *sizes), (filters, channels, 3, 3), (filters,)
    x, w, b = (numbers(k, *shape) for k, shape in enumerate(shapes))
    close(answers("plain", (x, w, b, padding)), exact(x, w, b, padding))
    assert launched
    assert launched[0].high >= 1


def arrays(images: int = 2) -> list[np.ndarray[Any, Any]]:
    """An input, weights, a bias, and something like the results."""
    shapes = (images, 40, 18, 21), (37, 40, 3, 3), (37,), (images, 37, 18, 21)
    return [numbers(k, *shape) for k, shape in enumerate(shapes)]


def test_what_follows_is_done_to_results(launched: list[Any]) -> None:
    x, w, b, r = arrays()
    sums, near = exact(x, w, b), torch.tensor(r).double()
    close(answers("bare", (x, w)), exact(x, w, None))
    close(answers("clamped", (x, w, b)), sums.relu())
    close(answers("added", (x, w, b, r)), (sums + near).relu())
    m, v, g = numbers(5, 37), np.abs(numbers(6, 37)) + 0.5, numbers(7, 37)
    normed = torch.nn.functional.batch_norm(sums, *[torch.tensor(a).double() for a in (m, v, g, b)])
    close(answers("normed", (x, w, b, m, v, g, r)), torch.nn.functional.silu(normed + near))
    assert len(launched) >= 4


def test_arrays_that_lie_apart(launched: list[Any]) -> None:
    x, w, b, r = arrays(4)
    wide = numbers(8, 4, 80, 18, 21)
    seen = x[::2, :, 1:-1], np.broadcast_to(x[:1], x.shape), wide[:, ::2]
    for one in seen:
        close(answers("plain", (one, w, b, (1, 1))), exact(np.ascontiguousarray(one), w, b))
    weights = np.ascontiguousarray(w.transpose(1, 0, 2, 3)).transpose(1, 0, 2, 3)
    close(answers("plain", (x, weights, b, (1, 1))), exact(x, w, b))
    near = np.ascontiguousarray(r.transpose(1, 0, 2, 3)).transpose(1, 0, 2, 3)
    close(answers("added", (x, w, b, near)), (exact(x, w, b) + torch.tensor(r).double()).relu())
    assert len(launched) >= 5


@pytest.mark.parametrize("hostile", [np.nan, np.inf, -np.inf, 3e38])
def test_what_is_no_number_stays_where_windows_see_it(launched: list[Any], hostile: float) -> None:
    x, w, b, _ = arrays()
    x[1, 3, 7, 8] = hostile
    with np.errstate(all="ignore"):
        mine, summed = answers("plain", (x, w, b, (1, 1))), answers("clamped", (x, w, b))
        theirs = torch.conv2d(*map(torch.tensor, (x, w, b)), 1, 1).numpy()
    np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(theirs))
    np.testing.assert_array_equal(np.isnan(mine), np.isnan(theirs))
    whole = np.isfinite(theirs) & (np.abs(theirs) < 1e30)
    np.testing.assert_allclose(mine[whole], theirs[whole], rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(np.isnan(summed), np.isnan(theirs))
    assert launched


def test_several_threads(launched: list[Any]) -> None:
    x, w, b = (numbers(k, *shape) for k, shape in enumerate([(2, 64, 56, 56), (64, 64, 3, 3), (64,)]))
    before = flambeau.get_num_threads()
    results = []
    try:
        for count in (1, 2):
            flambeau.set_num_threads(count)
            results.append(answers("plain", (x, w, b, (1, 1))))
    finally:
        flambeau.set_num_threads(before)
    np.testing.assert_array_equal(*results)
    close(results[0], exact(x, w, b))
    assert launched[0].pieces > 1


@pytest.mark.parametrize(
    ("shape", "weights", "keywords"),
    [
        ((1, 64, 24, 24), (64, 64, 3, 3), {"stride": 2}), ((1, 64, 24, 24), (64, 64, 3, 3), {"dilation": 2}),
        ((1, 64, 24, 24), (64, 32, 3, 3), {"groups": 2}), ((1, 64, 24, 24), (64, 64, 5, 5), {}),
        ((1, 3, 24, 24), (64, 3, 3, 3), {}), ((1, 64, 24, 24), (2, 64, 3, 3), {}), ((1, 64, 4, 4), (64, 64, 3, 3), {}),
    ],
)  # fmt: skip
def test_others_are_sums_over_windows(
    launched: list[Any], shape: tuple[int, ...], weights: tuple[int, ...], keywords: dict[str, int]
) -> None:
    settings = ", ".join(f"{name}={value}" for name, value in keywords.items())
    source = f"def f(x: Tensor, w: Tensor) -> Tensor:\n    return flambeau.conv2d(x, w, {settings})\n"
    function = flambeau.jit.CompilationUnit(source).f
    x, w = numbers(0, *shape), numbers(1, *weights)
    for _ in range(4):
        mine = function(flambeau.from_numpy(x), flambeau.from_numpy(w))
    theirs = torch.conv2d(torch.tensor(x).double(), torch.tensor(w).double(), **keywords)
    close(mine.numpy(), theirs)
    assert not launched


def test_doubles_are_sums_over_windows(launched: list[Any]) -> None:
    x, w = numbers(0, 1, 64, 24, 24, dtype="float64"), numbers(1, 64, 64, 3, 3, dtype="float64")
    mine = answers("bare", (x, w))
    np.testing.assert_allclose(mine, exact(x, w, None).numpy(), rtol=1e-12, atol=1e-11)
    assert not launched


def test_errors_are_those_of_sums_over_windows(launched: list[Any]) -> None:
    """Of many channels ours are smaller: sums are shorter than windows are."""
    x, w, b = (numbers(k, *shape) for k, shape in enumerate([(1, 256, 20, 20), (64, 256, 3, 3), (64,)]))
    theirs = exact(x, w, b).numpy()
    mine = np.abs(answers("plain", (x, w, b, (1, 1))) - theirs).max()
    eager = np.abs(flambeau.conv2d(*map(flambeau.from_numpy, (x, w, b)), 1, 1).numpy() - theirs).max()
    assert mine <= 2 * eager
    assert launched


def test_units_cover_all_tiles() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        images, channels, rows, columns = (int(rng.integers(1, n)) for n in (10, 600, 80, 200))
        tiles = winograd_launches.tiles_of(images, channels, rows, columns, 4)
        assert tiles.rows * 2 >= rows
        assert tiles.columns * 2 >= columns
        assert 1 <= tiles.band <= tiles.rows
        assert 1 <= tiles.images <= images
        assert tiles.images == 1 or tiles.band == tiles.rows


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_the_text_is_code_for_each_level(level: str) -> None:
    check_code(level, "float", winograd.winograd_text)
