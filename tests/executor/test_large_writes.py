"""Large arrays that operators write: a native loop gives what NumPy gives, reads what it is to read, and says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.executor import large_writes
from flambeau.ops.families.elementwise import Pointwise
from flambeau.util.inversions import LARGE, LARGE_WRITE

HOSTILE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e30, 1.0]
SIZES = [LARGE, LARGE + 5, 2 * large_writes.PIECE + 3]


def values(size: int, dtype: Any, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    x = random.standard_normal(size) * 3
    x[: len(HOSTILE)] = random.permutation(HOSTILE)
    return x.astype(dtype)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What loops answer from now on."""
    answers: list[bool] = []
    real = LARGE_WRITE.implementation

    def call(meaning: Pointwise, target: Any, arguments: Any) -> bool:
        answers.append(real(meaning, target, arguments))
        return answers[-1]

    monkeypatch.setattr(LARGE_WRITE, "implementation", call)
    return answers


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_what_is_written_is_what_numpy_gives(size: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = watched(monkeypatch)
    x, y = values(size, dtype), values(size, dtype, 1)
    target = flambeau.from_numpy(x.copy())
    with np.errstate(all="ignore"):
        assert target.add_(flambeau.from_numpy(y), alpha=2) is target
        x += y * dtype(2)
        np.testing.assert_array_equal(target.numpy(), x)
        target.mul_(0.5).sub_(flambeau.tensor(1.0, dtype=target.dtype)).relu_()
        np.testing.assert_array_equal(target.numpy(), np.maximum(x * dtype(0.5) - dtype(1), 0))
        result = flambeau.empty_like(target)
        assert flambeau.mul(target, flambeau.from_numpy(y), out=result) is result
        np.testing.assert_array_equal(result.numpy(), target.numpy() * y)
    assert answers
    assert all(answers)


def test_repeated_calls_of_any_size_write_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (*SIZES, LARGE - 1, 5000, 1):
        x, y = values(max(size, 8), np.float32)[:size], values(max(size, 8), np.float32, 1)[:size]
        target, other = flambeau.from_numpy(x.copy()), flambeau.from_numpy(y)
        version = target._version
        for _ in range(40):
            target.copy_(flambeau.from_numpy(x))
            assert target.lerp_(other, 0.25) is target
        assert target._version == version + 80
        with np.errstate(all="ignore"):
            expected = x.astype(np.float64) + np.float64(0.25) * (y.astype(np.float64) - x)
        np.testing.assert_allclose(target.numpy(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("calls", [1, 50])
def test_what_shares_memory_is_read_before_it_is_written(calls: int) -> None:
    rows, columns = 300, 257
    for view in (lambda x: x[:, 1:], lambda x: x[:, :1], lambda x: x):
        x = values(rows * columns, np.float64).reshape(rows, columns)
        x[~np.isfinite(x)] = 1.5
        for _ in range(calls):
            whole = flambeau.from_numpy(x.copy())
            part = whole[:, :-1] if view(whole).shape == (rows, columns - 1) else whole
            expected = part.numpy() + view(whole).numpy().copy()
            part.add_(view(whole))
            np.testing.assert_array_equal(part.numpy(), expected)


def test_one_number_of_the_tensor_itself_is_refused_each_time() -> None:
    x, apart = flambeau.full((LARGE,), 3.0), flambeau.tensor(2.0)
    for _ in range(50):
        x.mul_(apart)
        x.fill_(3.0)
        with pytest.raises(RuntimeError, match=r"some elements of the input tensor"):
            x.mul_(x[7])
    assert bool((x == 3.0).all())


def test_strided_and_broadcast_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    x = values(600 * 400, np.float32).reshape(600, 400)
    whole = flambeau.from_numpy(x.copy())
    row = flambeau.linspace(0.0, 1.0, 200)
    answers = watched(monkeypatch)
    with np.errstate(all="ignore"):
        for _ in range(3):
            whole[:, ::2].add_(row)
            x[:, ::2] += row.numpy()
            np.testing.assert_array_equal(whole.numpy(), x)
        whole.t().mul_(2.0)
        np.testing.assert_array_equal(whole.numpy(), x * np.float32(2))
    assert answers[-1]


def test_errors_and_writes_are_those_of_small_calls() -> None:
    x = flambeau.ones(LARGE)
    with pytest.raises(RuntimeError, match=r"doesn't match the broadcast shape"):
        x.add_(flambeau.ones(2, LARGE))
    with pytest.raises(RuntimeError, match=r"single memory location"):
        flambeau.ones(1).expand(LARGE).add_(1.0)
    with pytest.raises(RuntimeError, match=r"some elements of the input tensor"):
        x[1:].add_(x[:-1])
    y = flambeau.ones(LARGE, requires_grad=True)
    z = y * 2
    z.mul_(3.0)
    z.sum().backward()
    assert y.grad is not None
    assert bool((y.grad == 6.0).all())
