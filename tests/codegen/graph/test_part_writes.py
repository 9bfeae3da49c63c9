"""Copies of tensors with other elements in a part, in native functions."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor

m = flambeau


@m.script
def with_slice(x: Tensor, y: Tensor, start: int, end: int) -> Tensor:
    return m.slice_scatter(x, y, 1, start, end, 2) * 1


@m.script
def with_row(x: Tensor, y: Tensor, at: int) -> Tensor:
    return m.select_scatter(x, y, 0, at) + 0


def _often(function: Any, *arguments: Any) -> Any:
    """The result of a call that runs natively: a graph without loops does from its third call on."""
    for _ in range(4):
        result = function(*arguments)
    assert "whole graph: native" in str(function.explain())
    return result


@pytest.mark.parametrize("dtype", [m.float64, m.float32, m.int64, m.bool])
def test_parts_are_replaced(dtype: Any) -> None:
    x, y, row = m.zeros(3, 6, dtype=dtype), m.ones(3, 2, dtype=dtype), m.ones(6, dtype=dtype)
    for places in ((0, 4), (-5, -1), (3, 100)):
        assert _often(with_slice, x, y, *places).tolist() == (m.slice_scatter(x, y, 1, *places, 2) * 1).tolist()
    assert _often(with_row, x, row, -1).tolist() == (m.select_scatter(x, row, 0, -1) + 0).tolist()
    assert x.tolist() == m.zeros(3, 6, dtype=dtype).tolist()


def test_what_comes_in_steps() -> None:
    x, y = m.zeros(3, 6), m.arange(12.0).reshape(4, 3).t()[:, ::2]
    assert _often(with_slice, x, y, 1, 5).tolist() == (m.slice_scatter(x, y, 1, 1, 5, 2) * 1).tolist()
    turned = m.zeros(6, 3).t()
    assert with_slice(turned, y, 1, 5).tolist() == (m.slice_scatter(turned, y, 1, 1, 5, 2) * 1).tolist()


def test_other_sizes_are_refused() -> None:
    x, y = m.zeros(3, 6), m.ones(3, 2)
    _often(with_slice, x, y, 0, 4)
    with pytest.raises(RuntimeError):
        with_slice(x, y, 0, 2)
    with pytest.raises(IndexError):
        with_row(x, m.ones(6), 3)
    assert with_row(m.zeros(0, 6)[:0].new_zeros(2, 0), m.ones(0), 1).shape == (2, 0)


@m.script
def on_a_diagonal(x: Tensor, y: Tensor) -> Tensor:
    return m.diagonal_scatter(x, y, 1) * 1


@m.script
def with_number(x: Tensor, y: Tensor, at: int) -> Tensor:
    return m.select_scatter(m.zeros_like(x), (x * y).sum(), 0, at)


def test_diagonals_and_numbers() -> None:
    for n in (4, 3, 1):
        x, y = m.rand(n, n), m.rand(n - 1)
        assert _often(on_a_diagonal, x, y).tolist() == m.diagonal_scatter(x, y, 1).tolist()
        v, w = m.arange(1.0, n + 1.0), m.arange(2.0, n + 2.0)
        wanted = m.zeros(n)
        wanted[n - 1] = (v * w).sum()
        assert _often(with_number, v, w, n - 1).tolist() == wanted.tolist()
    with pytest.raises(RuntimeError):
        on_a_diagonal(m.rand(4, 4), m.rand(4))


def test_what_zeros_are_seen_by_stays_zeros() -> None:
    @m.script
    def both(x: Tensor) -> tuple[Tensor, Tensor]:
        zeros = m.zeros_like(x)
        return m.slice_scatter(zeros, x[1:] * 2, 0, 1), zeros

    for n in (5, 3):
        written, zeros = _often(both, m.ones(n))
        assert written.tolist() == [0.0] + [2.0] * (n - 1)
        assert zeros.tolist() == [0.0] * n


def test_parts_of_what_is_repeated() -> None:
    @m.script
    def repeated(x: Tensor, y: Tensor) -> Tensor:
        return m.select_scatter(m.zeros_like(x).expand(y.shape[0], x.shape[0]), y, 1, 0)

    for n, k in ((3, 2), (2, 5)):
        result = _often(repeated, m.ones(n), m.arange(1.0, k + 1))
        assert result.tolist() == [[float(row), *[0.0] * (n - 1)] for row in range(1, k + 1)]
        assert result.stride() == (n, 1)
