"""Groups with sizes, amounts and dimensions that each call gives, beside PyTorch and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.static_values import static_values

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
F = flambeau.nn.functional


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@flambeau.script
def resized(x: Tensor, h: int, w: int) -> Tensor:
    return F.interpolate(x * 2.0, size=[h, w], mode="bilinear", align_corners=False) + 1.0


@flambeau.script
def resized_as(x: Tensor, y: Tensor) -> Tensor:
    return F.interpolate(x, size=y.shape[-2:], mode="nearest") + 1.0


@flambeau.script
def scaled(x: Tensor, factor: float) -> Tensor:
    return F.interpolate(x, scale_factor=factor, mode="bicubic", align_corners=False) + 1.0


@flambeau.script
def padded(x: Tensor, left: int, right: int) -> Tensor:
    return F.pad(x, [left, right, right, left], mode="reflect") + 1.0


@flambeau.script
def framed(x: Tensor, amounts: list[int], value: float) -> Tensor:
    return F.pad(x, amounts, value=value) * 2.0


@flambeau.script
def pooled(x: Tensor, size: int, stride: int) -> Tensor:
    return F.max_pool2d(x, size, stride) + 1.0


@flambeau.script
def means(x: Tensor, a: int, b: int) -> Tensor:
    return (x * 2.0).mean([a, b]) + 1.0


@flambeau.script
def folded(x: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    return x.sum(dim), F.softmax(x, dim), x.cumsum(dim)


def compare(function: Any, reference: Any, arrays: list[Any], calls: list[tuple[Any, ...]]) -> None:
    """Every call several times, so that native code serves, beside what PyTorch gives."""
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    tensors = [flambeau.from_numpy(a) for a in arrays]
    for call in (*calls, *calls):
        for _ in range(4):
            found = function(*tensors, *call)
        wanted = reference(torch.nn.functional, *[torch.tensor(a) for a in arrays], *call)
        assert found.stride() == wanted.stride()
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-5, err_msg=str(call))
    report = function.explain(measure=False)
    assert report.is_native, str(report)


def test_sizes_of_images() -> None:
    x = numbers(0, 2, 3, 8, 9)
    compare(
        resized, lambda f, x, h, w: f.interpolate(x * 2, size=(h, w), mode="bilinear") + 1, [x],
        [(4, 5), (16, 18), (1, 1), (300, 7), (8, 9)],
    )  # fmt: skip
    for shape in ((1, 1, 4, 5), (2, 16, 3), (7, 7)):
        compare(resized_as, lambda f, x, y: f.interpolate(x, size=y.shape[-2:]) + 1, [x, numbers(1, *shape)], [()])
    compare(
        scaled, lambda f, x, s: f.interpolate(x, scale_factor=s, mode="bicubic") + 1, [x],
        [(1.5,), (0.7,), (2.0,), (1.0000001,)],
    )  # fmt: skip


def test_amounts_of_padding_and_windows() -> None:
    x = numbers(2, 2, 3, 8, 9)
    compare(padded, lambda f, x, a, b: f.pad(x, [a, b, b, a], mode="reflect") + 1, [x], [(1, 2), (0, 7), (2, 1)])
    compare(
        framed, lambda f, x, amounts, value: f.pad(x, amounts, value=value) * 2, [x],
        [([1, 2], 0.5), ([1, 2, 3, 4], -1.0), ([0, 0, -2, 1], float("inf")), ([1, 2], 0.5), ([1] * 6, -0.0)],
    )  # fmt: skip
    compare(pooled, lambda f, x, k, s: f.max_pool2d(x, k, s) + 1, [x], [(2, 2), (3, 1), (8, 1), (2, 5)])


def test_dimensions_of_folds() -> None:
    x = numbers(3, 4, 3, 5)
    compare(means, lambda f, x, a, b: (x * 2).mean([a, b]) + 1, [x], [(0, 1), (1, 2), (-1, 0), (2, 1)])
    given = flambeau.from_numpy(x)
    for dim in (0, 1, 2, -1, -3, 0):
        for _ in range(4):
            total, shares, sums = folded(given, dim)
        np.testing.assert_allclose(total.numpy(), x.sum(dim), rtol=1e-5, atol=1e-6)
        exact = np.exp(x.astype(np.float64))
        np.testing.assert_allclose(shares.numpy(), exact / exact.sum(dim, keepdims=True), rtol=1e-5)
        np.testing.assert_allclose(sums.numpy(), x.cumsum(dim), rtol=1e-5, atol=1e-6)
    report = folded.explain(measure=False)
    assert report.is_native, str(report)


def test_numbers_that_are_refused_raise_the_operators_error() -> None:
    x = flambeau.from_numpy(numbers(4, 2, 3, 8, 9))
    for _ in range(4):
        resized(x, 4, 5), padded(x, 1, 2), means(x, 0, 1)
    with pytest.raises(RuntimeError, match="greater than 0"):
        resized(x, 0, 5)
    with pytest.raises(RuntimeError, match=r"(?i)padding size should be less than"):
        padded(x, 9, 9)
    with pytest.raises(IndexError, match="Dimension out of range"):
        means(x, 0, 7)
    assert tuple(resized(x, 4, 5).shape) == (2, 3, 4, 5)


def test_many_numbers_find_their_launch() -> None:
    given = flambeau.from_numpy(numbers(5, 1, 1, 4, 4))
    for h in (*range(1, 90), 1, 50):
        assert resized(given, h, 2).shape[2] == h
        eager = F.interpolate(given * 2.0, size=[h, 4], mode="bilinear", align_corners=False) + 1.0
        np.testing.assert_allclose(resized(given, h, 4).numpy(), eager.numpy(), rtol=1e-5, atol=1e-6)


def test_numbers_of_several_types_are_told_apart() -> None:
    values: list[Any] = [1, 1.0, 0.0, -0.0, [1], [1, 0], [1.0, 0.0], float("nan")]
    assert len({static_values([v]) for v in values}) == len(values)
    assert static_values([float("nan")]) == static_values([float("nan")]) or static_values([2]).words == [[2]]
    assert str(static_values([[1, 2], 3.5])) == "[1, 2], 3.5"
    assert static_values([[1, 2], -1]).constants == [[1, 2], -1]
