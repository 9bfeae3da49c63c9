"""Diagonals, elements backwards, moved around the end, and differences, in native code beside eager tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.testing import assert_close


def diagonals(x: Tensor, n: int):
    total = 0.0
    for _ in range(n):
        total += float(x.diagonal().sum()) + float(x.diagonal(2).sum()) + float(x.diagonal(-1, 1, 0).sum())
    return total, x.diagonal(5), x.diag(), x.diag(-1), x[0].diag(), x[0].diag(2), x[:, 0].diag(-2)


def written_diagonal(x: Tensor):
    x = x.clone()
    x.diagonal(1).fill_(7.0)
    x.diagonal().add_(1.0)
    return x


def matrices(n: int, m: int):
    whole = flambeau.eye(m, dtype=flambeau.int64)
    return flambeau.eye(n), flambeau.eye(n, m), whole, flambeau.eye(n, dtype=flambeau.bool)


def backwards(x: Tensor):
    return x.flip(0), x.flip(-1), x.flip([0, 1]), x[0].flip(0), x.flip([])


def around(x: Tensor, k: int):
    return x.roll(k), x.roll(k, 0), x.roll([k, -1], [0, 1]), x[:, 0].contiguous().roll(-k)


def differences(x: Tensor):
    return x.diff(), x.diff(dim=0), x[0].diff()


def lengths(x: Tensor):
    return flambeau.linalg.norm(x), flambeau.linalg.norm(x, dim=1), flambeau.linalg.norm(x[0], dim=-1, keepdim=True)


def own_product(x: Tensor, n: int):
    total = 0.0
    for i in range(n):
        total += float(x[i] @ x[i])
    return total


SHAPES = [(4, 4), (3, 5), (5, 2), (1, 1)]


def agrees(function: Callable[..., Any], *arguments: Any, rtol: float = 0.0) -> None:
    scripted = flambeau.script(function)
    expected = function(*arguments)
    for _ in range(3):
        assert_close(scripted(*arguments), expected, equal_nan=True, rtol=rtol, atol=0)
    scripted.compile(*arguments)
    assert "native from end to end" in str(scripted.explain())


def matrix(shape: tuple[int, ...]) -> Tensor:
    x = flambeau.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape))
    if x.numel() > 2:
        x.view(-1)[1] = float("nan")
    return x


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_strided", [False, True])
def test_elements_elsewhere(shape: tuple[int, ...], is_strided: bool) -> None:
    x = matrix(shape)
    if is_strided:
        wide = flambeau.zeros(shape[0] * 2, shape[1] * 3, dtype=flambeau.float64)
        wide[::2, ::3] = x
        x = wide[::2, ::3]
    agrees(diagonals, x, 2, rtol=1e-12)
    agrees(written_diagonal, x.contiguous())
    agrees(backwards, x)
    agrees(differences, x)
    agrees(lengths, x, rtol=1e-12)
    if not is_strided:
        for k in (0, 1, -1, 7):
            agrees(around, x, k)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (2, 5), (5, 2), (0, 3), (3, 0)])
def test_matrices_with_ones(n: int, m: int) -> None:
    agrees(matrices, n, m)


def test_a_vector_multiplied_with_itself() -> None:
    agrees(own_product, flambeau.from_numpy(np.random.default_rng(0).standard_normal((3, 5))), 3, rtol=1e-12)


def test_a_size_below_zero_fails_as_eagerly() -> None:
    @flambeau.script
    def made(n: int):
        return flambeau.eye(n)

    for _ in range(3):
        assert tuple(made(2).shape) == (2, 2)
        with pytest.raises(RuntimeError, match="n must be greater or equal to 0"):
            made(-1)


def of_nothing(x: Tensor):
    return x.flip(0, 1), x.diagonal(), x.roll(1, 0), x.diff(dim=0), x.diag(1)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_tensors_without_elements(shape: tuple[int, ...]) -> None:
    agrees(of_nothing, flambeau.zeros(shape))
