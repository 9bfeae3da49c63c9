"""Half precision on a device: fused groups and single operators have kernels, and give what the host gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor

pytestmark = pytest.mark.usefixtures("cuda")
HALVES = (flambeau.float16, flambeau.bfloat16)
SPACING = {flambeau.float16: 2.0**-10, flambeau.bfloat16: 2.0**-7}


def chain(x: Tensor, w: Tensor) -> Tensor:
    return F.gelu(x * 0.1 + w).tanh() * w + x.sigmoid()


def norm(x: Tensor, w: Tensor) -> Tensor:
    return F.layer_norm(x + 1, [40], w, w)


def rows(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    return F.softmax(x * w, dim=1), (x * w).sum(dim=1)


def folds(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    y = x * w
    return y.mean(), y.sum()


def places(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    return x.argmax(dim=1), x.max(dim=1)[0]


def mixed(x: Tensor, w: Tensor) -> Tensor:
    return (x.float() * 2.0).to(flambeau.float16) + flambeau.where(x > 0.1, x, w).to(flambeau.float16)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("function", [chain, norm, rows, folds, places, mixed], ids=lambda f: f.__name__)
def test_groups(function: Callable[..., Any], dtype: flambeau.dtype) -> None:
    flambeau.manual_seed(0)
    x, w = flambeau.randn(6, 40).to(dtype), flambeau.randn(40).to(dtype)
    wanted = function(x, w)
    script = flambeau.script(function)
    found = script(x.to("cuda"), w.to("cuda"))
    for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, wanted)], strict=True):
        assert one.dtype is other.dtype
        assert one.is_cuda
        a, b = one.cpu().double().numpy(), other.double().numpy()
        # A step may round to the other neighbour where a function differs in float32's last place.
        np.testing.assert_allclose(a, b, rtol=4 * SPACING[dtype], atol=4 * SPACING[dtype])
    assert "operator by operator" not in str(script.explain())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_each_operator_rounds(dtype: flambeau.dtype) -> None:
    """Arithmetic that is exact or rounded once in float32 has the bits of operators one by one."""
    flambeau.manual_seed(1)
    x, y = flambeau.randn(257).to(dtype), flambeau.randn(257).to(dtype)

    def steps(x: Tensor, y: Tensor) -> Tensor:
        return (x * y + x) / (y.abs() + 0.3) - x * 0.1

    wanted = steps(x, y)
    found = flambeau.script(steps)(x.to("cuda"), y.to("cuda"))
    np.testing.assert_array_equal(found.cpu().float().numpy(), wanted.float().numpy())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_single_operators_are_one_launch(dtype: flambeau.dtype, pretended_cuda: Any) -> None:
    from tests.cuda.pretended.engine import engine

    flambeau.manual_seed(2)
    x = flambeau.randn(8, 64).to(dtype)
    there = x.to("cuda")
    for call in (F.gelu, lambda t: F.softmax(t, dim=-1), lambda t: F.layer_norm(t, [64])):
        call(there)
        engine.launches.clear()
        found = call(there)
        assert len(engine.launches) == 1
        np.testing.assert_allclose(
            found.cpu().float().numpy(), call(x).float().numpy(), rtol=2 * SPACING[dtype], atol=2 * SPACING[dtype]
        )
