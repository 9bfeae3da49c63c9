"""Writes at named places: repeated places, halves, reductions, masks."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as fb


def test_repeated_places_count_twice() -> None:
    index = fb.tensor([0, 0, 2])
    assert fb.zeros(3).index_add_(0, index, fb.ones(3)).tolist() == [2.0, 0.0, 1.0]
    assert fb.zeros(3).index_put_((index,), fb.ones(3), accumulate=True).tolist() == [2.0, 0.0, 1.0]
    assert fb.zeros(3).scatter_add(0, index, fb.ones(3)).tolist() == [2.0, 0.0, 1.0]
    assert fb.zeros(3).put_(index, fb.ones(3), accumulate=True).tolist() == [2.0, 0.0, 1.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_added_in_float32(dtype) -> None:
    x = fb.zeros(1, dtype=getattr(fb, dtype))
    x.index_add_(0, fb.zeros(4096, dtype=fb.int64), fb.ones(4096, dtype=getattr(fb, dtype)))
    assert x.item() == 4096.0


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce_as_in_torch(reduce, include_self) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    rng = np.random.default_rng(0)
    for _ in range(5):
        base, src = rng.standard_normal((4, 3)), rng.standard_normal((5, 3))
        index = rng.integers(0, 4, (5, 3))
        for dtype in (np.float64, np.int64):
            a, s = (base * 9).astype(dtype), (src * 9).astype(dtype)
            theirs = torch.from_numpy(a.copy()).scatter_reduce(
                0, torch.from_numpy(index), torch.from_numpy(s), reduce, include_self=include_self
            )
            ours = fb.from_numpy(a).scatter_reduce(
                0, fb.from_numpy(index), fb.from_numpy(s), reduce, include_self=include_self
            )
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: fb.ones(2, 3).scatter(1, fb.tensor([[5]]), 1.0),
            RuntimeError,
            "index 5 is out of bounds for dimension 1 with size 3",
        ),
        (
            lambda: fb.ones(2).scatter(0, fb.tensor([0]), fb.ones(1), reduce="x"),
            RuntimeError,
            "must be either add or mul",
        ),
        (
            lambda: fb.ones(2).scatter_reduce(0, fb.tensor([0]), fb.ones(1), "x"),
            RuntimeError,
            "reduce argument must be either sum, prod, mean, amax or amin, got x",
        ),
        (
            lambda: fb.ones(2).scatter(0, fb.tensor([0]), fb.ones(1, dtype=fb.int64)),
            RuntimeError,
            "self.dtype to be equal",
        ),
        (lambda: fb.ones(2).index_add(0, fb.tensor([[0]]), fb.ones(1)), IndexError, "Index is supposed to be a vector"),
        (
            lambda: fb.ones(2).index_add(0, fb.tensor([0]), fb.ones(2)),
            RuntimeError,
            "Number of indices (1) should be equal",
        ),
        (
            lambda: fb.ones(2).index_fill(0, fb.tensor([0]), fb.ones(2)),
            RuntimeError,
            "only supports a 0-dimensional value",
        ),
        (lambda: fb.ones(2).masked_fill(fb.ones(2), 1), RuntimeError, "boolean masks, but got mask with dtype float"),
        (lambda: fb.ones(2, dtype=fb.int64).masked_fill_(fb.ones(2) > 0, 1j), RuntimeError, "without overflow"),
        (
            lambda: fb.ones(2).masked_scatter(fb.ones(2) > 0, fb.ones(1)),
            RuntimeError,
            "Number of elements of source < number of ones in mask",
        ),
        (
            lambda: fb.ones(2).put(fb.tensor([5]), fb.ones(1)),
            IndexError,
            "tried to access index 5 on a tensor of 2 elements",
        ),
        (
            lambda: fb.ones(3).select_scatter(fb.ones(2), 0, 0),
            RuntimeError,
            "expected src to have a size equal to the slice",
        ),
        (
            lambda: fb.ones(3).take(fb.tensor([0.0])),
            RuntimeError,
            "take(): Expected a long tensor for index, but got Float",
        ),
    ],
)
def test_refusals(call, error, message) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_integers_take_truncated_numbers() -> None:
    x = fb.ones(2, dtype=fb.int64)
    assert x.masked_fill_(x > 0, 2.5).tolist() == [2, 2]
    assert x.index_fill_(0, fb.tensor([-1]), 7).tolist() == [2, 7]


def test_masks_broadcast() -> None:
    mask = fb.tensor([True, False, True])
    assert fb.zeros(2, 3).masked_fill(mask, 1).tolist() == [[1.0, 0.0, 1.0]] * 2
    assert fb.zeros(1).masked_fill(mask, 1).tolist() == [1.0, 0.0, 1.0]
    assert fb.arange(6).reshape(2, 3).masked_select(mask).tolist() == [0, 2, 3, 5]
