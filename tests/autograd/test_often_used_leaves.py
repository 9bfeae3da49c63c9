"""Leaves that a program uses often: their gradients are added up in one memory, which nobody else has."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau as fb


@pytest.mark.parametrize("dtype", [fb.float32, fb.float64, fb.float16])
@pytest.mark.parametrize("sizes", [(3, 4), (), (0, 2), (300, 300)])
def test_gradients_add_up(dtype: Any, sizes: tuple[int, ...]) -> None:
    for seed in (1, 2):
        fb.manual_seed(seed)
        x = fb.randn(sizes).to(dtype).requires_grad_()
        factors = [fb.randn(sizes).to(dtype) for _ in range(5)]
        for _ in range(2):
            before = None if x.grad is None else x.grad.numpy().copy()
            sum((x * f).sum() for f in factors).backward()
            total = factors[-1].numpy()
            for f in reversed(factors[:-1]):
                total = total + f.numpy()
            expected = total if before is None else before + total
            assert np.allclose(x.grad.numpy(), expected, rtol=1e-2 if dtype == fb.float16 else 1e-5, atol=1e-2)
        assert [f.numpy().tobytes() for f in factors] == [f.clone().numpy().tobytes() for f in factors]


def test_gradients_of_users_are_not_written_over() -> None:
    x = fb.ones(3, requires_grad=True)
    given = [fb.full((3,), float(n)) for n in (1, 2, 4)]
    seen: list[Any] = []
    for g in given:
        y = x.view(3)
        y.register_hook(seen.append)
        y.backward(g, retain_graph=True)
    z = [x.view(3) for _ in given]
    fb.autograd.backward(z, given)
    assert x.grad.tolist() == [14.0] * 3
    assert [g.tolist() for g in given] == [[1.0] * 3, [2.0] * 3, [4.0] * 3]
    assert [g.tolist() for g in seen] == [[1.0] * 3, [2.0] * 3, [4.0] * 3]


def test_gradients_that_are_differentiated_are_kept_apart() -> None:
    x = fb.tensor([2.0, 3.0], requires_grad=True)
    y = sum((x**3).sum() for _ in range(4))
    (g,) = fb.autograd.grad(y, x, create_graph=True)
    assert g.tolist() == [48.0, 108.0]
    g.sum().backward()
    assert x.grad.tolist() == [48.0, 72.0]


def test_hooks_see_the_whole_sum_once() -> None:
    x = fb.ones(2, requires_grad=True)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
    for _ in range(2):
        (x * 1 + x * 2 + x * 4).sum().backward()
    assert seen == [[7.0, 7.0]] * 2
    assert x.grad.tolist() == [140.0] * 2


def test_sums_that_overflow_say_nothing() -> None:
    x = fb.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            (x * 3e38 + x * 3e38 + x * 3e38).sum().backward()
        t = fb.ones(2, 3, requires_grad=True)
        for _ in range(2):
            (t.t() * fb.full((3, 2), 3e38)).sum().backward()
    assert x.grad.tolist() == [float("inf")] * 2
    assert t.grad.tolist() == [[float("inf")] * 3] * 2
