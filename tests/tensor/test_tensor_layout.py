"""Stride algebra against PyTorch and NumPy on random sizes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from flambeau.tensor import layout


def _random_tensor(torch, rng):
    """A tensor whose strides have been permuted, sliced and expanded."""
    sizes = [rng.choice([0, 1, 1, 2, 3]) for _ in range(rng.randrange(5))]
    x = torch.empty(sizes)
    for _ in range(rng.randrange(4)):
        if x.ndim and rng.random() < 0.4:
            x = x.transpose(rng.randrange(x.ndim), rng.randrange(x.ndim))
        if x.ndim and rng.random() < 0.4:
            x = x[(slice(None),) * rng.randrange(x.ndim) + (slice(rng.randrange(2), None, rng.choice([1, 2])),)]
        if rng.random() < 0.3:
            x = x.unsqueeze(rng.randrange(x.ndim + 1))
        if x.ndim and rng.random() < 0.3:
            x = x.expand([rng.choice([2, 3]) if s == 1 else s for s in x.shape])
    return x


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is a peer, not a dependency")


def test_contiguous_strides() -> None:
    assert layout.contiguous_strides((2, 3, 4)) == (12, 4, 1)
    assert layout.contiguous_strides((2, 0, 4)) == (4, 4, 1)
    assert layout.contiguous_strides(()) == ()


def test_strides_are_those_of_torch(torch) -> None:
    rng = random.Random(0)
    for _ in range(1500):
        x = _random_tensor(torch, rng)
        sizes, strides = tuple(x.shape), x.stride()
        assert layout.contiguous_strides(sizes) == torch.empty(sizes).stride()
        assert layout.is_contiguous(sizes, strides) == x.is_contiguous()
        assert layout.preserved_strides(sizes, strides) == torch.empty_like(x).stride(), (sizes, strides)
        if x.ndim == 4:
            assert layout.channels_last_strides(sizes) == tuple(
                torch.empty(sizes, memory_format=torch.channels_last).stride()
            ), sizes


def test_reshape_is_a_view_when_torch_says_so(torch) -> None:
    rng = random.Random(1)
    for _ in range(1500):
        x = _random_tensor(torch, rng)
        numel = x.numel()
        target = [numel] if rng.random() < 0.3 else [s for s in (1, *x.shape[: x.ndim // 2]) if s]
        rest = numel // max(int(np.prod(target)), 1)
        target = [*target, rest] if int(np.prod(target)) * rest == numel else [numel]
        try:
            expected = tuple(x.view(target).stride())
        except RuntimeError:
            expected = None
        assert layout.view_strides(tuple(x.shape), x.stride(), target) == expected, (x.shape, x.stride(), target)


def test_elementwise_result_strides(torch) -> None:
    rng = random.Random(2)
    for _ in range(800):
        x = _random_tensor(torch, rng)
        y = _random_tensor(torch, rng)
        try:
            sizes = torch.broadcast_shapes(x.shape, y.shape)
        except RuntimeError:
            continue
        if 0 in sizes or (x.shape == y.shape and x.stride() == y.stride()):
            continue
        both = [_broadcast_strides(t, sizes) for t in (x, y)]
        assert layout.elementwise_strides(sizes, both) == (x + y).stride(), (both, sizes)


def _broadcast_strides(x, sizes):
    """The strides of an operand as an iterator sees them: 0 along dimensions that it lacks or repeats."""
    missing = len(sizes) - x.ndim
    own = [
        0 if n == 1 and sizes[missing + i] != 1 else s for i, (n, s) in enumerate(zip(x.shape, x.stride(), strict=True))
    ]
    return [0] * missing + own


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [(((2, 1), (3,)), (2, 3)), (((), (2,)), (2,)), (((0, 1), (1, 4)), (0, 4)), (((1,), (0,)), (0,))],
)
def test_broadcast(shapes, expected) -> None:
    assert layout.broadcast(*shapes) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: layout.broadcast((2, 3), (2, 4)),
            "The size of tensor a (3) must match the size of tensor b (4) at non-",
        ),
        (lambda: layout.infer_size((4,), 6), "shape '[4]' is invalid for input of size 6"),
        (lambda: layout.infer_size((-1, -1), 6), "only one dimension can be inferred"),
        (lambda: layout.infer_size((-2,), 6), "invalid shape dimension -2 at index 0 of shape [-2]"),
        (lambda: layout.infer_size((-1, 0), 0), "cannot reshape tensor of 0 elements into shape [-1, 0]"),
        (lambda: layout.expand((2, 3), (3, 1), (3,)), "the number of sizes provided (1)"),
        (lambda: layout.expand((2, 3), (3, 1), (-1, 2, 3)), "isn't allowed in a leading, non-existing dimension 0"),
        (lambda: layout.expand((2, 3), (3, 1), (4, 3)), "The expanded size of the tensor (4) must match the existing"),
    ],
)
def test_refusals(call, message) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert message in str(caught.value)


def test_wrap_dim() -> None:
    assert [layout.wrap_dim(d, 3) for d in (-3, -1, 0, 2)] == [0, 2, 0, 2]
    assert layout.wrap_dim(-1, 0) == 0
    with pytest.raises(IndexError, match=r"expected to be in range of \[-1, 0\], but got 2"):
        layout.wrap_dim(2, 1)
    with pytest.raises(IndexError, match="tensor has no dimensions"):
        layout.wrap_dim(0, 0, allow_scalar=False)
