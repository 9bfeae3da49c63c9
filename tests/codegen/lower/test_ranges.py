"""Spreads and norms of float32 whose squares leave the range of the dtype: finite where they are, as one operator at a
time has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.kernel import KernelError, parse_kernel, print_kernel, verify
from flambeau.codegen.reference import run

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

SHAPES = [(4, 5), (9, 40), (70, 80), (3, 300), (130, 37), (40, 530)]
SCALES = [1.0, 1e30, 1e-30, 1e-42, 0.0, math.inf, math.nan]


@flambeau.script
def along_rows(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x.std(1), x.norm(dim=1), x.var(1, correction=0)


@flambeau.script
def along_columns(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x.std(0), x.norm(dim=0, keepdim=True), x.var(0)


@flambeau.script
def of_all(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x.std(), x.norm(), x.var()


@flambeau.script
def within_rows(x: Tensor) -> Tensor:
    return (x * 2.0) / (x * 2.0).norm(dim=1, keepdim=True) + 1.0


FUNCTIONS = [along_rows, along_columns, of_all]


def numbers(shape: tuple[int, int], scale: float) -> np.ndarray:
    """Numbers of which some rows and columns are of another scale than the others."""
    x = np.random.default_rng(len(repr(shape))).standard_normal(shape).astype(np.float32)
    with np.errstate(all="ignore"):
        if math.isfinite(scale):
            x[1::3] *= np.float32(scale)
        else:
            x[1, 2] = scale
    return x


def exact(x: np.ndarray, axis: int | None) -> tuple[np.ndarray, ...]:
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        return wide.std(axis, ddof=1), np.sqrt((wide * wide).sum(axis)), wide.var(axis, ddof=int(axis != 1))


def expect_all(x: np.ndarray, given: Callable[[np.ndarray], Tensor] = flambeau.from_numpy) -> None:
    for f, axis in zip(FUNCTIONS, (1, 0, None), strict=True):
        for got, want in zip(f(given(x)), exact(x, axis), strict=True):
            with np.errstate(all="ignore"):
                expected = np.asarray(want, np.float32)
            np.testing.assert_allclose(got.numpy().reshape(expected.shape), expected, 3e-6, 1.5e-45, err_msg=f.name)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_results_are_those_of_double_precision(shape: tuple[int, int], scale: float) -> None:
    expect_all(numbers(shape, scale))
    if scale == 1e30:
        expect_all(numbers(shape, scale) * np.float32(1e-7))
        y = flambeau.from_numpy(np.full(shape, 3e38, np.float32))
        for f in FUNCTIONS:
            assert bool((f(y)[0] < 1e34).all()), f.name  # what the mean is rounded by


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_layouts(scale: float) -> None:
    x = numbers((70, 90), scale)
    for view in (x.T, x[::2], x[:, ::3], x[::-1].T):
        expect_all(view, lambda v: flambeau.from_numpy(v.base if v.base is None else v.copy()))
    whole = flambeau.from_numpy(x)
    for f, axis in ((along_rows, 1), (along_columns, 0)):
        for part, same in ((whole.t(), x.T), (whole[::2], x[::2]), (whole[:, ::3], x[:, ::3])):
            for got, want in zip(f(part), exact(same, axis), strict=True):
                with np.errstate(all="ignore"):
                    expected = want.astype(np.float32)
                np.testing.assert_allclose(got.numpy().reshape(expected.shape), expected, 3e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_what_follows_in_the_same_kernel(shape: tuple[int, int], scale: float) -> None:
    x = numbers(shape, scale)
    got = within_rows(flambeau.from_numpy(x)).numpy()
    wide = x.astype(np.float64)
    want = wide / np.sqrt((wide * wide).sum(1, keepdims=True)) + 1
    np.testing.assert_allclose(got, want, 2e-6)


def test_compiled_and_eager_are_one() -> None:
    for scale in SCALES:
        x = flambeau.from_numpy(numbers((8, 20), scale))
        for got, want in zip(along_rows(x), (x.std(1), x.norm(dim=1), x.var(1, correction=0)), strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), 3e-6, 1.5e-45)


def test_threads_of_half_precision_and_nothing() -> None:
    x = numbers((2000, 300), 1e30)
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(2)
    try:
        expect_all(x)
    finally:
        flambeau.set_num_threads(before)
    halves = flambeau.from_numpy(numbers((6, 40), 1e30)).to(flambeau.bfloat16)
    for got, want in zip(along_rows(halves), exact(halves.float().numpy(), 1), strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(got.float().numpy(), want.astype(np.float32), 4e-3)
    assert along_rows(flambeau.zeros(0, 3))[1].shape == (0,)


KERNEL = """kernel k {
  axes r, c
  in x: float32[r, c]
  out y: float32[r]
  for r {
    for c reduce s: float32 = sum {
      %0: float32 = load x[r, c]
      s <- %0
    }
    %1: bool = isnan s
    %4: float32 = seldom %1 {
      for c reduce t: float32 = max {
        %2: float32 = load x[r, c]
        %3: float32 = abs %2
        t <- %3
      }
      %5: float32 = neg t
    } %5, s
    store y[r], %4
  }
}
"""


def test_the_language_of_kernels_has_values_that_are_seldom_computed() -> None:
    kernel = parse_kernel(KERNEL)
    verify(kernel)
    assert print_kernel(kernel) == KERNEL
    [y] = run(kernel, np.array([[1, 2], [math.nan, -5]], np.float32))
    np.testing.assert_array_equal(y, np.array([3, math.nan], np.float32))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("} %5, s", "} %9, s", "no float32 in its body is called %9"),
        ("seldom %1", "seldom s", "seldom takes a bool"),
        ("%5: float32 = neg t", "%5: float32 = neg t\n      store y[r], %5", "its body only computes"),
        ("} %5, s", "}", "expected '} VALUE, OTHERWISE'"),
    ],
)
def test_wrong_values_that_are_seldom_computed(old: str, new: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        verify(parse_kernel(KERNEL.replace(old, new)))
