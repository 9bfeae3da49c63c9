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


def by_tensors(x: Tensor, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    y = x.clone()
    y[i, :, j] = 5.0
    z = y[i, None, j]
    z += 1
    return y, z, x[i, :, j]


NAMED: list[tuple[Any, Any]] = [
    (1, 2), ([0, 1], [1, 2]), (0, [1, 2]), ([0, 1], 0), ([[0], [1]], [[1, 2]]), ([True, False], 1), (-1, -1),
]  # fmt: skip


def test_several_tensors_that_may_be_numbers() -> None:
    data = flambeau.jit.saving.save_to_buffer(flambeau.script(by_tensors))
    loaded = flambeau.jit.load(io.BytesIO(data))
    assert "ops.python" not in loaded.code
    for _ in range(2):
        for i, j in NAMED:
            call = flambeau.arange(24.0).reshape(2, 3, 4), flambeau.tensor(i), flambeau.tensor(j)
            for expected, got in zip(by_tensors(*call), loaded(*call), strict=True):
                np.testing.assert_array_equal(got.numpy(), expected.numpy())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_several_tensors_that_may_be_numbers_for_others() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    theirs = torch.jit.load(io.BytesIO(flambeau.jit.saving.save_to_buffer(flambeau.script(by_tensors))))
    for i, j in NAMED:
        ours = by_tensors(flambeau.arange(24.0).reshape(2, 3, 4), flambeau.tensor(i), flambeau.tensor(j))
        found = theirs(torch.arange(24.0).reshape(2, 3, 4), torch.tensor(i), torch.tensor(j))
        for expected, got in zip(ours, found, strict=True):
            np.testing.assert_array_equal(got.numpy(), expected.numpy())
