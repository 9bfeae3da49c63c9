"""Convolutions by native code: values and gradients of random windows beside PyTorch's in double precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.convolutions import run, slopes, sums
from flambeau.codegen.llvm.processor import LEVELS
from flambeau.ops import convolution_windows
from tests.codegen.code_for_levels import check_code

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
ALLOWED = {"float32": 5e-6, "float64": 1e-13}
"""Relative to the largest value."""


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """PyTorch's threads wait for each other far longer than these sizes take."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def numbers(seed: int, *sizes: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(sizes).astype(dtype)


def compare(mine: Any, theirs: Any, what: object) -> None:
    mine, theirs = mine.detach().numpy(), theirs.detach().numpy()
    assert mine.shape == theirs.shape, what
    if mine.size:
        error = np.abs(mine - theirs).max() / (np.abs(theirs).max() + 1e-3)
        assert error < ALLOWED[str(mine.dtype)], (what, error)


def check(name: str, arrays: Sequence[Any], options: Sequence[Any]) -> None:
    """The value and all gradients of a convolution."""
    exact = [torch.tensor(np.ascontiguousarray(a)).double().requires_grad_() for a in arrays]
    mine = [flambeau.tensor(a, requires_grad=True) for a in arrays]
    theirs = getattr(torch.nn.functional, name)(*exact, *options)
    ours = getattr(flambeau.nn.functional, name)(*mine, *options)
    compare(ours, theirs, (name, options))
    slope = numbers(9, *theirs.shape, dtype=str(arrays[0].dtype))
    expected = torch.autograd.grad(theirs, exact, torch.tensor(slope).double())
    found = flambeau.autograd.grad(ours, mine, flambeau.tensor(slope))
    for operand, a, b in zip(("input", "weight", "bias"), found, expected, strict=True):
        compare(a, b, (name, options, operand))


def random_case(rng: np.random.Generator) -> tuple[str, list[Any], list[Any]] | None:
    dims = int(rng.integers(1, 4))
    dtype = str(rng.choice(["float32", "float64"]))
    groups, inner, outer = (int(rng.integers(1, most)) for most in (4, 7, 18))
    kernel, stride, dilation, padding, size = (
        [int(rng.integers(low, high)) for _ in range(dims)]
        for low, high in ((1, 5), (1, 4), (1, 3), (0, 4), (1, (60, 26, 9)[dims - 1]))
    )
    is_transposed = bool(rng.integers(2))
    extra = [int(rng.integers(0, max(pair))) for pair in zip(stride, dilation, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if is_transposed:
        ends = [(n - 1) * s + r + o - 2 * p for n, s, r, o, p in zip(size, stride, reach, extra, padding, strict=True)]
    else:
        ends = [n + 2 * p - r + 1 for n, p, r in zip(size, padding, reach, strict=True)]
    if min(ends) < 1:
        return None
    seed = int(rng.integers(1 << 30))
    x = numbers(seed, int(rng.integers(1, 5)), inner * groups, *size, dtype=dtype)
    if rng.integers(3) == 0:  # channels last
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    pair = (inner * groups, outer) if is_transposed else (outer * groups, inner)
    arrays = [x, numbers(seed + 1, *pair, *kernel, dtype=dtype), numbers(seed + 2, outer * groups, dtype=dtype)]
    if is_transposed:
        return f"conv_transpose{dims}d", arrays, [stride, padding, extra, groups, dilation]
    return f"conv{dims}d", arrays, [stride, padding, dilation, groups]


def test_random_windows_and_their_gradients_are_those_of_torch() -> None:
    rng = np.random.default_rng(5)
    cases = [case for _ in range(70) if (case := random_case(rng)) is not None]
    assert len(cases) > 45
    for case in cases:
        check(*case)


@pytest.mark.parametrize(
    ("sizes", "filters", "kernel", "options"),
    [
        ((2, 5, 61, 67), 9, (3, 3), (1, 1)),  # several bands
        ((1, 3, 7, 4500), 4, (2, 3), (2, 1)),  # several chunks of columns
        ((9, 4, 4, 4), 16, (3, 3), (1, 1)),  # several images in a band
        ((1, 48, 12, 12), 20, (1, 1), (1, 0)),  # read in place
        ((1, 12, 40, 40), 12, (3, 3), (1, 1, 1, 12)),  # depthwise
    ],
)
def test_each_way_of_going_over_an_image(
    sizes: tuple[int, ...], filters: int, kernel: tuple[int, int], options: tuple[int, ...]
) -> None:
    groups = options[3] if len(options) > 3 else 1
    weight = numbers(1, filters, sizes[1] // groups, *kernel)
    check("conv2d", [numbers(0, *sizes), weight, numbers(2, filters)], options)


def test_same_padding_beside_torch() -> None:
    x, w = numbers(0, 2, 3, 9, 10), numbers(1, 4, 3, 5, 3)
    expected = torch.nn.functional.conv2d(torch.tensor(x).double(), torch.tensor(w).double(), padding="same")
    compare(flambeau.nn.functional.conv2d(flambeau.tensor(x), flambeau.tensor(w), padding="same"), expected, "same")


def test_numbers_are_read_where_they_lie_now() -> None:
    x, w = flambeau.tensor(numbers(0, 1, 2, 6, 6)), flambeau.tensor(numbers(1, 3, 2, 3, 3))
    first = flambeau.conv2d(x, w)
    w.mul_(2.0)
    np.testing.assert_allclose(flambeau.conv2d(x, w).numpy(), 2 * first.numpy(), rtol=1e-5)
    np.testing.assert_allclose(flambeau.conv2d(x[:, :, ::2], w).numpy().shape, (1, 3, 1, 4))


def test_memory_behind_an_image_is_not_read() -> None:
    """A product of windows in place ends with part of a vector, behind which may be anything, or nothing."""
    around = np.full(4 * 49 + 64, np.nan, np.float32)
    x = around[: 4 * 49].reshape(1, 4, 7, 7)
    x[...] = numbers(0, 1, 4, 7, 7)
    w = numbers(1, 5, 4, 1, 1)
    found = flambeau.conv2d(flambeau.from_numpy(x), flambeau.from_numpy(w)).numpy()
    np.testing.assert_allclose(found, np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]), rtol=1e-4, atol=1e-5)


def test_what_is_not_finite_stays_where_it_is() -> None:
    x = numbers(0, 1, 1, 5, 6)
    x[0, 0, 4, 5], x[0, 0, 0, 0] = np.inf, np.nan
    w, slope = numbers(1, 1, 1, 3, 3), numbers(2, 1, 1, 5, 6)
    exact = torch.tensor(w).requires_grad_()
    theirs = torch.nn.functional.conv2d(torch.tensor(x), exact, padding=1)
    weight = flambeau.tensor(w, requires_grad=True)
    ours = flambeau.conv2d(flambeau.tensor(x), weight, padding=1)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-5)
    (expected,) = torch.autograd.grad(theirs, exact, torch.tensor(slope))
    (found,) = flambeau.autograd.grad(ours, weight, flambeau.tensor(slope))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_empty_batches_have_results_and_gradients_of_zeros() -> None:
    x, w = flambeau.zeros(0, 3, 5, 5, requires_grad=True), flambeau.ones(2, 3, 3, 3, requires_grad=True)
    y = flambeau.conv2d(x, w)
    assert tuple(y.shape) == (0, 2, 3, 3)
    y.sum().backward()
    assert tuple(x.grad.shape) == (0, 3, 5, 5)
    assert not w.grad.numpy().any()


def test_integers_and_halves_go_another_way() -> None:
    x = np.arange(2 * 3 * 5, dtype=np.int64).reshape(1, 2, 3, 5)
    w = np.ones((1, 2, 2, 2), np.int64)
    found = flambeau.conv2d(flambeau.tensor(x), flambeau.tensor(w)).numpy()
    assert found.dtype == np.int64
    assert found[0, 0, 0, 0] == x[0, :, :2, :2].sum()
    half = flambeau.conv2d(flambeau.tensor(x).to(flambeau.float16), flambeau.tensor(w).to(flambeau.float16))
    assert half.dtype == flambeau.float16
    np.testing.assert_array_equal(half.numpy(), found.astype(np.float16))


def test_native_code_agrees_with_columns_of_windows() -> None:
    x, w = numbers(3, 2, 6, 9, 8), numbers(4, 4, 3, 3, 2)
    native, fill = convolution_windows.convolved(x, w, None, (2, 1), (1, 0), (1, 0), (1, 2), 2)
    columns = convolution_windows._by_columns(x, w, (2, 1), (1, 0), (1, 0), (1, 2), 2)
    assert fill is not None
    np.testing.assert_allclose(native, columns, rtol=1e-4, atol=1e-5)


def test_one_text_serves_all_sizes() -> None:
    codes = []
    for size in (5, 31, 64):
        x, w, y = numbers(0, 1, 3, size, size), numbers(1, 4, 3, 3, 3), np.empty((1, 4, size, size), np.float32)
        prepared = run.prepare(x, w, y, (1, 1), (1, 1), (1, 1), 1, False)
        assert prepared is not None
        codes.append(prepared.code)
    assert codes[0] is codes[1] is codes[2]


@pytest.mark.parametrize("level", [level for level in LEVELS if level != "x86-64"])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_texts_are_code_for_each_level(level: str, kind: str) -> None:
    check_code(level, kind, sums.sums_text, slopes.slopes_text)


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize(("images", "channels", "rows", "columns"), [(2, 1, 28, 28), (1, 3, 13, 7), (2, 16, 13, 28)])
def test_nothing_behind_the_input_is_read(images: int, channels: int, rows: int, columns: int, padding: int) -> None:
    """Neither where windows are read in place, nor where each column of the kernel has a copy of the rows."""
    rng = np.random.default_rng(0)
    count = images * channels * rows * columns
    memory = np.full(8 * count, np.nan, np.float32)
    memory[:count] = rng.standard_normal(count)
    x = memory[:count].reshape(images, channels, rows, columns)
    w = rng.standard_normal((32, channels, 3, 3)).astype(np.float32)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    want = np.einsum("nchwij,ocij->nohw", windows, w)
    got = flambeau.nn.functional.conv2d(flambeau.from_numpy(x), flambeau.from_numpy(w), padding=padding)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4)
