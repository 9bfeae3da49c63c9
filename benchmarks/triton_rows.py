"""Softmax and layer norm of rows in Triton, a program a row, for `benchmarks.cuda_kernels` to compare with."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_row(x, y, columns, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, block)
    inside = at < columns
    given = tl.load(x + row + at, mask=inside, other=float("-inf"))
    power = tl.exp(given - tl.max(given, 0))
    tl.store(y + row + at, power / tl.sum(power, 0), mask=inside)


@triton.jit
def layer_norm_row(x, w, b, y, columns, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, block)
    inside = at < columns
    given = tl.load(x + row + at, mask=inside, other=0.0)
    mean = tl.sum(given, 0) / columns
    off = tl.where(inside, given - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(off * off, 0) / columns + 1e-5)
    weight = tl.load(w + at, mask=inside, other=0.0)
    bias = tl.load(b + at, mask=inside, other=0.0)
    tl.store(y + row + at, off * scale * weight + bias, mask=inside)


def _warps(columns: int) -> int:
    return 4 if columns <= 2048 else 8 if columns <= 8192 else 16


def softmax(x: Any) -> Any:
    """Of each row of a dense matrix."""
    y, columns = torch.empty_like(x), x.shape[1]
    softmax_row[(x.shape[0],)](x, y, columns, block=triton.next_power_of_2(columns), num_warps=_warps(columns))
    return y


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    """Of each row of a dense matrix, with weights and a bias."""
    y, columns = torch.empty_like(x), x.shape[1]
    block = triton.next_power_of_2(columns)
    layer_norm_row[(x.shape[0],)](x, w, b, y, columns, block=block, num_warps=_warps(columns))
    return y
