"""Mixed precision on a device: which calls are cast, compiled and not, and the steps of a scaler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as fb
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor, nn

pytestmark = pytest.mark.usefixtures("cuda")


def matrices() -> tuple[Tensor, nn.Parameter]:
    x, w = (fb.arange(16.0).reshape(4, 4) / 8 - 1).to("cuda"), (fb.eye(4) * 0.5 + 0.125).to("cuda")
    return x, nn.Parameter(w)


@pytest.mark.parametrize("dtype", [fb.float16, fb.bfloat16])
def test_calls_have_the_precision_of_their_kind(dtype: Any) -> None:
    x, w = matrices()
    with fb.autocast("cuda", dtype=dtype):
        assert fb.is_autocast_enabled("cuda")
        product = x @ w
        kinds = [t.dtype for t in (product, F.linear(x, w), product + x, F.softmax(product, -1), product.sum())]
        loss = F.mse_loss(product, x)
    assert kinds == [dtype, dtype, fb.float32, fb.float32, fb.float32]
    loss.backward()
    assert w.grad is not None
    assert w.grad.dtype is fb.float32
    wanted = w.detach().cpu().requires_grad_()
    F.mse_loss(x.cpu() @ wanted, x.cpu()).backward()
    assert wanted.grad is not None
    np.testing.assert_allclose(w.grad.cpu().numpy(), wanted.grad.numpy(), rtol=0.05, atol=0.01)


def test_each_place_has_its_own() -> None:
    x, w = matrices()
    with fb.autocast("cpu"):
        assert (x @ w).dtype is fb.float32
    with fb.autocast("cuda"):
        assert (x @ w).dtype is fb.float16
        assert (x.cpu() @ w.cpu()).dtype is fb.float32
        with fb.autocast("cuda", enabled=False):
            assert (x @ w).dtype is fb.float32


@fb.script
def product(x: Tensor, w: Tensor) -> Tensor:
    with fb.autocast("cuda", dtype=fb.float16):
        return (x @ w).relu() * 2


@fb.script
def plain_product(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w).relu() * 2


def test_compiled_calls_are_cast_and_replayed() -> None:
    x, w = matrices()
    for _ in range(5):
        found = product(x, w.detach())
        with fb.autocast("cuda", dtype=fb.float16):
            around = plain_product(x, w.detach())
        assert found.dtype is around.dtype is fb.float16
        assert fb.equal(found, around)
    np.testing.assert_allclose(found.cpu().float().numpy(), plain_product(x, w.detach()).cpu().numpy(), rtol=2e-3)
    assert plain_product(x, w.detach()).dtype is fb.float32


def test_a_scaler_steps_and_leaves_out_what_overflows() -> None:
    x, w = matrices()
    scaler = fb.cuda.amp.GradScaler(init_scale=1024.0)
    optimiser = fb.optim.SGD([w], lr=0.5)
    before = w.detach().clone()
    with fb.autocast("cuda", dtype=fb.float16):
        loss = (x @ w).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimiser)
    scaler.update()
    assert scaler.get_scale() == 1024.0
    assert not fb.equal(w.detach(), before)
    assert w.grad is not None
    w.grad.fill_(float("inf"))
    before = w.detach().clone()
    scaler.scale(fb.ones(1, device="cuda"))
    scaler.step(optimiser)
    scaler.update()
    assert scaler.get_scale() == 512.0
    assert fb.equal(w.detach(), before)
