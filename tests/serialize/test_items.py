"""What one tensor names in brackets, in archives: an operator that others have, or a branch on what it is."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def total(b: Tensor) -> Tensor:
    kept: list[Tensor] = []
    kept.append(b[..., 0] * 2)
    return kept[0] + b[..., 1]


def halve(b: Tensor) -> Tensor:
    b *= 0.5
    return b


def read_only(x: Tensor, i: Tensor) -> Tensor:
    return total(x[i]) + total(x[:, i])


def written_by_callee(x: Tensor, i: Tensor) -> tuple[Tensor, Tensor]:
    y = x[i]
    z = halve(y)
    return z, x


def written_here(x: Tensor, i: Tensor) -> tuple[Tensor, Tensor]:
    y = x[:, i]
    y += 1
    return y, x


INDICES: list[Any] = [1, [0, 1, 0], 0, -1]


@pytest.mark.parametrize("function", [read_only, written_by_callee, written_here])
def test_others_can_read_what_items_become(function: Any) -> None:
    file = io.BytesIO()
    flambeau.jit.save(flambeau.script(function), file)
    file.seek(0)
    loaded = flambeau.jit.load(file)
    assert "ops.python" not in loaded.code
    for index in [*INDICES, [True, False, True]]:
        if index == [True, False, True] and function is read_only:
            continue
        arrays = [np.arange(9.0, dtype=np.float32).reshape(3, 3) for _ in range(2)]
        calls = [(flambeau.from_numpy(a), flambeau.tensor(index)) for a in arrays]
        for expected, got in zip(_tuple(function(*calls[0])), _tuple(loaded(*calls[1])), strict=True):
            np.testing.assert_array_equal(got.numpy(), expected.numpy())


def test_a_call_that_writes_to_no_tensor_leaves_an_item_a_copy() -> None:
    assert "ops.python" not in flambeau.script(read_only).code
    assert "ops.python.item" in flambeau.script(written_by_callee).code


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
