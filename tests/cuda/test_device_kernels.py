"""Operators by themselves on devices: one launch where several steps make up their meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor

R = flambeau.randn
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (F.gelu, (R(3, 5),)), (F.silu, (R(3, 5),)), (F.softmax, (R(3, 5), -1)), (F.log_softmax, (R(3, 5), 0)),
    (F.layer_norm, (R(3, 5), [5])), (flambeau.logsumexp, (R(3, 5), 1)), (flambeau.var, (R(3, 5), 1)),
    (F.elu, (R(3, 5), 0.5)), (F.hardswish, (R(5, 3).t(),)), (F.gelu, (R(0, 3),)), (F.softmax, (R(4, 0), 1)),
    (flambeau.lerp, (R(3, 5), R(5), 0.25)), (F.softplus, (R(2, 3, 4),)),
]  # fmt: skip


def there(value: Any) -> Any:
    return value.to("cuda") if isinstance(value, Tensor) else value


def assert_equal(found: Tensor, wanted: Tensor) -> None:
    assert found.is_cuda
    np.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("function", "arguments"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_they_give_what_they_give_on_the_host(
    cuda: Any, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    for _ in range(2):
        assert_equal(function(*map(there, arguments)), function(*arguments))


def test_one_launch_each(pretended_cuda: Any) -> None:
    from tests.cuda.pretended.engine import engine

    x = R(3, 5).to("cuda")
    for function in (F.gelu, F.silu, lambda x: F.softmax(x, -1)):
        function(x)
        before = len(engine.launches)
        function(x)
        assert len(engine.launches) == before + 1


def test_in_place_and_out_forms(cuda: Any) -> None:
    x = R(3, 5)
    y = x.to("cuda")
    version = y._version
    assert F.silu(y, inplace=True) is y
    assert y._version > version
    assert_equal(y, F.silu(x))
    target = flambeau.empty(3, 5, device="cuda")
    assert flambeau.logsumexp(x.to("cuda").unsqueeze(0), 0, out=target) is target
    assert_equal(target, flambeau.logsumexp(x.unsqueeze(0), 0))
    with pytest.raises(RuntimeError, match="single memory location"):
        F.silu(flambeau.zeros(1, 5, device="cuda").expand(3, 5), inplace=True)


def test_the_compiled_one_gives_the_same_bits(cuda: Any) -> None:
    def activated(x: Tensor) -> Tensor:
        return F.gelu(x)

    x = R(33, 7).to("cuda")
    assert bool((flambeau.script(activated)(x) == F.gelu(x)).all())


def test_what_is_added_behind_a_product_goes_with_what_follows(pretended_cuda: Any) -> None:
    from tests.cuda.pretended.engine import engine

    def layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.gelu(F.linear(x, w, b)) + x

    script = flambeau.script(layer, without=("cuda_graphs",))
    x, w, b = R(3, 5), R(5, 5), R(5)
    for _ in range(3):
        assert_equal(script(*map(there, (x, w, b))), layer(x, w, b))
    before = len(engine.launches)
    script(*map(there, (x, w, b)))
    assert len(engine.launches) == before + 1
    with pytest.raises(RuntimeError, match="must match"):
        script(*map(there, (x, w[:1], b)))


def test_operators_made_of_others_take_large_tensors(cuda: Any) -> None:
    x, y = R(300, 300), R(300, 300)
    for loss in (F.mse_loss, F.smooth_l1_loss, F.l1_loss):
        asking = x.to("cuda").requires_grad_()
        here = x.clone().requires_grad_()
        found, wanted = loss(asking, y.to("cuda")), loss(here, y)
        assert_equal(found.detach(), wanted.detach())
        found.backward()
        wanted.backward()
        assert_equal(asking.grad, here.grad)


def test_launches_are_for_how_addresses_lie(cuda: Any) -> None:
    """What begins at a multiple of 16 bytes is read in accesses of that size; a view that does not, is not."""
    x, base = R(8192).to("cuda"), R(8193).to("cuda")

    def activated(x: Tensor) -> Tensor:
        return F.gelu(x)

    for script in (F.gelu, flambeau.script(activated)):
        for value in (x, base[1:], x):
            assert_equal(script(value), F.gelu(value.cpu()))
    kernels = [k for k in _launches_of("aten::gelu") if 8192 in k.bound.special.sizes.values()]
    assert sorted(len(k.bound.schedule.wide) for k in kernels) == [1, 2]


def _launches_of(name: str) -> list[Any]:
    from flambeau.executor import device_kernels

    found = device_kernels._kernels[name]
    assert found is not None
    return [known.launch for known in found._launches.values()]


def test_numbers_that_come_again_are_kept(cuda: Any) -> None:
    def scaled(x: Tensor, a: float, n: int) -> Tensor:
        return F.gelu(x * a + n)

    script = flambeau.script(scaled, without=("cuda_graphs",))
    x = R(3, 5)
    for a, n in ((0.5, 2), (0.5, 2), (0.5, 2), (-0.0, 2), (-0.0, 0), (float("inf"), 1), (0.5, 2)):
        found, wanted = script(x.to("cuda"), a, n), script(x, a, n)
        assert bool(((found.cpu() == wanted) | ((found.cpu() - wanted).abs() < 1e-5) | wanted.isnan()).all())
